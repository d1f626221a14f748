import type { SliceLiteral } from '../unit/decisions/fixtures.ts';
import type { Scenario } from './scenario.ts';

const endpoints = (...texts: string[]): SliceLiteral[] => [{ service: 'web', endpoints: texts }];
/** One endpoint on this node, one on another node. */
const spread = endpoints('$pod1@here', '$pod3@there');
const anyExternalIP = { externalIPPolicies: [{ cidrs: ['$everyone'] }] };
/** A Service with a frontend of each kind. */
const everywhere = { name: 'web', ports: ['80/%@30001'], assigned: ['$external1', '$external2'], externalIPs: ['$external3'] };

/** A scenario with the given conditions of endpoints, and the places that a pod and a client reach. */
function terminating(policy: 'Cluster' | 'Local', texts: readonly string[], pod: string, client: string): Scenario {
  return {
    name: `terminating endpoints, ${policy}: ${texts.join(', ') || 'none'}`,
    services: [{ ...everywhere, externalIPs: [], externalTrafficPolicy: policy, internalTrafficPolicy: policy }],
    slices: [{ service: 'web', endpoints: texts, ports: ['8080/%'] }],
    packets: [`pod2 -> cluster1 80: ${pod}`, `client -> external1 80: ${client}`, `client -> node 30001: ${client}`],
  };
}

function masquerade(external: 'Cluster' | 'Local', internal: 'Cluster' | 'Local'): Scenario {
  const inside = internal === 'Local' ? { plain: 'pod1', stars: 'pod1*' } : { plain: 'pod1 pod3', stars: 'pod1* pod3*' };
  const outside = external === 'Local' ? { pod: 'pod1 pod3', client: 'pod1' } : { pod: 'pod1* pod3*', client: 'pod1* pod3*' };
  return {
    name: `masquerade, external policy ${external}, internal policy ${internal}`,
    services: [{ ...everywhere, externalIPs: [], externalTrafficPolicy: external, internalTrafficPolicy: internal }],
    slices: spread,
    packets: [
      `pod2 -> cluster1 80: ${inside.plain}`,
      `node -> cluster1 80: ${inside.stars}`,
      `client -> cluster1 80: ${inside.stars}`,
      ...['external1 80', 'node 30001'].flatMap((to) => [
        `pod2 -> ${to}: ${outside.pod}`,
        `node -> ${to}: pod1* pod3*`,
        `client -> ${to}: ${outside.client}`,
      ]),
    ],
  };
}

