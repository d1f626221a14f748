import type { Misconfiguration, Scene } from '../misconfiguration.ts';
import { advertisement, herald, namespace, pool, service, type Change, type Manifest } from '../objects.ts';
import type { Place } from '../place.ts';

const condition = 'Announced';

/** The node of these cases. Each case has its own session between it and tor1, with an address of its own at both ends. */
export const sessionNode = 'node3';

const ourAddress = ({ index }: Place): string => `10.1.0.${100 + index}`;
const routerAddress = ({ index }: Place): string => `10.1.0.${180 + index}`;

const mistakes: readonly Misconfiguration[] = [
  {
    name: 'as-differs',
    mistake: 'peerASN of the BGPPeer is not the AS of the router.',
    code: 'PeerASMismatch',
    condition,
    verdict: '',
    after: (place) => overSession(place, { peerASN: 64999 }),
  },
  {
    name: 'password-differs',
    mistake: 'The router demands a TCP MD5 password that the BGPPeer lacks.',
    code: 'PeerUnreachable',
    condition,
    verdict: '',
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
    verdict: '',
    after: (place) => overSession(place, { peerPort: 1790 }),
  },
  {
    name: 'router-unreachable',
    mistake: 'peerAddress is an address that no machine has.',
    code: 'PeerUnreachable',
    condition,
    verdict: '',
    after: (place) => overSession(place, { peerAddress: '10.1.0.254' }),
  },
  {
    name: 'router-shut-down',
    mistake: 'The administrator of the router has shut the session down.',
    code: 'PeerClosed',
    condition,
    verdict: '',
    act: ({ lab }, place) => lab.router('tor1').configure(['router bgp 65101', `neighbor ${ourAddress(place)} shutdown`]),
    undo: ({ lab }, place) => lab.router('tor1').configure(['router bgp 65101', `no neighbor ${ourAddress(place)} shutdown`]),
  },
  {
    name: 'peer-admin-down',
    mistake: 'The BGPPeer has adminDown: true.',
    code: 'PeerAdminDown',
    condition,
    verdict: '',
    after: (place) => overSession(place, { adminDown: true }),
  },
  {
    name: 'link-one-way',
    mistake: 'The link loses all packets from the router to the node.',
    code: 'HoldTimeExpired',
    condition,
    verdict: '',
    act: ({ lab }, place) => dropFrom(lab, routerAddress(place)),
    undo: async ({ lab }) => void (await lab.machine(sessionNode).exec(['nft', 'delete table netdev oneway'])),
  },
  {
    name: 'password-secret-missing',
    mistake: 'passwordSecret of the BGPPeer names a Secret that does not exist.',
    code: 'PeerPasswordMissing',
    condition,
    verdict: '',
    isBrokenBefore: true,
    before: (place) => overSession(place, { adminDown: true }),
    after: (place) => overSession(place, { passwordSecret: { name: 'tor1', namespace: place.name } }),
  },
  {
    name: 'bfd-profile-missing',
    mistake: 'bfdProfile of a BGPPeer with bfdStrict names a BFDProfile that does not exist.',
    code: 'StrictBFDProfileMissing',
    condition,
    verdict: '',
    isBrokenBefore: true,
    before: (place) => overSession(place, { adminDown: true }),
    after: (place) => overSession(place, { bfdProfile: 'fsat', bfdStrict: true }),
  },
  {
    name: 'bfd-awaited',
    mistake: 'The BGPPeer has bfdStrict, and the router runs no BFD.',
    code: 'BFDAwaited',
    condition,
    verdict: '',
    isBrokenBefore: true,
    before: (place) => [...overSession(place, { adminDown: true }), herald('BFDProfile', place.name, {})],
    after: (place) => [...overSession(place, { bfdProfile: place.name, bfdStrict: true }), herald('BFDProfile', place.name, {})],
  },
  {
    name: 'family-not-carried',
    mistake: 'The only session of the node has no dualStackAddressFamily, and the Service is IPv6.',
    code: 'PeerFamilyNotCarried',
    condition,
    verdict: '',
    before: (place) => overSession(place, {}, ipv6Only(place)),
    after: (place) => overSession(place, { dualStackAddressFamily: false }, ipv6Only(place)),
  },
];

/** Mistakes on the way to a router. The Service is announced over one session only. */
export const sessionCases: readonly Misconfiguration[] = mistakes.map((one) => ({
  before: (place) => overSession(place),
  prepare: addSession,
  ...one,
}));

function overSession(place: Place, peer: Change = {}, spec: Change = {}): Manifest[] {
  const { name } = place;
  const usual = {
    myASN: 64512,
    peerASN: 65101,
    peerAddress: routerAddress(place),
    sourceAddress: ourAddress(place),
    nodeSelectors: onSessionNode,
    holdTime: '9s',
    keepaliveTime: '3s',
    connectTime: '1s',
    dualStackAddressFamily: true,
    flapDamping: false,
  };
  return [
    namespace(place),
    pool(place),
    advertisement(place, { spec: { nodeSelectors: onSessionNode, peers: [name] } }),
    herald('BGPPeer', name, { ...usual, ...peer }),
    ...service(place, { spec }),
  ];
}

const onSessionNode = [{ matchLabels: { 'kubernetes.io/hostname': sessionNode } }];

const ipv6Only = (place: Place): Change => ({
  ipFamilyPolicy: 'SingleStack',
  ipFamilies: ['IPv6'],
  clusterIP: `fd00:96::${(place.index * 16).toString(16)}`,
  clusterIPs: [`fd00:96::${(place.index * 16).toString(16)}`],
});

async function addSession({ lab }: Scene, place: Place): Promise<void> {
  await lab.machine('tor1').ip(`addr add ${routerAddress(place)}/24 dev br0`);
  await lab.machine(sessionNode).ip(`addr add ${ourAddress(place)}/24 dev tor1`);
  const neighbor = `neighbor ${ourAddress(place)}`;
  await lab
    .router('tor1')
    .configure([
      'router bgp 65101',
      `${neighbor} remote-as 64512`,
      ...['ipv4', 'ipv6'].flatMap((family) => [
        `address-family ${family} unicast`,
        `${neighbor} activate`,
        `${neighbor} route-map NOTHING out`,
        'exit-address-family',
      ]),
    ]);
}

/** Drops packets that arrive at the session node from one address, before any program of the node sees them. */
async function dropFrom(lab: Scene['lab'], address: string): Promise<void> {
  const rules = 'table netdev oneway { chain in { type filter hook ingress device "tor1" priority 0; ip saddr ' + address + ' drop; }; }';
  await lab.machine(sessionNode).exec(['nft', rules]);
}
