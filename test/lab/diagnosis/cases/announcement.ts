import type { Misconfiguration } from '../misconfiguration.ts';
import {
  advertisement,
  annotated,
  healthy,
  herald,
  namespace,
  onSoundNodes,
  pool,
  service,
  type Change,
  type Manifest,
} from '../objects.ts';
import type { Place } from '../place.ts';

const condition = 'Announced';

/** Mistakes in advertisements, Nodes and Services that keep an assigned address from being announced. */
export const announcementCases: readonly Misconfiguration[] = [
  {
    name: 'no-advertisement',
    mistake: 'The BGPAdvertisement of the pool is deleted.',
    code: 'NoAdvertisement',
    condition,
    verdict: '',
    after: (place) => healthy(place).filter(({ kind }) => kind !== 'BGPAdvertisement'),
  },
  {
    name: 'service-drained',
    mistake: 'The Service has the annotation herald.dev/drain.',
    code: 'ServiceDrained',
    condition,
    verdict: '',
    after: (place) => withService(place, annotated({ 'herald.dev/drain': 'true' })),
  },
  {
    name: 'advertised-by-no-node',
    mistake: 'nodeSelectors of the BGPAdvertisement match no node.',
    code: 'NodeNotSelected',
    condition,
    verdict: '',
    after: (place) => withAdvertisement(place, { nodeSelectors: [{ matchLabels: { role: 'edge' } }] }),
  },
  {
    name: 'advertised-other-labels',
    mistake: 'serviceSelectors of the BGPAdvertisement match a label that the Service lacks.',
    code: 'ServiceNotSelected',
    condition,
    verdict: '',
    after: (place) => withAdvertisement(place, { serviceSelectors: [{ matchLabels: { tier: 'front' } }] }),
  },
  {
    name: 'attributes-conflict',
    mistake: 'Two BGPAdvertisements give one address different values of localPref.',
    code: 'ConflictingAdvertisements',
    condition,
    verdict: '',
    after: (place) => [
      ...withAdvertisement(place, { localPref: 100 }),
      herald('BGPAdvertisement', `${place.name}-too`, { ipAddressPools: [place.name], nodeSelectors: onSoundNodes, localPref: 200 }),
    ],
  },
  {
    name: 'community-unknown',
    mistake: 'The BGPAdvertisement names a community that no Community object defines.',
    code: 'UnknownCommunity',
    condition,
    verdict: '',
    after: (place) => withAdvertisement(place, { communities: ['no-expotr'] }),
  },
  {
    name: 'aggregate-too-short',
    mistake: 'aggregationLength of the BGPAdvertisement covers more than the pool.',
    code: 'AggregationTooShort',
    condition,
    verdict: '',
    after: (place) => withAdvertisement(place, { aggregationLength: 24, aggregationLengthV6: 64 }),
  },
  {
    name: 'peer-not-named',
    mistake: 'peers of the BGPAdvertisement names a BGPPeer that does not exist.',
    code: 'PeerNotInAdvertisement',
    condition,
    verdict: '',
    after: (place) => withAdvertisement(place, { peers: ['tor1'] }),
  },
  {
    name: 'no-peer-on-node',
    mistake: 'The only advertising node is one that no BGPPeer selects.',
    code: 'NoPeers',
    condition,
    verdict: '',
    after: (place) => withAdvertisement(place, { nodeSelectors: [{ matchLabels: { role: 'lonely' } }] }),
  },
  {
    name: 'node-without-network',
    mistake: 'The only advertising node has condition NetworkUnavailable.',
    code: 'NodeNetworkUnavailable',
    condition,
    verdict: '',
    after: (place) => [...onOwnNode(place), ownNode(place, {}, { conditions: [{ type: 'NetworkUnavailable', status: 'True' }] })],
  },
  {
    name: 'node-excluded',
    mistake: 'The only advertising node has the label that excludes it from load balancers.',
    code: 'NodeExcluded',
    condition,
    verdict: '',
    after: (place) => [...onOwnNode(place), ownNode(place, { 'node.kubernetes.io/exclude-from-external-load-balancers': '' })],
  },
  {
    name: 'no-local-endpoint',
    mistake: 'externalTrafficPolicy is Local, and the advertising nodes have no endpoint.',
    code: 'NoLocalEndpoints',
    condition,
    verdict: '',
    after: (place) => [
      namespace(place),
      pool(place),
      advertisement(place),
      ...service(place, { spec: { externalTrafficPolicy: 'Local' } }, { nodes: ['node3'] }),
    ],
  },
  {
    name: 'no-endpoints',
    mistake: 'The Service has no endpoint.',
    code: 'NoEndpoints',
    condition,
    verdict: '',
    after: (place) => healthy(place).filter(({ kind }) => kind !== 'EndpointSlice'),
  },
  {
    name: 'endpoints-not-ready',
    mistake: 'No endpoint of the Service is ready.',
    code: 'NoEndpoints',
    condition,
    verdict: '',
    after: (place) => [namespace(place), pool(place), advertisement(place), ...service(place, {}, { ready: false })],
  },
  {
    name: 'external-ip-denied',
    mistake: 'A ClusterIP Service has an external IP that no ExternalIPPolicy allows.',
    code: 'ExternalIPNotAllowed',
    verdict: '',
    before: (place) => [namespace(place), ...clusterIPService(place)],
    after: (place) => [
      namespace(place),
      herald('BGPAdvertisement', place.name, { addressTypes: ['ExternalIP'], nodeSelectors: onSoundNodes }),
      ...clusterIPService(place, { externalIPs: [`192.0.2.${place.index}`] }),
    ],
  },
];

function withAdvertisement(place: Place, spec: Change): Manifest[] {
  return [namespace(place), pool(place), advertisement(place, { spec }), ...service(place)];
}

function withService(place: Place, change: Change): Manifest[] {
  return [namespace(place), pool(place), advertisement(place), ...service(place, change)];
}

/** A Node object without a machine. No agent is needed to decide that it announces nothing. */
function ownNode(place: Place, labels: Readonly<Record<string, string>>, status: Change = {}): Manifest {
  const addresses = [{ type: 'InternalIP', address: `10.0.1.${place.index}` }];
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: place.name, labels: { for: place.name, ...labels } },
    status: { addresses, ...status },
  };
}

const onOwnNode = (place: Place): Manifest[] => withAdvertisement(place, { nodeSelectors: [{ matchLabels: { for: place.name } }] });

const clusterIPService = (place: Place, spec: Change = {}): Manifest[] =>
  service(place, { spec: { type: 'ClusterIP', loadBalancerClass: undefined, allocateLoadBalancerNodePorts: undefined, ...spec } });
