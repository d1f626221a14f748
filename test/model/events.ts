import fc from 'fast-check';
import { defined } from '../../src/lang/defined.ts';
import type { Family } from '../../src/net/address.ts';
import type { Change } from '../../src/model/store/snapshot.ts';
import type { Store } from '../../src/model/store/store.ts';
import { prefix } from '../../src/net/prefix.ts';
import {
  config,
  matching,
  metadata,
  node,
  service,
  slice,
  type ClusterLiteral,
  type NodeLiteral,
  type ServiceLiteral,
  type SliceLiteral,
} from '../unit/decisions/fixtures.ts';

/** Changes to the objects of a small cluster, as literals that read well in a counterexample. */
export type Event =
  | { readonly service: ServiceLiteral }
  | { readonly withoutService: string }
  | { readonly slice: SliceLiteral & { readonly name: string } }
  | { readonly withoutSlice: string }
  | { readonly node: NodeLiteral }
  | { readonly withoutNode: string }
  | { readonly config: NonNullable<ClusterLiteral['config']> }
  | { readonly serviceCIDR: readonly string[] }
  | { readonly externalIPPolicy: readonly string[] };

/** The node whose forwarding is checked. */
export const here = 'here';

export function applyEvent(store: Store, event: Event): Change[] {
  if ('service' in event) return store.upsert(service(event.service));
  if ('withoutService' in event) return store.remove('Service', `default/${event.withoutService}`);
  if ('slice' in event) return store.upsert(slice(event.slice));
  if ('withoutSlice' in event) return store.remove('EndpointSlice', `default/${event.withoutSlice}`);
  if ('node' in event) return store.upsert(node(event.node));
  if ('withoutNode' in event) return store.remove('Node', event.withoutNode);
  if ('config' in event) return store.upsert(config(event.config));
  if ('serviceCIDR' in event)
    return store.upsert({ kind: 'ServiceCIDR', metadata: metadata('more'), cidrs: event.serviceCIDR.map(prefix) });
  return store.upsert({
    kind: 'ExternalIPPolicy',
    metadata: metadata('policy'),
    namespaceSelector: matching({}),
    cidrs: event.externalIPPolicy.map(prefix),
  });
}

const numbers = [1, 2, 3, 4, 5, 6] as const;
export const clusterIP = (family: Family, number: number): string => (family === 4 ? `10.96.0.${number}` : `fd02::${number}`);
const external = (family: Family, number: number): string => (family === 4 ? `192.0.2.${number}` : `fd09::${number}`);
const families = fc.constantFrom<readonly Family[]>([4], [6], [4, 6], [4, 6], [6, 4]);
const policy = fc.constantFrom<'Cluster' | 'Local'>('Cluster', 'Local');
const rarely = (weight = 9): fc.Arbitrary<boolean> =>
  fc.oneof({ weight, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) });
const someAddresses = fc.uniqueArray(fc.constantFrom(1, 2, 3, 4), { maxLength: 2 });

const port = fc
  .tuple(
    fc.constantFrom('a', 'b', 'c'),
    fc.constantFrom('80/TCP', '53/UDP', '53/TCP', '9/SCTP'),
    fc.constantFrom(0, 0, 30_000, 30_001, 30_002),
  )
  .map(([name, number, nodePort]) => `${name}:${number}${nodePort === 0 ? '' : `@${nodePort}`}`);

/** Sometimes with an address or a NodePort of another Service, so that one of them must wait. */
const anyService: fc.Arbitrary<ServiceLiteral> = fc
  .record({
    number: fc.constantFrom(...numbers),
    takesAnothers: rarely(),
    type: fc.constantFrom('ClusterIP', 'NodePort', 'LoadBalancer', 'LoadBalancer'),
    families,
    ports: fc.uniqueArray(port, { minLength: 1, maxLength: 3, selector: (text) => text.split(':')[0] }),
    externalTrafficPolicy: policy,
    internalTrafficPolicy: policy,
    affinity: fc.constantFrom(undefined, undefined, 1, 60, 10_800),
    sourceRanges: fc.subarray(['10.0.0.0/8', '10.1.0.0/16', '192.0.2.0/24', 'fd00::/8', 'fd99::2/128', '0.0.0.0/1', '128.0.0.0/1']),
    assigned: someAddresses,
    externalIPs: someAddresses,
    loadBalancing: fc.constantFrom(undefined, undefined, 'consistent' as const, 'random' as const),
    directReturn: rarely(3),
    serviceProxyName: rarely(),
    headless: rarely(),
  })
  .map(
    ({
      number,
      takesAnothers,
      type,
      families,
      affinity,
      assigned,
      externalIPs,
      loadBalancing,
      directReturn,
      serviceProxyName,
      headless,
      ...rest
    }) => ({
      name: `s${number}`,
      type,
      clusterIPs: families.map((family) => clusterIP(family, takesAnothers ? 1 : number)),
      ...defined({ affinitySeconds: affinity }),
      assigned: type === 'LoadBalancer' ? assigned.flatMap((each) => families.map((family) => external(family, each))) : [],
      externalIPs: externalIPs.flatMap((each) => families.map((family) => external(family, each + 2))),
      ...(loadBalancing === undefined ? {} : { loadBalancing, hashSlots: 251 as const, directReturn }),
      ...(serviceProxyName ? { serviceProxyName: 'other' } : {}),
      ...(headless ? { headless } : {}),
      ...rest,
    }),
  );

