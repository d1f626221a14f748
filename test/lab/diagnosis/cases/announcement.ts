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
    verdict:
      'Not served: no BGPAdvertisement or L2Advertisement covers this LoadBalancer address. Create a BGPAdvertisement (routers) or an L2Advertisement (a link without routers) that selects its pool.',
    after: (place) => healthy(place).filter(({ kind }) => kind !== 'BGPAdvertisement'),
  },
  {
    name: 'service-drained',
    mistake: 'The Service has the annotation herald.dev/drain.',
    code: 'ServiceDrained',
    condition,
    verdict:
      'Not served: the Service has the annotation herald.dev/drain: it keeps its addresses, and no node announces them. Remove the annotation to have them announced again.',
    after: (place) => withService(place, annotated({ 'herald.dev/drain': 'true' })),
  },
  {
    name: 'advertised-by-no-node',
    mistake: 'nodeSelectors of the BGPAdvertisement match no node.',
    code: 'NodeNotSelected',
    condition,
    verdict:
      'Not served: spec.nodeSelectors of BGPAdvertisement advertised-by-no-node, which covers this address, do not match node "lonely" (the same on all 13 nodes). Change spec.nodeSelectors of BGPAdvertisement advertised-by-no-node, or label the node.',
    after: (place) => withAdvertisement(place, { nodeSelectors: [{ matchLabels: { role: 'edge' } }] }),
  },
  {
    name: 'advertised-other-labels',
    mistake: 'serviceSelectors of the BGPAdvertisement match a label that the Service lacks.',
    code: 'ServiceNotSelected',
    condition,
    verdict:
      'Not served: spec.serviceSelectors of BGPAdvertisement advertised-other-labels do not match the labels of the Service (on node1 and node2). Change spec.serviceSelectors of BGPAdvertisement advertised-other-labels, or label the Service.',
    after: (place) => withAdvertisement(place, { serviceSelectors: [{ matchLabels: { tier: 'front' } }] }),
  },
  {
    name: 'attributes-conflict',
    mistake: 'Two BGPAdvertisements give one address different values of localPref.',
    code: 'ConflictingAdvertisements',
    condition,
    verdict:
      'Not served: BGPAdvertisements "attributes-conflict", "attributes-conflict-too" ask for different localPref on 198.18.37.1/32 to peer "tor1-v4" (on node1 and node2); BGPAdvertisements "attributes-conflict", "attributes-conflict-too" ask for different localPref on 198.18.37.1/32 to peer "tor2-v4" (on node1 and node2). Make spec.localPref of BGPAdvertisements "attributes-conflict", "attributes-conflict-too" equal, or let them select different pools, peers or nodes.',
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
    verdict:
      'Not served: BGPAdvertisement "community-unknown" names community "no-expotr", which no Community object defines (on node1 and node2). Define the alias in a Community object, or write the value.',
    after: (place) => withAdvertisement(place, { communities: ['no-expotr'] }),
  },
  {
    name: 'aggregate-too-short',
    mistake: 'aggregationLength of the BGPAdvertisement covers more than the pool.',
    code: 'AggregationTooShort',
    condition,
    verdict:
      'Not served: aggregationLength 24 of BGPAdvertisement aggregate-too-short would cover addresses outside 198.18.39.1/32 of IPAddressPool "aggregate-too-short" (on node1 and node2). Set spec.aggregationLength of BGPAdvertisement aggregate-too-short to 32 or more.',
    after: (place) => withAdvertisement(place, { aggregationLength: 24, aggregationLengthV6: 64 }),
  },
  {
    name: 'peer-not-named',
    mistake: 'peers of the BGPAdvertisement names a BGPPeer that does not exist.',
    code: 'PeerNotInAdvertisement',
    condition,
    verdict:
      'Not served: spec.peers of BGPAdvertisement peer-not-named does not name peer "tor1-v4" (on node1 and node2); spec.peers of BGPAdvertisement peer-not-named does not name peer "tor1-v6" (on node1 and node2). Add "tor1-v4" to spec.peers of BGPAdvertisement peer-not-named.',
    after: (place) => withAdvertisement(place, { peers: ['tor1'] }),
  },
  {
    name: 'no-peer-on-node',
    mistake: 'The only advertising node is one that no BGPPeer selects.',
    code: 'NoPeers',
    condition,
    verdict: 'Not served: no BGPPeer selects node "lonely". Create a BGPPeer whose nodeSelectors match the node.',
    after: (place) => withAdvertisement(place, { nodeSelectors: [{ matchLabels: { role: 'lonely' } }] }),
  },
  {
    name: 'node-without-network',
    mistake: 'The only advertising node has condition NetworkUnavailable.',
    code: 'NodeNetworkUnavailable',
    condition,
    verdict:
      'Not served: node "node-without-network" has condition NetworkUnavailable=True. Wait for, or repair, the network plugin of the node.',
    after: (place) => [...onOwnNode(place), ownNode(place, {}, { conditions: [{ type: 'NetworkUnavailable', status: 'True' }] })],
  },
  {
    name: 'node-excluded',
    mistake: 'The only advertising node has the label that excludes it from load balancers.',
    code: 'NodeExcluded',
    condition,
    verdict:
      'Not served: node "node-excluded" has the label node.kubernetes.io/exclude-from-external-load-balancers. Remove the label if the node should take traffic (kubeadm sets it on control planes).',
    after: (place) => [...onOwnNode(place), ownNode(place, { 'node.kubernetes.io/exclude-from-external-load-balancers': '' })],
  },
  {
    name: 'no-local-endpoint',
    mistake: 'externalTrafficPolicy is Local, and the advertising nodes have no endpoint.',
    code: 'NoLocalEndpoints',
    condition,
    verdict:
      'Not served: externalTrafficPolicy is Local and no endpoint on node "node1" can take traffic (on node1 and node2). Run a ready pod of the Service on the node, or set spec.externalTrafficPolicy: Cluster; nothing to do while another node announces the address.',
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
    verdict: "Not served: the Service has no endpoints (on node1 and node2). Check the Service's selector and the readiness of its pods.",
    after: (place) => healthy(place).filter(({ kind }) => kind !== 'EndpointSlice'),
  },
  {
    name: 'endpoints-not-ready',
    mistake: 'No endpoint of the Service is ready.',
    code: 'NoEndpoints',
    condition,
    verdict:
      "Not served: none of the 2 endpoint(s) is ready or serving (on node1 and node2). Check the Service's selector and the readiness of its pods.",
    after: (place) => [namespace(place), pool(place), advertisement(place), ...service(place, {}, { ready: false })],
  },
  {
    name: 'external-ip-denied',
    mistake: 'A ClusterIP Service has an external IP that no ExternalIPPolicy allows.',
    code: 'ExternalIPNotAllowed',
    verdict:
      'Not served: no ExternalIPPolicy allows namespace "external-ip-denied" the external IP 192.0.2.47. Create an ExternalIPPolicy with 192.0.2.47 in spec.cidrs and namespace "external-ip-denied" in spec.namespaceSelector, or remove 192.0.2.47 from spec.externalIPs of the Service (CVE-2020-8554 is why it is denied).',
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
