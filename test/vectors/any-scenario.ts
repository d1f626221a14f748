import fc from 'fast-check';
import type { ServiceLiteral, SliceLiteral } from '../unit/decisions/fixtures.ts';
import type { Scenario } from './scenario.ts';

const policy = fc.constantFrom('Cluster', 'Local');

/** The place of an endpoint, in every possible state. Undefined: there is no endpoint. */
const endpoint = (at: string): fc.Arbitrary<string | undefined> =>
  fc
    .constantFrom(undefined, '', '', '', 'notready', 'draining', 'terminating', 'zone=a', 'zone=b', 'nodes=here')
    .map((state) => (state === undefined ? undefined : `${at} ${state}`.trim()));

const slice = (service: string): fc.Arbitrary<SliceLiteral> =>
  fc
    .tuple(endpoint('$pod1@here'), endpoint('$pod2@here'), endpoint('$pod3@there'))
    .map((endpoints) => ({ service, endpoints: endpoints.filter((text) => text !== undefined), ports: ['8080/%'] }));

/** Only the first Service may have the external IP, so that no two Services compete for a frontend. */
const service = (number: 1 | 2): fc.Arbitrary<ServiceLiteral> =>
  fc
    .record({
      type: fc.constantFrom('ClusterIP', 'NodePort', 'LoadBalancer', 'LoadBalancer'),
      externalTrafficPolicy: policy,
      internalTrafficPolicy: policy,
      sourceRanges: fc.subarray(['$onlyclient', '$onlynode', '$pods'], { maxLength: 2 }),
      external: fc.boolean(),
      loadBalancing: fc.constantFrom('random', 'consistent', 'round-robin', 'weighted-round-robin', 'source-hash', 'destination-hash'),
    })
    .map(({ type, external, sourceRanges, ...rest }) => ({
      name: `web${number}`,
      type,
      clusterIPs: [`$cluster${number}`],
      ports: [type === 'ClusterIP' ? '80/%' : `80/%@3000${number}`],
      ...(type === 'LoadBalancer' ? { assigned: [`$external${number}`], sourceRanges } : {}),
      ...(external && number === 1 ? { externalIPs: ['$external3'] } : {}),
      ...rest,
    }));

/** Packets of pod3 come from another node. */
const sources = ['pod1', 'pod2', 'client', 'blocked', 'node'];
const destinations = [
  'cluster1 80',
  'cluster2 80',
  'external1 80',
  'external2 80',
  'external3 80',
  'node 30001',
  'node 30002',
  'node2 30001',
  'cluster1 81',
  'unowned 80',
];
const packets = sources.flatMap((from) => destinations.map((to) => `${from} -> ${to}: traced`));

/** Two Services of any kind, in any state, on a node with any settings. The tracer determines the fate of the packets. */
export const anyScenario: fc.Arbitrary<Scenario> = fc.record({
  name: fc.constant('any'),
  services: fc.tuple(service(1), service(2)),
  slices: fc.tuple(slice('web1'), slice('web2')),
  labels: fc.constantFrom({}, { 'topology.kubernetes.io/zone': 'a' }),
  cluster: fc.constant({ externalIPPolicies: [{ cidrs: ['$everyone'] }] }),
  config: fc.record({
    nodePortAddresses: fc.constantFrom([], ['$onlynode2'], ['$everyone']),
    sourceRangesEverywhere: fc.boolean(),
    podCIDRs: fc.constantFrom(['$pods'], ['$pods'], []),
    podInterfaces: fc.constantFrom([], [], ['pod1'], ['po*', 'nothing']),
    masqueradeAll: fc.constantFrom(false, false, true),
  }),
  packets: fc.subarray(packets, { minLength: 20, maxLength: 20 }),
});