const state = fc.constantFrom('', '', '', '', 'notready', 'draining', 'terminating', 'zone=a', 'zone=b', 'nodes=here');
const place = fc.constantFrom('@here', '@there', '@there', '');

/** Mostly few endpoints, sometimes more than 64, so that a backend may have several slots. */
const anySlice: fc.Arbitrary<SliceLiteral & { readonly name: string }> = fc
  .record({
    number: fc.constantFrom(...numbers),
    part: fc.constantFrom('x', 'y'),
    family: fc.constantFrom<Family>(4, 6),
    pods: fc.oneof(
      { weight: 12, arbitrary: fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 6 }) },
      { weight: 1, arbitrary: fc.integer({ min: 60, max: 140 }).map((count) => Array.from({ length: count }, (_, index) => index + 1)) },
    ),
    states: fc.array(state, { minLength: 5, maxLength: 5 }),
    places: fc.array(place, { minLength: 7, maxLength: 7 }),
    target: fc.constantFrom(8_080, 9_090),
    weight: fc.constantFrom(undefined, undefined, 3),
  })
  .map(({ number, part, family, pods, states, places, target, weight }) => ({
    ...defined({ weight }),
    name: `s${number}-${family}${part}`,
    service: `s${number}`,
    family,
    // Two Services may have the same pods.
    endpoints: pods.map((pod) => {
      const address = family === 4 ? `10.244.${number >> 1}.${pod}` : `fd01::${number >> 1}:${pod.toString(16)}`;
      return `${address}${places[pod % places.length] ?? ''} ${states[pod % states.length] ?? ''}`.trim();
    }),
    ports: [`a:${target}/TCP`, `a:${target}/UDP`, 'a:9/SCTP', `b:${target}/TCP`, `b:${target}/UDP`, 'b:10/SCTP', 'c:53/UDP', 'c:53/TCP'],
  }));

const anyNode: fc.Arbitrary<NodeLiteral> = fc.record({
  name: fc.constantFrom(here, here, 'there'),
  labels: fc.constantFrom({}, { 'topology.kubernetes.io/zone': 'a' }, { 'topology.kubernetes.io/zone': 'b' }),
  internalIPs: fc.constantFrom(['10.99.0.1', 'fd99::1'], ['10.99.0.2', 'fd99::2'], ['fd99::1'], ['10.1.2.3']),
  podCIDRs: fc.constantFrom(['10.244.0.0/24', 'fd01::/64'], ['10.244.1.0/24'], []),
});

const anyConfig: fc.Arbitrary<NonNullable<ClusterLiteral['config']>> = fc.record({
  nodePortAddresses: fc.constantFrom([], [], ['10.99.0.0/24'], ['0.0.0.0/0', '::/0'], ['10.0.0.0/8', '10.99.0.0/24']),
  podCIDRs: fc.constantFrom([], ['10.244.0.0/16', 'fd01::/64'], ['10.244.0.0/24', '10.244.1.0/24']),
  serviceCIDRs: fc.constantFrom([], ['10.96.0.0/16', 'fd02::/112'], ['10.96.0.0/24']),
  sourceRangesEverywhere: fc.boolean(),
  services: fc.constantFrom<'all' | 'external' | 'none'>('all', 'all', 'all', 'external', 'none'),
  consistentHashing: rarely(),
  hashSlots: fc.constant(251 as const),
  masqueradeAll: fc.boolean(),
  // Other pod interfaces replace the tables.
  podInterfaces: fc.constantFrom([], [], [], ['cali*', 'eth1']),
  // Another bit replaces the tables too.
  masqueradeBit: fc.oneof({ weight: 4, arbitrary: fc.constant(14) }, { weight: 1, arbitrary: fc.constant(3) }),
});

const aName = (name: (number: number) => string): fc.Arbitrary<string> => fc.constantFrom(...numbers).map(name);

export const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ service: anyService }) },
  { weight: 3, arbitrary: fc.record({ withoutService: aName((number) => `s${number}`) }) },
  { weight: 16, arbitrary: fc.record({ slice: anySlice }) },
  {
    weight: 3,
    arbitrary: fc.record({
      withoutSlice: fc
        .tuple(
          aName((number) => `s${number}`),
          fc.constantFrom('4x', '4y', '6x', '6y'),
        )
        .map((parts) => parts.join('-')),
    }),
  },
  { weight: 2, arbitrary: fc.record({ node: anyNode }) },
  { weight: 1, arbitrary: fc.record({ withoutNode: fc.constantFrom(here, 'there') }) },
  { weight: 1, arbitrary: fc.record({ config: anyConfig }) },
  { weight: 1, arbitrary: fc.record({ serviceCIDR: fc.constantFrom(['172.30.0.0/16'], ['fd02::/108', '10.96.0.0/12']) }) },
  { weight: 1, arbitrary: fc.record({ externalIPPolicy: fc.constantFrom([], ['192.0.2.0/24', 'fd09::/64'], ['192.0.2.0/29']) }) },
);
