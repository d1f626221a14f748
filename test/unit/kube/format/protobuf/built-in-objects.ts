/** Objects that have, together, every field of a built-in kind that Herald reads. */
import { conditionTypes } from '../../../../../src/model/objects/condition-types.ts';
import { assignedMessage } from '../../../../../src/model/objects/sharing-terms.ts';

const finalizers = ['example.com/held', 'example.com/also'];
const annotations = { 'example.com/text': 'Größe "ü" 日本語 \u{1f600}\n', 'example.com/empty': '', 'example.com/long': 'x'.repeat(5000) };
const labels = { 'app.kubernetes.io/name': 'web', empty: '', 'example.com/long': 'a'.repeat(63) };

const addressAssigned = (status: string, reason: string, message: string) => ({
  type: conditionTypes.addressAssigned,
  status,
  reason,
  message,
  observedGeneration: 3,
  lastTransitionTime: '2026-01-02T03:04:05Z',
});

const service = (name: string, spec: object, further: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'default', ...further },
  spec,
});

export const services = [
  {
    ...service(
      'everything',
      {
        type: 'LoadBalancer',
        selector: { app: 'web', empty: '' },
        ports: [
          { name: 'http', protocol: 'TCP', port: 80, targetPort: 'web', nodePort: 30_080 },
          { name: 'dns', protocol: 'UDP', port: 53, targetPort: 5353 },
        ],
        externalIPs: ['192.0.2.7', '2001:db8::7'],
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } },
        loadBalancerIP: '192.0.2.9',
        loadBalancerClass: 'herald.dev/bgp',
        loadBalancerSourceRanges: ['192.0.2.0/24', '2001:db8::/32'],
        externalTrafficPolicy: 'Local',
        internalTrafficPolicy: 'Local',
        healthCheckNodePort: 30_100,
        allocateLoadBalancerNodePorts: false,
        ipFamilyPolicy: 'SingleStack',
        publishNotReadyAddresses: true,
        trafficDistribution: 'PreferClose',
      },
      { labels, annotations, finalizers },
    ),
    status: {
      loadBalancer: {
        ingress: [
          { ip: '192.0.2.9', ipMode: 'VIP', ports: [{ port: 80, protocol: 'TCP', error: 'example.com/none' }] },
          { hostname: 'web.example.com' },
        ],
      },
      conditions: [addressAssigned('True', 'Assigned', assignedMessage({ sharingKey: 'ü', ports: [] }))],
    },
  },
  service('plain', { ports: [{ port: 80 }] }),
  service('node-port', {
    type: 'NodePort',
    ports: [{ port: 80, targetPort: 'x', appProtocol: 'kubernetes.io/h2c' }],
  }),
  {
    ...service('load-balancer', { type: 'LoadBalancer', ports: [{ port: 80 }], allocateLoadBalancerNodePorts: true }),
    status: { conditions: [addressAssigned('False', 'AddressTaken', 'another Service has it')] },
  },
  service('headless', { clusterIP: 'None', selector: { app: 'web' } }),
  service('elsewhere', { type: 'ExternalName', externalName: 'web.example.com' }),
];

const slice = (name: string, content: object, further: object = {}) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name, namespace: 'default', labels: { 'kubernetes.io/service-name': 'plain' }, ...further },
  ...content,
});

export const endpointSlices = [
  slice(
    'everything',
    {
      addressType: 'IPv4',
      ports: [
        { name: 'http', protocol: 'TCP', port: 8080, appProtocol: 'http' },
        { name: '', protocol: 'UDP' },
        { name: 'sctp', protocol: 'SCTP', port: 1 },
      ],
      endpoints: [
        {
          addresses: ['10.1.2.3', '10.1.2.4'],
          conditions: { ready: true, serving: true, terminating: false },
          hostname: 'web-1',
          nodeName: 'node1',
          zone: 'zone-a',
          hints: { forZones: [{ name: 'zone-a' }], forNodes: [{ name: 'node1' }] },
          targetRef: { kind: 'Pod', namespace: 'default', name: 'web-1', uid: 'c5c3b3f5-4b4a-4c3c-9d2e-000000000000' },
          deprecatedTopology: { 'example.com/rack': 'r1' },
        },
        { addresses: ['10.1.2.5'], conditions: { ready: false, serving: false, terminating: true } },
        { addresses: ['10.1.2.6'], conditions: { serving: true } },
        { addresses: ['10.1.2.7'], zone: '' },
      ],
    },
    { labels: { 'kubernetes.io/service-name': 'plain', ...labels }, annotations, finalizers },
  ),
  slice('six', { addressType: 'IPv6', endpoints: [{ addresses: ['fd00::1'] }], ports: [{ name: 'http', port: 80 }] }),
  slice('empty', { addressType: 'IPv4', endpoints: [], ports: null }),
  slice('names', { addressType: 'FQDN', endpoints: [{ addresses: ['web.example.com'] }], ports: [{ port: 80 }] }),
];

export const nodeObject = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'node1', labels, annotations: { ...annotations, 'herald.dev/drain': 'true' }, finalizers },
  spec: {
    podCIDR: '10.1.0.0/24',
    podCIDRs: ['10.1.0.0/24', 'fd00:1::/64'],
    providerID: 'aws:///eu-central-1a/i-0123456789abcdef0',
    unschedulable: true,
    taints: [
      { key: 'example.com/a', value: 'b', effect: 'NoSchedule', timeAdded: '2026-01-02T03:04:05Z' },
      { key: 'example.com/c', effect: 'NoExecute' },
    ],
  },
  status: {
    capacity: { cpu: '3920m', memory: '16Gi', 'example.com/gpu': '2' },
    allocatable: { cpu: '3500m' },
    conditions: [
      { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', message: 'ü', lastHeartbeatTime: '2026-01-02T03:04:05Z' },
      { type: 'NetworkUnavailable', status: 'True', lastTransitionTime: '1969-12-31T23:59:59Z' },
    ],
    addresses: [
      { type: 'InternalIP', address: '192.0.2.10' },
      { type: 'InternalIP', address: '2001:db8::10' },
      { type: 'Hostname', address: 'node1' },
    ],
    images: [{ names: ['registry.example.com/image@sha256:00', 'registry.example.com/image:1'], sizeBytes: 9_007_199_254_740_991 }],
    nodeInfo: {},
    daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } },
  },
};

export const namespaceObject = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'held', labels, annotations, finalizers },
};

export const agentPodObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'herald-agent-1', namespace: 'default', labels, annotations, finalizers },
  spec: {
    nodeName: 'node1',
    automountServiceAccountToken: false,
    serviceAccountName: 'default',
    containers: [{ name: 'agent', image: 'herald', resources: { requests: { cpu: '50m', memory: '64Mi' } } }],
  },
  status: {
    phase: 'Running',
    podIP: '192.0.2.10',
    containerStatuses: [
      {
        name: 'agent',
        ready: true,
        restartCount: 3,
        image: 'herald',
        imageID: 'sha256:00',
        state: { running: { startedAt: '2026-02-03T04:05:06Z' } },
        lastState: { terminated: { exitCode: -1, startedAt: '2026-02-03T04:05:05Z' } },
      },
      { name: 'other', ready: false, restartCount: 0, image: 'x', imageID: '', state: { waiting: { reason: 'ContainerCreating' } } },
    ],
  },
};
