import process from 'node:process';
import type { LabProcess } from '../../lab-process.ts';
import type { Misconfiguration, ReportedProblem } from '../misconfiguration.ts';
import { herald, type Change, type Manifest } from '../objects.ts';
import type { Place } from '../place.ts';
import { addSession, ourAddress, overSession, routerAddress, sessionNode } from '../router-session.ts';

const condition = 'Announced';

/** The BGP Identifier of tor1. */
const routerID = '10.8.0.11';

/** The programs that cases have started, by case. */
const programs = new Map<string, LabProcess>();

/** Settings on which BGPPeer and router do not agree, and settings that the node cannot carry out. */
const mistakes: readonly Misconfiguration[] = [
  {
    name: 'passive-without-listener',
    mistake: 'The BGPPeer has passive: true, and the agent was started with --bgp-listen none.',
    code: 'PeerNotPossible',
    condition,
    verdict:
      'Not served: no session with "passive-without-listener" is possible: it has passive: true, but the agent of this node was started with --bgp-listen none, so the router could never connect (on node3). Set passive: false in BGPPeer "passive-without-listener", or start the agent without --bgp-listen none.',
    isBrokenBefore: true,
    before: (place) => overSession(place, { adminDown: true }),
    after: (place) => overSession(place, { passive: true }),
    prepare: async (scene, place) => {
      scene.herald.passOptions(sessionNode, '--bgp-listen', 'none');
      await addSession(scene, place);
    },
  },
  {
    name: 'ttl-differs',
    mistake: 'The BGPPeer has ttlSecurityHops, and the router sends packets with a TTL of 1.',
    code: 'PeerTTLMismatch',
    condition,
    verdict:
      'Not served: BGPPeer "ttl-differs" has spec.ttlSecurityHops: 1, but packets of the router 10.1.0.242 arrive with a smaller TTL than that allows, it seems: the kernel of the node drops them (on node3). Configure on the router: neighbor 10.1.0.162 ttl-security hops 1; or set spec.ttlSecurityHops of BGPPeer "ttl-differs" to the number of hops, or remove it.',
    after: (place) => overSession(place, { ttlSecurityHops: 1 }),
  },
  {
    name: 'no-common-family',
    mistake: 'The BGPPeer carries IPv4 only, and the router has activated the neighbor for IPv6 only.',
    code: 'PeerFamilyMismatch',
    condition,
    verdict:
      'Not served: the router 10.1.0.243 does not offer the address family of BGPPeer "no-common-family" (IPv4) (on node3). Activate the neighbor on the router: address-family ipv4 unicast, neighbor 10.1.0.163 activate; spec.dualStackAddressFamily of BGPPeer "no-common-family" adds the other family.',
    isBrokenBefore: true,
    before: (place) => overSession(place, { adminDown: true }),
    after: (place) => overSession(place, { dualStackAddressFamily: false }),
    prepare: async (scene, place) => {
      await addSession(scene, place);
      await scene.lab
        .router('tor1')
        .configure(['router bgp 65101', 'address-family ipv4 unicast', `no neighbor ${ourAddress(place)} activate`]);
    },
  },
  {
    name: 'hold-time-too-short',
    mistake: 'holdTime of the BGPPeer is below the minimum of the router.',
    code: 'HoldTimeRejected',
    condition,
    verdict:
      'Not served: the router 10.1.0.244 refuses spec.holdTime: 3s of BGPPeer "hold-time-too-short" (on node3). Set spec.holdTime of BGPPeer "hold-time-too-short" to at least the router\'s minimum (FRR: bgp minimum-holdtime).',
    after: (place) => overSession(place, { holdTime: '3s', keepaliveTime: '1s' }),
    prepare: async (scene, place) => {
      await addSession(scene, place);
      // The other sessions have a hold time of 9 s.
      await scene.lab.router('tor1').configure(['router bgp 65101', 'bgp minimum-holdtime 6']);
    },
  },
  {
    name: 'router-id-of-router',
    mistake: 'routerID of the BGPPeer is the router ID of the router, in one AS.',
    code: 'RouterIDRejected',
    condition,
    verdict:
      'Not served: the router ID of this node (10.8.0.11 with BGPPeer "router-id-of-router") or that of the router 10.1.0.245 is refused by the other side (on node3). Give every node and router its own: bgp router-id on the router; on this node its first IPv4 InternalIP, or spec.routerID of a BGPPeer that selects this node only (now 10.8.0.11).',
    ...internal({ routerID }),
  },
  {
    name: 'peer-port-of-web-server',
    mistake: 'peerPort of the BGPPeer is the port of another program of the router, a web server.',
    code: 'PeerProtocolError',
    condition,
    verdict:
      'Not served: the router 10.1.0.246 of BGPPeer "peer-port-of-web-server" answers at TCP port 8179, but not in BGP: the marker of a message header is not all ones (Message Header Error: Connection Not Synchronized (1/1)) (on node3). Correct spec.peerAddress and spec.peerPort of BGPPeer "peer-port-of-web-server": another program listens there; if it is the BGP speaker, see the messages on the node: herald bgp trace --peer peer-port-of-web-server; and the log of the router.',
    after: (place) => overSession(place, { peerPort: 8179 }),
    ...beside(
      'tor1',
      (place) => `require('node:http').createServer().listen(8179, '${routerAddress(place)}', () => console.log('listening'))`,
    ),
  },
  {
    name: 'vrf-missing',
    mistake: 'vrf of the BGPPeer names a VRF that the node does not have.',
    code: 'PeerVRFMissing',
    condition,
    verdict:
      'Not served: BGPPeer "vrf-missing" has spec.vrf: red, but there is no VRF red on the node, or its kernel has none (on node3). Create it on the node: ip link add red type vrf table NUMBER (needs a kernel with CONFIG_NET_VRF); or remove spec.vrf of BGPPeer "vrf-missing", or select other nodes with its nodeSelectors.',
    after: (place) => overSession(place, { vrf: 'red' }),
  },
];

