import type { Misconfiguration, Scene } from '../misconfiguration.ts';
import { herald, type Change } from '../objects.ts';
import type { Place } from '../place.ts';
import { addSession, ourAddress, overSession, routerAddress, sessionNode } from '../router-session.ts';

const condition = 'Announced';

const mistakes: readonly Misconfiguration[] = [
  {
    name: 'as-differs',
    mistake: 'peerASN of the BGPPeer is not the AS of the router.',
    code: 'PeerASMismatch',
    condition,
    verdict:
      'Not served: BGPPeer "as-differs" has spec.peerASN: 64999, but the router 10.1.0.181 says AS 65101 (on node3). Set spec.peerASN: 65101 in BGPPeer "as-differs"; or, if the router is wrong, configure there: router bgp 64999.',
    after: (place) => overSession(place, { peerASN: 64999 }),
  },
  {
    name: 'password-differs',
    mistake: 'The router demands a TCP MD5 password that the BGPPeer lacks.',
    code: 'PeerUnreachable',
    condition,
    verdict:
      'Not served: the router 10.1.0.182 of BGPPeer "password-differs" does not answer at TCP port 179: connection attempts time out (on node3). Check that the router runs, and the link, the route and filters of TCP port 179 between it and the node, both ways; check spec.peerAddress of BGPPeer "password-differs"; and compare settings that make a router silent if they differ: TCP MD5 password (spec.passwordSecret; neighbor 10.1.0.102 password), TTL security (spec.ttlSecurityHops; neighbor 10.1.0.102 ttl-security hops), multihop (spec.ebgpMultiHop; neighbor 10.1.0.102 ebgp-multihop).',
    isBrokenBefore: true,
    before: (place) => overSession(place, { adminDown: true }),
    after: (place) => overSession(place),
    prepare: async (scene, place) => {
      await addSession(scene, place);
      await scene.lab.router('tor1').configure(['router bgp 65101', `neighbor ${ourAddress(place)} password swordfish`]);
    },
  },
  {
    name: 'router-refuses',
    mistake: 'Nothing listens on port 179 at peerAddress.',
    code: 'PeerRefusesConnection',
    condition,
    verdict:
      'Not served: the router 10.1.0.183 refuses connections for BGPPeer "router-refuses" at TCP port 1790: no BGP speaker listens there, or it has no neighbor for this node (on node3). Start BGP on the router and configure there: neighbor 10.1.0.103 remote-as 64512; or correct spec.peerAddress and spec.peerPort of BGPPeer "router-refuses".',
    after: (place) => overSession(place, { peerPort: 1790 }),
  },
  {
    name: 'router-unreachable',
    mistake: 'peerAddress is an address that no machine has.',
    code: 'PeerUnreachable',
    condition,
    verdict:
      'Not served: the router 10.1.0.254 of BGPPeer "router-unreachable" does not answer at TCP port 179: no route to host, or it does not answer ARP or neighbour discovery (on node3). Check that the router runs, and the link, the route and filters of TCP port 179 between it and the node, both ways; check spec.peerAddress of BGPPeer "router-unreachable"; and compare settings that make a router silent if they differ: TCP MD5 password (spec.passwordSecret; neighbor 10.1.0.104 password), TTL security (spec.ttlSecurityHops; neighbor 10.1.0.104 ttl-security hops), multihop (spec.ebgpMultiHop; neighbor 10.1.0.104 ebgp-multihop).',
    after: (place) => overSession(place, { peerAddress: '10.1.0.254' }),
  },
  {
    name: 'router-shut-down',
    mistake: 'The administrator of the router has shut the session down.',
    code: 'PeerClosed',
    condition,
    verdict:
      'Not served: the router 10.1.0.185 closed the session with BGPPeer "router-shut-down": Cease: Administrative Shutdown (6/2) (on node3). End the shutdown on the router: no neighbor 10.1.0.105 shutdown.',
    act: ({ lab }, place) => lab.router('tor1').configure(['router bgp 65101', `neighbor ${ourAddress(place)} shutdown`]),
    undo: ({ lab }, place) => lab.router('tor1').configure(['router bgp 65101', `no neighbor ${ourAddress(place)} shutdown`]),
  },
  {
    name: 'peer-admin-down',
    mistake: 'The BGPPeer has adminDown: true.',
    code: 'PeerAdminDown',
    condition,
    verdict: 'Not served: BGPPeer "peer-admin-down" has adminDown: true (on node3). Set adminDown: false to start its sessions again.',
    after: (place) => overSession(place, { adminDown: true }),
  },
  {
    name: 'link-one-way',
    mistake: 'The link loses all packets from the router to the node.',
    code: 'HoldTimeExpired',
    condition,
    verdict:
      'Not served: hold timer of BGPPeer "link-one-way" expired: the node heard nothing from the router 10.1.0.187 for 9 s (on node3). Check the path between node and router, both ways: link, filters of TCP port 179, MTU; and the load of both sides.',
    act: ({ lab }, place) => dropFrom(lab, routerAddress(place)),
    undo: async ({ lab }) => void (await lab.machine(sessionNode).exec(['nft', 'delete table netdev oneway'])),
  },
  {
    name: 'password-secret-missing',
    mistake: 'passwordSecret of the BGPPeer names a Secret that does not exist.',
    code: 'PeerPasswordMissing',
    condition,
    verdict:
      'Not served: BGPPeer "password-secret-missing" needs Secret password-secret-missing/tor1: it does not exist (on node3). Create Secret password-secret-missing/tor1 of type kubernetes.io/basic-auth with the key password.',
    isBrokenBefore: true,
    before: (place) => overSession(place, { adminDown: true }),
    after: (place) => overSession(place, { passwordSecret: { name: 'tor1', namespace: place.name } }),
  },
  {
    name: 'bfd-profile-missing',
    mistake: 'bfdProfile of a BGPPeer with bfdStrict names a BFDProfile that does not exist.',
    code: 'StrictBFDProfileMissing',
    condition,
    verdict:
      'Not served: BFDProfile "fsat" of "bfd-profile-missing" does not exist, and bfdStrict allows no session without BFD: established sessions continue as they are, new ones cannot start (on node3). Create BFDProfile "fsat", or remove bfdStrict from BGPPeer "bfd-profile-missing".',
    isBrokenBefore: true,
    before: (place) => overSession(place, { adminDown: true }),
    after: (place) => overSession(place, { bfdProfile: 'fsat', bfdStrict: true }),
  },
  {
    name: 'bfd-awaited',
    mistake: 'The BGPPeer has bfdStrict, and the router runs no BFD.',
    code: 'BFDAwaited',
    condition,
    verdict:
      'Not served: the session with "bfd-awaited" waits for BFD (bfdStrict): it is Down since there is no answer (on node3). Check that the router runs BFD with this node even while BGP is down, and that UDP port 3784 (4784 over several hops) is open both ways; or remove bfdStrict from BGPPeer "bfd-awaited".',
    isBrokenBefore: true,
    before: (place) => [...overSession(place, { adminDown: true }), herald('BFDProfile', place.name, {})],
    after: (place) => [...overSession(place, { bfdProfile: place.name, bfdStrict: true }), herald('BFDProfile', place.name, {})],
  },
  {
    name: 'family-not-carried',
    mistake: 'The only session of the node has no dualStackAddressFamily, and the Service is IPv6.',
    code: 'PeerFamilyNotCarried',
    condition,
    verdict:
      'Not served: the session with "family-not-carried" does not carry IPv6 (on node3). Set dualStackAddressFamily: true on BGPPeer "family-not-carried", or name in spec.peers of BGPAdvertisement family-not-carried a BGPPeer of this router that carries IPv6.',
    isBrokenBefore: true,
    before: (place) => overSession(place, { adminDown: true }, ipv6Only(place)),
    after: (place) => overSession(place, { dualStackAddressFamily: false }, ipv6Only(place)),
  },
];

/** Mistakes on the way to a router. The Service is announced over one session only. */
export const sessionCases: readonly Misconfiguration[] = mistakes.map((one) => ({
  before: (place) => overSession(place),
  prepare: addSession,
  ...one,
}));

const ipv6Only = (place: Place): Change => ({
  ipFamilyPolicy: 'SingleStack',
  ipFamilies: ['IPv6'],
  clusterIP: `fd00:96::${(place.index * 16).toString(16)}`,
  clusterIPs: [`fd00:96::${(place.index * 16).toString(16)}`],
});

/** Drops packets that arrive at the session node from one address, before any program of the node sees them. */
async function dropFrom(lab: Scene['lab'], address: string): Promise<void> {
  const rules = 'table netdev oneway { chain in { type filter hook ingress device "tor1" priority 0; ip saddr ' + address + ' drop; }; }';
  await lab.machine(sessionNode).exec(['nft', rules]);
}
