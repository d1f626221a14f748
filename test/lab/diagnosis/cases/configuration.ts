import type { ReportedProblem } from '../misconfiguration.ts';
import { advertisement, healthy, herald, namespace, pool, service, type Change, type Manifest } from '../objects.ts';
import { poolAddresses, type Place } from '../place.ts';

/** Mistakes in configuration objects that leave Service "web" of the case as it was. */
export const configurationProblems: readonly ReportedProblem[] = [
  {
    name: 'pool-in-pool',
    mistake: 'An IPAddressPool overlaps another.',
    code: 'PoolOverlaps',
    object: ({ name }) => `IPAddressPool/${name}-too`,
    says: 'Pool "pool-in-pool-too" gives no addresses: 198.18.151.1-198.18.151.9 overlaps 198.18.151.1-198.18.151.9 of IPAddressPool "pool-in-pool", which came first. Make the addresses of IPAddressPool "pool-in-pool-too" disjoint from those of the others.',
    after: (place) => withPool(place, place.ranges),
  },
  {
    name: 'pool-with-node',
    mistake: 'An IPAddressPool holds the InternalIP of a Node.',
    code: 'PoolHoldsNodeAddress',
    object: ({ name }) => `IPAddressPool/${name}-too`,
    says: 'IPAddressPool "pool-with-node-too" holds 10.0.0.18, an address of node "node8". Leave 10.0.0.18 out of IPAddressPool "pool-with-node-too".',
    after: (place) => withPool(place, ['10.0.0.18/32']),
  },
  {
    name: 'pool-with-peer',
    mistake: 'An IPAddressPool holds peerAddress of a BGPPeer.',
    code: 'PoolHoldsPeerAddress',
    object: ({ name }) => `IPAddressPool/${name}-too`,
    says: 'IPAddressPool "pool-with-peer-too" holds 10.2.0.1, spec.peerAddress of BGPPeer "tor2-v4". Leave 10.2.0.1 out of spec.addresses of IPAddressPool "pool-with-peer-too".',
    after: (place) => withPool(place, ['10.2.0.1/32']),
  },
  {
    name: 'pool-with-cluster-ips',
    mistake: 'An IPAddressPool overlaps the range of ClusterIPs.',
    code: 'PoolHoldsServiceCIDR',
    object: ({ name }) => `IPAddressPool/${name}-too`,
    says: '10.96.255.0/28 of IPAddressPool "pool-with-cluster-ips-too" overlaps 10.96.0.0/16 (serviceCIDRs of HeraldConfig/default). Leave 10.96.0.0/16 out of spec.addresses of IPAddressPool "pool-with-cluster-ips-too".',
    after: (place) => withPool(place, ['10.96.255.0/28']),
  },
  {
    name: 'pool-with-pods',
    mistake: 'An IPAddressPool overlaps spec.podCIDRs of a Node.',
    code: 'PoolHoldsPodCIDR',
    object: ({ name }) => `IPAddressPool/${name}-too`,
    says: '10.244.8.240/28 of IPAddressPool "pool-with-pods-too" overlaps 10.244.8.0/24 (spec.podCIDRs of node "node8"). Leave 10.244.8.0/24 out of spec.addresses of IPAddressPool "pool-with-pods-too".',
    after: (place) => withPool(place, ['10.244.8.240/28']),
  },
  {
    name: 'pool-used-up',
    mistake: 'Services hold every address of an IPAddressPool.',
    code: 'PoolFull',
    object: ({ name }) => `IPAddressPool/${name}`,
    says: 'Pool pool-used-up is full (1 of 1 IPv4 addresses). Add addresses to IPAddressPool pool-used-up, or delete a Service that holds one.',
    after: (place) => {
      const addresses = poolAddresses(place, 1).map((address) => `${address}/${address.includes(':') ? 128 : 32}`);
      return [namespace(place), pool(place, { spec: { addresses } }), advertisement(place), ...service(place)];
    },
  },
  {
    name: 'unknown-pool',
    mistake: 'A BGPAdvertisement names an IPAddressPool that does not exist, beside one that does.',
    code: 'UnknownPool',
    object: ({ name }) => `BGPAdvertisement/${name}`,
    says: 'BGPAdvertisement "unknown-pool" names IPAddressPool "unknown-pool-too", which does not exist; it is in force for those of its names that do. Create IPAddressPool "unknown-pool-too", or remove the name.',
    after: (place) => withAdvertisement(place, { ipAddressPools: [place.name, `${place.name}-too`] }),
  },
  {
    name: 'unknown-peer',
    mistake: 'A BGPAdvertisement names a BGPPeer that does not exist, beside others that do.',
    code: 'UnknownPeer',
    object: ({ name }) => `BGPAdvertisement/${name}`,
    says: 'BGPAdvertisement "unknown-peer" names BGPPeer "tor3-v4", which does not exist; it is in force for those of its names that do. Create BGPPeer "tor3-v4", or remove the name.',
    after: (place) => withAdvertisement(place, { peers: ['tor1-v4', 'tor1-v6', 'tor2-v4', 'tor2-v6', 'tor3-v4'] }),
  },
  {
    name: 'advertises-nothing',
    mistake: 'A BGPAdvertisement selects nodes that have no session.',
    code: 'AdvertisesNothing',
    object: ({ name }) => `BGPAdvertisement/${name}-too`,
    says: 'BGPAdvertisement "advertises-nothing-too" has no effect: no node that it selects is one that its BGPPeers select. Change what it selects, or create what is missing.',
    after: (place) => [
      ...healthy(place),
      herald('BGPAdvertisement', `${place.name}-too`, {
        ipAddressPools: [place.name],
        nodeSelectors: [{ matchLabels: { role: 'lonely' } }],
      }),
    ],
  },
  {
    name: 'peer-of-no-node',
    mistake: 'nodeSelectors of a BGPPeer match no Node.',
    code: 'PeerSelectsNoNode',
    object: ({ name }) => `BGPPeer/${name}`,
    says: 'nodeSelectors of BGPPeer "peer-of-no-node" select no node. Change nodeSelectors of BGPPeer "peer-of-no-node", or label the nodes.',
    after: (place) => [...healthy(place), peer(place, { nodeSelectors: [{ matchLabels: { role: 'edge' } }] })],
  },
  {
    name: 'peer-twice',
    mistake: 'Two BGPPeers have the same peerAddress on the same nodes.',
    code: 'DuplicatePeer',
    object: ({ name }) => `BGPPeer/${name}`,
    says: 'Every session with peer-twice (10.1.0.1) is down, on node9: BGPPeer "tor1-v4" already peers with 10.1.0.1 on the same nodes. Delete one of them, or let nodeSelectors keep them on different nodes.',
    after: (place) => [...healthy(place), peer(place, { peerAddress: '10.1.0.1', nodeSelectors: onNode9 })],
  },
  {
    name: 'broken-file',
    mistake: 'An edit breaks an address of the IPAddressPool in its file.',
    code: 'ObjectUnreadable',
    object: ({ name }) => `IPAddressPool/${name}`,
    says: 'broken-file.yaml:14:7: IPAddressPool/broken-file: spec.addresses[0]: "198.51.100.999": neither a CIDR nor a range: write 192.0.2.0/24 or 192.0.2.1-192.0.2.9; its last good version stays in force',
    after: (place) => [namespace(place), pool(place, { spec: { addresses: ['198.51.100.999'] } }), advertisement(place), ...service(place)],
  },
];

/** A node whose other mistakes leave its sessions alone. */
const onNode9 = [{ matchLabels: { 'kubernetes.io/hostname': 'node9' } }];

const withPool = (place: Place, addresses: readonly string[]): Manifest[] => [
  ...healthy(place),
  herald('IPAddressPool', `${place.name}-too`, { addresses, autoAssign: false, serviceAllocation: { namespaces: [place.name] } }),
];

const withAdvertisement = (place: Place, spec: Change): Manifest[] => [
  namespace(place),
  pool(place),
  advertisement(place, { spec }),
  ...service(place),
];

const peer = ({ name, index }: Place, spec: Change): Manifest =>
  herald('BGPPeer', name, { myASN: 64512, peerASN: 65101, peerAddress: `10.1.0.${index}`, connectTime: '1s', ...spec });