/** A session, and another program that listens on a machine as long as the mistake exists. */
function beside(machine: string, script: (place: Place) => string): Required<Pick<Misconfiguration, 'prepare' | 'undo'>> {
  return {
    prepare: async (scene, place) => {
      await addSession(scene, place);
      const program = scene.lab.machine(machine).spawn([process.execPath, '-e', script(place)], { name: place.name });
      await program.waitForLine(/listening/);
      programs.set(place.name, program);
    },
    undo: async (_, { name }) => void (await programs.get(name)?.stop()),
  };
}

/** A session in the AS of the router, in which the node gets its settings by the mistake. */
function internal(peer: Change): Pick<Misconfiguration, 'before' | 'after' | 'prepare'> {
  const inOneAS = { myASN: 65101 };
  return {
    before: (place) => overSession(place, inOneAS),
    after: (place) => overSession(place, { ...inOneAS, ...peer }),
    prepare: async (scene, place) => {
      await addSession(scene, place);
      await scene.lab.router('tor1').configure(['router bgp 65101', `neighbor ${ourAddress(place)} remote-as 65101`]);
    },
  };
}

/** The Service is announced over one session only. */
export const negotiationCases: readonly Misconfiguration[] = mistakes.map((one) => ({
  before: (place) => overSession(place),
  prepare: addSession,
  ...one,
}));

/** Mistakes that leave the session and the Service as they were. */
export const sessionProblems: readonly ReportedProblem[] = (
  [
    {
      name: 'passive-later',
      mistake: 'The BGPPeer gets passive: true, and the agent was started with --bgp-listen none.',
      code: 'PeerNotPossible',
      says: 'On node3: The session with "passive-later" keeps its earlier settings, because its present ones are not possible: it has passive: true, but the agent of this node was started with --bgp-listen none, so the router could never connect. Set passive: false in BGPPeer "passive-later", or start the agent without --bgp-listen none.',
      after: (place) => overSession(place, { passive: true }),
    },
    {
      name: 'bfd-port-taken',
      mistake: 'Another BFD daemon on the node has the port for routers several hops away.',
      code: 'BFDNotPossible',
      says: 'On node3: The session with "bfd-port-taken" runs without BFD: another program has UDP port 4784, perhaps another BFD daemon: only one can be on a host. Remove the cause, or bfdProfile from BGPPeer "bfd-port-taken".',
      before: (place) => overSession(place, { ebgpMultiHop: true }),
      after: (place) => [...overSession(place, { ebgpMultiHop: true, bfdProfile: place.name }), herald('BFDProfile', place.name, {})],
      ...beside(sessionNode, () => "require('node:dgram').createSocket('udp4').bind(4784, () => console.log('listening'))"),
    },
    {
      name: 'bfd-profile-unknown',
      mistake: 'bfdProfile of the BGPPeer names a BFDProfile that does not exist.',
      code: 'BFDProfileMissing',
      says: 'On node3: BFDProfile "fsat" of "bfd-profile-unknown" does not exist: sessions that already use BFD keep it, others run without BFD. Create BFDProfile "fsat", or remove bfdProfile from BGPPeer "bfd-profile-unknown".',
      after: (place) => overSession(place, { bfdProfile: 'fsat' }),
    },
    {
      name: 'password-secret-deleted',
      mistake: 'The Secret with the password of an established session is deleted.',
      code: 'PeerPasswordGone',
      says: 'On node3: Secret password-secret-deleted/tor1 of "password-secret-deleted" cannot be used: it does not exist; a session that already uses its password keeps running, others end. Create Secret password-secret-deleted/tor1 of type kubernetes.io/basic-auth with the key password: without it a restarted agent has no session.',
      before: (place) => [...overSession(place, withSecret(place)), secret(place)],
      after: (place) => overSession(place, withSecret(place)),
      prepare: async (scene, place) => {
        await addSession(scene, place);
        await scene.lab.router('tor1').configure(['router bgp 65101', `neighbor ${ourAddress(place)} password swordfish`]);
      },
    },
  ] satisfies readonly Omit<ReportedProblem, 'object'>[]
).map((one) => ({
  before: (place: Place) => overSession(place),
  prepare: addSession,
  object: ({ name }: Place) => `BGPPeer/${name}`,
  ...one,
}));

const withSecret = ({ name }: Place): Change => ({ passwordSecret: { name: 'tor1', namespace: name } });

const secret = ({ name }: Place): Manifest => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: name, name: 'tor1' },
  type: 'kubernetes.io/basic-auth',
  stringData: { password: 'swordfish' },
});