export const scenarios: readonly Scenario[] = [
  {
    name: 'no endpoints',
    services: [everywhere],
    cluster: anyExternalIP,
    packets: ['pod1', 'client', 'node'].flatMap((from) =>
      ['cluster1 80', 'external1 80', 'external2 80', 'external3 80', 'node 30001'].map((to) => `${from} -> ${to}: refused`),
    ),
  },
  {
    name: 'no endpoints, policies Local',
    services: [{ ...everywhere, externalTrafficPolicy: 'Local', internalTrafficPolicy: 'Local' }],
    cluster: anyExternalIP,
    packets: ['pod1 -> cluster1 80: refused', 'client -> external1 80: refused', 'client -> node 30001: refused'],
  },
  {
    name: 'ClusterIP',
    services: [
      { name: 'one', type: 'ClusterIP' },
      { name: 'two', type: 'ClusterIP', clusterIPs: ['$cluster2'], ports: ['a:81/%', 'b:82/%'] },
    ],
    slices: [
      { service: 'one', endpoints: ['$pod1@here'] },
      { service: 'two', ports: ['a:8080/%', 'b:9090/%'], endpoints: ['$pod1@here', '$pod3@there'] },
    ],
    packets: [
      'pod2 -> cluster1 80: pod1',
      'pod1 -> cluster1 80: pod1*',
      'pod2 -> cluster2 81: pod1 pod3',
      'pod2 -> cluster2 82: pod1:9090 pod3:9090',
      'client -> cluster1 80: pod1*',
      'node -> cluster1 80: pod1*',
      'pod2 -> cluster1 80 other: refused',
      'client -> cluster1 80 other: refused',
      'pod2 -> cluster1 82: refused',
      'node -> cluster1 82: refused',
      'pod2 -> unowned 80: dropped',
      'client -> unowned 80: dropped',
      'node -> unowned 80: dropped',
    ],
  },
  {
    name: 'Service ranges from ServiceCIDR objects',
    services: [{ name: 'web', type: 'ClusterIP' }],
    slices: endpoints('$pod1@here'),
    cluster: { serviceCIDRs: { kubernetes: ['$services'] } },
    config: { serviceCIDRs: [] },
    packets: ['pod2 -> cluster1 80: pod1', 'pod2 -> unowned 80: dropped', 'client -> external1 80: untouched'],
  },
  {
    name: 'a pod and its own Service with further endpoints',
    services: [{ name: 'web', ports: ['80/%@30001'], assigned: ['$external1'], externalTrafficPolicy: 'Local' }],
    slices: spread,
    packets: ['pod1 -> cluster1 80: pod1* pod3', 'pod1 -> external1 80: pod1* pod3', 'pod1 -> node 30001: pod1* pod3'],
  },
  {
    name: 'a named port with another number on each endpoint',
    services: [{ name: 'web', ports: ['http:80/%@30001'] }],
    slices: [
      { service: 'web', name: 'web-1', ports: ['http:8080/%'], endpoints: ['$pod1@here'] },
      { service: 'web', name: 'web-2', ports: ['http:9090/%'], endpoints: ['$pod2@here'] },
    ],
    packets: ['pod3 -> cluster1 80: pod1 pod2:9090', 'client -> node 30001: pod1* pod2:9090*'],
  },
  {
    name: 'external policy Cluster',
    services: [everywhere],
    slices: spread,
    cluster: anyExternalIP,
    packets: [
      'pod2 -> cluster1 80: pod1 pod3',
      ...['pod2', 'client', 'node'].flatMap((from) =>
        ['external1 80', 'external2 80', 'external3 80', 'node 30001'].map((to) => `${from} -> ${to}: pod1* pod3*`),
      ),
      'client -> external1 81: untouched',
    ],
  },
  {
    name: 'consistent hashing: external addresses and NodePorts use the backends of all nodes and ignore hints',
    services: [{ ...everywhere, loadBalancing: 'consistent' }],
    slices: endpoints('$pod1@here zone=a', '$pod3@there zone=b'),
    cluster: anyExternalIP,
    labels: { 'topology.kubernetes.io/zone': 'a' },
    packets: [
      'pod2 -> cluster1 80: pod1',
      ...['pod2', 'client', 'node'].flatMap((from) =>
        ['external1 80', 'external2 80', 'external3 80', 'node 30001'].map((to) => `${from} -> ${to}: pod1* pod3*`),
      ),
    ],
  },
  {
    name: 'consistent hashing under policy Local chooses among the backends of the node',
    services: [{ ...everywhere, externalTrafficPolicy: 'Local', loadBalancing: 'consistent' }],
    slices: spread,
    cluster: anyExternalIP,
    packets: ['pod2 -> external1 80: pod1 pod3', 'client -> external1 80: pod1', 'node -> external3 80: pod1* pod3*'],
  },
  {
    name: 'external policy Local',
    services: [{ ...everywhere, externalTrafficPolicy: 'Local' }],
    slices: spread,
    cluster: anyExternalIP,
    packets: [
      'pod2 -> cluster1 80: pod1 pod3',
      'client -> cluster1 80: pod1* pod3*',
      ...['external1 80', 'external3 80', 'node 30001'].flatMap((to) => [
        `client -> ${to}: pod1`,
        `pod2 -> ${to}: pod1 pod3`,
        `node -> ${to}: pod1* pod3*`,
      ]),
    ],
  },
  {
    name: 'external policy Local without a local endpoint',
    services: [{ ...everywhere, externalTrafficPolicy: 'Local' }],
    slices: endpoints('$pod3@there'),
    cluster: anyExternalIP,
    packets: [
      'pod2 -> cluster1 80: pod3',
      ...['external1 80', 'external3 80', 'node 30001'].flatMap((to) => [
        `client -> ${to}: dropped`,
        `pod2 -> ${to}: pod3`,
        `node -> ${to}: pod3*`,
      ]),
    ],
  },
  {
    name: 'NodePorts',
    services: [{ name: 'web', type: 'NodePort', ports: ['80/%@30001'] }],
    slices: endpoints('$pod1@here'),
    packets: [
      'pod2 -> cluster1 80: pod1',
      'client -> node 30001: pod1*',
      'node -> node 30001: pod1*',
      'pod2 -> node 30001: pod1*',
      'client -> node2 30001: untouched',
      'client -> node 30001 other: untouched',
      'client -> node 30002: untouched',
    ],
  },
  ...(
    [
      ['only the second address', ['$onlynode2'], 'untouched', 'pod1*'],
      ['both, by prefix', ['$outside'], 'pod1*', 'pod1*'],
      ['everything', ['$everyone'], 'pod1*', 'pod1*'],
      ['no address of the node', ['$pods'], 'untouched', 'untouched'],
    ] as const
  ).map(([what, nodePortAddresses, first, second]): Scenario => ({
    name: `NodePorts, nodePortAddresses: ${what}`,
    services: [{ name: 'web', type: 'NodePort', ports: ['80/%@30001'] }],
    slices: endpoints('$pod1@here'),
    config: { nodePortAddresses },
    packets: [
      `client -> node 30001: ${first}`,
      `pod2 -> node 30001: ${first}`,
      `client -> node2 30001: ${second}`,
      'client -> there 30001: untouched',
      'client -> external1 30001: untouched',
    ],
  })),
  {
    name: 'NodePorts without an endpoint refuse on their addresses only',
    services: [{ name: 'web', type: 'NodePort', ports: ['8080/%@8080'] }],
    config: { nodePortAddresses: ['$onlynode2'] },
    packets: ['client -> node2 8080: refused', 'client -> node 8080: untouched'],
  },
  ...(['Cluster', 'Local'] as const).flatMap((policy) =>
    (
      [
        [['$pod1@here'], 'pod1', 'pod1'],
        [['$pod1@here', '$pod3@there'], 'pod1 pod3', 'pod1'],
        [['$pod1@here', '$pod2@here', '$pod3@there'], 'pod1 pod2* pod3', 'pod1 pod2*'],
        [['$pod3@there'], 'pod3', 'dropped'],
        [[], 'refused', 'refused'],
      ] as const
    ).map(([list, cluster, local]): Scenario => ({
      name: `internal policy ${policy}: ${list.join(', ') || 'none'}`,
      services: [{ name: 'web', type: 'ClusterIP', internalTrafficPolicy: policy }],
      slices: [{ service: 'web', endpoints: list, ports: ['8080/%'] }],
      packets: [`pod2 -> cluster1 80: ${policy === 'Local' ? local : cluster}`],
    })),
  ),
  terminating('Local', ['$pod1@here', '$pod2@here draining', '$pod3@there'], 'pod1', 'pod1'),
  terminating('Local', ['$pod1@here draining', '$pod3@there'], 'pod1', 'pod1'),
  terminating('Local', ['$pod1@here draining', '$pod2@here notready', '$pod3@there terminating'], 'pod1', 'pod1'),
  terminating('Local', ['$pod1@here terminating', '$pod3@there draining'], 'dropped', 'dropped'),
  terminating('Local', ['$pod1@here terminating', '$pod3@there notready'], 'refused', 'refused'),
  terminating('Cluster', ['$pod1@here', '$pod2@here draining', '$pod3@there'], 'pod1 pod3', 'pod1* pod3*'),
  terminating('Cluster', ['$pod1@here draining', '$pod2@here terminating', '$pod3@there draining'], 'pod1 pod3', 'pod1* pod3*'),
  terminating('Cluster', ['$pod1@here terminating', '$pod3@there draining'], 'pod3', 'pod3*'),
  terminating('Cluster', ['$pod1@here terminating', '$pod3@there notready'], 'refused', 'refused'),
  masquerade('Cluster', 'Cluster'),
  masquerade('Cluster', 'Local'),
  masquerade('Local', 'Cluster'),
  masquerade('Local', 'Local'),
  {
    name: 'pods are unknown',
    services: [{ ...everywhere, externalIPs: [], externalTrafficPolicy: 'Local' }],
    slices: spread,
    config: { podCIDRs: [] },
    packets: [
      'pod2 -> cluster1 80: pod1 pod3',
      'client -> cluster1 80: pod1 pod3',
      'pod2 -> external1 80: pod1',
      'node -> external1 80: pod1* pod3*',
    ],
  },
  ...(
    [
      ['their interfaces', { podCIDRs: [], podInterfaces: ['pod1', 'pod2'] }],
      ['the beginning of their interface names', { podCIDRs: [], podInterfaces: ['lo', 'po*'] }],
      ['an interface or a prefix', { podInterfaces: ['pod9'] }],
    ] as const
  ).map(([what, config]): Scenario => ({
    name: `pods are known by ${what}`,
    services: [{ ...everywhere, externalIPs: [], externalTrafficPolicy: 'Local' }],
    slices: spread,
    config,
    packets: [
      'pod2 -> cluster1 80: pod1 pod3',
      'client -> cluster1 80: pod1* pod3*',
      'node -> cluster1 80: pod1* pod3*',
      'pod2 -> external1 80: pod1 pod3',
      'client -> external1 80: pod1',
      'node -> external1 80: pod1* pod3*',
    ],
  })),
  {
    name: 'pods are known by an interface that some pods lack',
    services: [{ ...everywhere, externalIPs: [], externalTrafficPolicy: 'Local' }],
    slices: endpoints('$pod3@there'),
    config: { podCIDRs: [], podInterfaces: ['pod1'] },
    packets: ['pod1 -> cluster1 80: pod3', 'pod2 -> cluster1 80: pod3*', 'pod1 -> external1 80: pod3', 'pod2 -> external1 80: dropped'],
  },
  ...(
    [
      ['pods by prefix', { podCIDRs: ['$pods'] }, 'pod1 pod3'],
      ['no pods', { podCIDRs: [] }, 'pod1'],
      ['pods by interface', { podCIDRs: [], podInterfaces: ['pod*'] }, 'pod1 pod3'],
    ] as const
  ).map(([what, config, external]): Scenario => ({
    name: `masqueradeAll, ${what}`,
    services: [{ ...everywhere, externalIPs: [], externalTrafficPolicy: 'Local' }],
    slices: spread,
    config: { ...config, masqueradeAll: true },
    packets: ['pod2 -> cluster1 80: pod1* pod3*', 'client -> cluster1 80: pod1* pod3*', `pod2 -> external1 80: ${external}`],
  })),
  {
    name: 'source ranges',
    services: [{ ...everywhere, sourceRanges: ['$onlyclient', '$onlynode'] }],
    slices: endpoints('$pod1@here'),
    cluster: anyExternalIP,
    packets: [
      'pod2 -> cluster1 80: pod1',
      'client -> node 30001: pod1*',
      'blocked -> node 30001: pod1*',
      'blocked -> external3 80: pod1*',
      ...['external1', 'external2'].flatMap((to) => [
        `client -> ${to} 80: pod1*`,
        `blocked -> ${to} 80: dropped`,
        `pod2 -> ${to} 80: dropped`,
        `node -> ${to} 80: pod1*`,
      ]),
      'external1 -> external1 80: pod1*',
    ],
  },
  {
    name: 'source ranges everywhere',
    services: [
      { ...everywhere, sourceRanges: ['$onlyclient'] },
      { name: 'open', clusterIPs: ['$cluster2'], ports: ['80/%@30002'] },
    ],
    slices: [
      { service: 'web', endpoints: ['$pod1@here'] },
      { service: 'open', endpoints: ['$pod1@here'] },
    ],
    cluster: anyExternalIP,
    config: { sourceRangesEverywhere: true },
    packets: [
      ...['external1 80', 'external3 80', 'node 30001'].flatMap((to) => [
        `client -> ${to}: pod1*`,
        `blocked -> ${to}: dropped`,
        `pod2 -> ${to}: dropped`,
        `node -> ${to}: dropped`,
      ]),
      'pod2 -> cluster1 80: pod1',
      'blocked -> cluster1 80: pod1*',
      'blocked -> node 30002: pod1*',
      'blocked -> node2 30001: untouched',
    ],
  },
  {
    name: "source ranges without the node's address drop the load balancer address as source",
    services: [{ name: 'web', assigned: ['$external1'], sourceRanges: ['$onlyclient'] }],
    slices: endpoints('$pod1@here'),
    packets: ['client -> external1 80: pod1*', 'node -> external1 80: dropped', 'external1 -> external1 80: dropped'],
  },
  {
    name: 'source ranges of the other family do not count, and a range of all addresses admits everything',
    services: [
      { name: 'web', assigned: ['$external1'], sourceRanges: ['$otherclient'] },
      { name: 'open', clusterIPs: ['$cluster2'], assigned: ['$external2'], sourceRanges: ['$onlyclient', '$everyone'] },
    ],
    slices: [
      { service: 'web', endpoints: ['$pod1@here'] },
      { service: 'open', endpoints: ['$pod1@here'] },
    ],
    packets: ['blocked -> external1 80: pod1*', 'pod2 -> external1 80: pod1*', 'blocked -> external2 80: pod1*'],
  },
  {
    name: 'source ranges apply without an endpoint too',
    services: [{ name: 'web', assigned: ['$external1'], sourceRanges: ['$onlyclient'] }],
    packets: ['blocked -> external1 80: dropped', 'client -> external1 80: refused'],
  },
  {
    name: 'an address that the load balancer answers itself (ipMode Proxy)',
    services: [{ name: 'web', assigned: ['$external1 Proxy', '$external2 VIP'] }],
    slices: endpoints('$pod1@here'),
    packets: ['client -> external1 80: untouched', 'client -> external2 80: pod1*'],
  },
  {
    name: 'an external IP that no policy allows',
    services: [{ name: 'web', externalIPs: ['$external3'] }],
    slices: endpoints('$pod1@here'),
    packets: ['client -> external3 80: untouched', 'pod2 -> cluster1 80: pod1'],
  },
  {
    name: 'Services that Herald does not forward: another proxy, headless, ExternalName',
    services: [
      { name: 'other', serviceProxyName: 'mesh', assigned: ['$external1'], ports: ['80/%@30001'] },
      { name: 'headless', type: 'ClusterIP', headless: true, clusterIPs: [] },
      { name: 'alias', type: 'ExternalName', clusterIPs: [], ports: ['80/%'] },
      { name: 'sliced', clusterIPs: ['$cluster2'] },
    ],
    slices: [
      { service: 'other', endpoints: ['$pod1@here'] },
      { service: 'headless', endpoints: ['$pod1@here'] },
      { service: 'sliced', endpoints: ['$pod1@here'], labels: { 'service.kubernetes.io/headless': '' } },
    ],
    packets: [
      'pod2 -> cluster1 80: dropped',
      'client -> external1 80: untouched',
      'client -> node 30001: untouched',
      'pod2 -> pod1 8080: untouched',
      'pod2 -> cluster2 80: refused',
    ],
  },
  {
    name: "a Service with Herald's configured proxy name",
    services: [
      { name: 'ours', serviceProxyName: 'edge' },
      { name: 'theirs', serviceProxyName: 'mesh', clusterIPs: ['$cluster2'] },
      { name: 'anyone', clusterIPs: ['$cluster3'] },
    ],
    slices: ['ours', 'theirs', 'anyone'].map((service) => ({ service, endpoints: ['$pod1@here'] })),
    config: { serviceProxyName: 'edge' },
    packets: ['pod2 -> cluster1 80: pod1', 'pod2 -> cluster2 80: dropped', 'pod2 -> cluster3 80: pod1'],
  },
  {
    name: 'manual endpoints without a node and outside the cluster',
    services: [{ name: 'web', hasSelector: false, selectorText: '', assigned: ['$external1'] }],
    slices: endpoints('$pod3', '$client'),
    packets: ['pod2 -> cluster1 80: client pod3', 'pod2 -> external1 80: client* pod3*'],
  },
  ...(['Cluster', 'Local'] as const).map((policy): Scenario => ({
    name: `the node's address as external IP of a host network pod with the same port, policy ${policy}`,
    services: [{ name: 'web', ports: ['8080/%'], externalIPs: ['$node'], externalTrafficPolicy: policy, internalTrafficPolicy: policy }],
    slices: endpoints('$node@here'),
    cluster: anyExternalIP,
    packets: [
      'client -> node 8080: node',
      'pod2 -> node 8080: node',
      'node -> node 8080: node*',
      'pod2 -> cluster1 8080: node',
      'client -> cluster1 8080: node',
      'node -> cluster1 8080: node*',
    ],
  })),
  {
    name: 'a remote host network pod whose address is a Local frontend without local endpoints',
    services: [{ name: 'web', ports: ['8080/%'], externalIPs: ['$client'], externalTrafficPolicy: 'Local' }],
    slices: endpoints('$client@there'),
    cluster: anyExternalIP,
    packets: ['pod2 -> cluster1 8080: client', 'node -> cluster1 8080: client*', 'pod2 -> client 8080: client'],
  },
  {
    name: 'topology: hints for the zone',
    labels: { 'topology.kubernetes.io/zone': 'a' },
    services: [{ ...everywhere, externalIPs: [] }],
    slices: endpoints('$pod1@here zone=b', '$pod2@here zone=a', '$pod3@there zone=a'),
    packets: ['pod1 -> cluster1 80: pod2 pod3', 'client -> external1 80: pod2* pod3*', 'client -> node 30001: pod2* pod3*'],
  },
  {
    name: 'topology: hints for the node are ignored under policy Local',
    labels: { 'topology.kubernetes.io/zone': 'a' },
    services: [{ ...everywhere, externalIPs: [], externalTrafficPolicy: 'Local' }],
    slices: endpoints('$pod1@here nodes=there', '$pod2@here nodes=here', '$pod3@there nodes=there'),
    packets: ['pod1 -> cluster1 80: pod2', 'client -> external1 80: pod1 pod2', 'pod1 -> external1 80: pod2'],
  },
  {
    name: 'topology: one ready endpoint without a hint',
    labels: { 'topology.kubernetes.io/zone': 'a' },
    services: [{ name: 'web', type: 'ClusterIP' }],
    slices: endpoints('$pod1@here zone=a', '$pod3@there'),
    packets: ['pod2 -> cluster1 80: pod1 pod3'],
  },
  {
    name: 'an endpoint in several slices counts once, with its state that is not terminating',
    services: [{ name: 'web', type: 'ClusterIP' }],
    slices: [
      { service: 'web', name: 'web-1', endpoints: ['$pod1@here terminating', '$pod3@there'] },
      { service: 'web', name: 'web-2', endpoints: ['$pod1@here'] },
    ],
    packets: ['pod2 -> cluster1 80: pod1 pod3'],
  },
];
