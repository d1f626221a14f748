import { defined } from '../../src/lang/defined.ts';
import type { Family } from '../../src/net/address.ts';
import type { Protocol } from '../../src/net/frontend.ts';
import type { Random } from '../fuzz/random.ts';
import type { ApiObject } from '../kube-fixture/object.ts';
import { nodeAddresses, podRanges } from './stand.ts';

/** Settings that do not change while one kube-proxy runs. */
export interface Environment {
  /** The node's zone. "": it has none. */
  readonly zone: string;
  /** Prefixes for --nodeport-addresses. Empty: the primary addresses. */
  readonly nodePortAddresses: readonly string[];
  /** The rule by which kube-proxy and Herald recognise pods: the prefixes of all pods, or the link of those on the node. */
  readonly pods: 'prefixes' | 'interface' | 'name of interface' | 'unknown';
  readonly masqueradeAll: boolean;
  /** True: an ExternalIPPolicy allows all external IPs. */
  readonly externalIPsAllowed: boolean;
}

/** Complete objects: there is no API server here that would fill in defaults. */
export interface Objects {
  readonly services: readonly ApiObject[];
  readonly slices: readonly ApiObject[];
}

export const nodeName = 'here';
export const podPrefixes = ['10.128.0.0/9', 'fd01::/48'];
export const servicePrefixes = ['172.30.0.0/24', 'fd02::/112'];
export const slots = [0, 1, 2, 3, 4, 5, 6, 7] as const;
const at = (family: Family, four: string, six: string): string => (family === 4 ? four : six);
export const clusterIP = (family: Family, slot: number): string => at(family, `172.30.0.${10 + slot}`, `fd02::${10 + slot}`);
export const loadBalancerIP = (family: Family, slot: number, index: number): string =>
  at(family, `192.0.2.${1 + slot * 4 + index}`, `fd09::${1 + slot * 4 + index}`);
/** An address that several Services may share, on different ports. */
const sharedIP = (family: Family): string => at(family, '192.0.2.200', 'fd09::200');
const externalIP = (family: Family, slot: number): string => at(family, `192.0.2.${100 + slot}`, `fd09::${100 + slot}`);
/** Clients by prefix, for use in source ranges. */
export const clients = { allowed: { 4: '100.64.0.0/11', 6: 'fd0a:1::/64' }, other: { 4: '100.96.0.0/11', 6: 'fd0a:2::/64' } } as const;
const families: readonly Family[] = [4, 6];

export function randomEnvironment(random: Random): Environment {
  return {
    zone: random.pick(['a', 'a', 'b', '']),
    nodePortAddresses: random.pick([[], [], ['10.99.0.8/32', 'fd99::8/128'], ['10.99.0.0/24', 'fd99::/64'], ['0.0.0.0/0', '::/0']]),
    pods: random.pick(['prefixes', 'prefixes', 'prefixes', 'interface', 'name of interface', 'unknown']),
    masqueradeAll: random.chance(8),
    externalIPsAllowed: !random.chance(8),
  };
}

export function fixedObjects({ zone }: Environment): ApiObject[] {
  const addresses = families.flatMap((family) => nodeAddresses[family].slice(0, 2)).map((address) => ({ type: 'InternalIP', address }));
  return [
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: nodeName, labels: zone === '' ? {} : { 'topology.kubernetes.io/zone': zone } },
      spec: {},
      status: { addresses },
    },
    { apiVersion: 'networking.k8s.io/v1', kind: 'ServiceCIDR', metadata: { name: 'kubernetes' }, spec: { cidrs: servicePrefixes } },
  ];
}

/** Returns the next objects after these. Each Service stays, gets other endpoints, is recreated, or is removed. */
export function nextObjects(random: Random, before: Objects): Objects {
  const services: ApiObject[] = [];
  const slices: ApiObject[] = [];
  for (const slot of slots) {
    const old = before.services.find((service) => slotOf(service) === slot);
    const what = random.below(old === undefined ? 2 : 4);
    const service = old !== undefined && what >= 2 ? old : random.chance(8) ? undefined : randomService(random, slot);
    if (service === undefined) continue;
    services.push(service);
    if (what === 3) slices.push(...before.slices.filter((slice) => slotOf(slice) === slot));
    else slices.push(...randomSlices(random, service, slot));
  }
  return { services, slices };
}

export interface ServicePort {
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  readonly nodePort?: number;
}

export interface ServiceSpec {
  readonly type: string;
  readonly clusterIPs: readonly string[];
  readonly ipFamilies: readonly string[];
  readonly ports: readonly ServicePort[];
  readonly externalIPs?: readonly string[];
  readonly sessionAffinity: string;
}

export function specOf(service: ApiObject): ServiceSpec {
  return service.spec as ServiceSpec;
}

/** Returns the addresses in the status: those that nodes answer for, and those of a load balancer that proxies. */
export function ingressOf(service: ApiObject): { readonly answered: readonly string[]; readonly proxied: readonly string[] } {
  const { loadBalancer } = service['status'] as { loadBalancer: { ingress?: { ip?: string; ipMode?: string }[] } };
  const of = (proxied: boolean): string[] =>
    (loadBalancer.ingress ?? []).flatMap(({ ip, ipMode }) => ((ipMode === 'Proxy') === proxied ? (ip ?? []) : []));
  return { answered: of(false), proxied: of(true) };
}

/** Returns the number of the Service, which is part of the names of its objects. */
export function slotOf({ metadata }: ApiObject): number {
  return Number(/^web(\d)/.exec(metadata.name)?.[1]);
}

function randomService(random: Random, slot: number): ApiObject {
  const own = random.pick<readonly Family[]>([[4], [6], [4, 6], [4, 6], [6, 4]]);
  const type = random.pick(['ClusterIP', 'NodePort', 'LoadBalancer', 'LoadBalancer', 'LoadBalancer']);
  const balanced = type === 'LoadBalancer';
  const nodePorts = type === 'NodePort' || (balanced && !random.chance(4));
  const externalIPs = random.chance(3) ? randomExternalIPs(random, slot) : [];
  const external = type !== 'ClusterIP' || externalIPs.length > 0;
  const externalTrafficPolicy = random.pick(['Cluster', 'Local']);
  const affinity = random.chance(4);
  return {
    apiVersion: 'v1',
    kind: 'Service',
    // The families of a Service cannot change, so a Service with other families has another name.
    metadata: {
      name: `web${slot}-${own.join('')}`,
      namespace: 'default',
      labels: random.chance(12) ? { 'service.kubernetes.io/service-proxy-name': 'somebody' } : {},
    },
    spec: {
      type,
      clusterIP: clusterIP(own[0] ?? 4, slot),
      clusterIPs: own.map((family) => clusterIP(family, slot)),
      ipFamilies: own.map((family) => `IPv${family}`),
      ipFamilyPolicy: own.length === 2 ? 'RequireDualStack' : 'SingleStack',
      ports: randomPorts(random, slot, nodePorts),
      internalTrafficPolicy: random.pick(['Cluster', 'Cluster', 'Local']),
      ...(external ? { externalTrafficPolicy } : {}),
      ...(externalIPs.length > 0 ? { externalIPs } : {}),
      ...(balanced ? { allocateLoadBalancerNodePorts: nodePorts } : {}),
      ...(balanced && externalTrafficPolicy === 'Local' ? { healthCheckNodePort: 32_000 + slot } : {}),
      ...(balanced && random.chance(2) ? { loadBalancerSourceRanges: randomRanges(random) } : {}),
      sessionAffinity: affinity ? 'ClientIP' : 'None',
      ...(affinity ? { sessionAffinityConfig: { clientIP: { timeoutSeconds: random.pick([60, 120, 300]) } } } : {}),
    },
    status: { loadBalancer: balanced ? { ingress: randomIngress(random, slot, own) } : {} },
  };
}

function randomPorts(random: Random, slot: number, nodePorts: boolean): object[] {
  const count = random.pick([1, 1, 2, 3]);
  return Array.from({ length: count }, (_, index) => {
    // The third port has the number of the first, with another protocol.
    const port = 1_000 + slot * 10 + (index % 2);
    const protocol = random.pick<Protocol>(index === 2 ? ['SCTP'] : ['TCP', 'TCP', 'UDP']);
    return {
      name: count === 1 ? '' : `p${index}`,
      protocol,
      port,
      targetPort: 8_080,
      ...(nodePorts ? { nodePort: 30_000 + slot * 10 + index } : {}),
    };
  });
}

function randomExternalIPs(random: Random, slot: number): string[] {
  return [
    ...new Set(
      families.flatMap((family) =>
        random.pick([
          [],
          [externalIP(family, slot)],
          [externalIP(family, slot), loadBalancerIP(family, slot, 0)],
          [nodeAddresses[family][1]],
          [nodeAddresses[family][0]],
        ]),
      ),
    ),
  ];
}

function randomRanges(random: Random): string[] {
  return families.flatMap((family) =>
    random.pick([
      [],
      [clients.allowed[family]],
      [podRanges[family]],
      [clients.allowed[family], at(family, '10.99.0.1/32', 'fd99::1/128')],
      [at(family, '10.99.0.8/32', 'fd99::8/128')],
      [at(family, ' 10.99.0.0/24', 'fd99::/64 ')],
      [clients.allowed[family], at(family, '0.0.0.0/0', '::/0')],
      // One range inside the other.
      [clients.allowed[family], at(family, '100.64.0.0/16', 'fd0a:1::/96')],
    ]),
  );
}

function randomIngress(random: Random, slot: number, own: readonly Family[]): object[] {
  if (random.chance(12)) return [{ hostname: 'lb.example.com' }];
  const mode = (): object => random.pick([{}, { ipMode: 'VIP' }, { ipMode: 'VIP' }, { ipMode: 'VIP' }, { ipMode: 'Proxy' }]);
  // A range of a family that the Service does not have is ignored.
  const ofFamilies = random.chance(8) ? families : own;
  return ofFamilies.flatMap((family) =>
    random
      .pick([[], [loadBalancerIP(family, slot, 0)], [loadBalancerIP(family, slot, 0), loadBalancerIP(family, slot, 1)], [sharedIP(family)]])
      .map((ip) => ({ ip, ...mode() })),
  );
}

interface Place {
  readonly address: string;
  readonly nodeName?: string;
}

function endpointPlaces(family: Family): Place[] {
  const numbers = [11, 12, 13];
  return [
    ...numbers.map((number) => ({ address: at(family, `10.160.0.${number}`, `fd01:0:0:1::${number}`), nodeName })),
    ...numbers.map((number) => ({ address: at(family, `10.192.0.${number}`, `fd01:0:0:2::${number}`), nodeName: 'there' })),
    // Host network pods, and an address outside the cluster.
    { address: nodeAddresses[family][0], nodeName },
    { address: at(family, '10.99.0.9', 'fd99::9'), nodeName: 'there' },
    { address: at(family, '203.0.113.7', 'fd0b::7') },
  ];
}

function randomSlices(random: Random, service: ApiObject, slot: number): ApiObject[] {
  const { ipFamilies, ports } = specOf(service);
  return ipFamilies.flatMap((addressType) => {
    const family: Family = addressType === 'IPv4' ? 4 : 6;
    const count = random.pick([0, 1, 1, 1, 2]);
    // A controller sets hints on all endpoints or on none. A missing hint means that the controller has not finished.
    const hinted = random.chance(2);
    const conditionsOf = new Map<string, Conditions>();
    return Array.from({ length: count }, (_, index): ApiObject => {
      const places = endpointPlaces(family).filter(() => random.chance(random.pick([2, 3, 6])));
      return {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          name: `${service.metadata.name}-${family}${index}`,
          namespace: 'default',
          labels: {
            'kubernetes.io/service-name': service.metadata.name,
            ...(random.chance(20) ? { 'service.kubernetes.io/headless': '' } : {}),
          },
        },
        addressType,
        // A named target port may have another number in each slice.
        ports: ports.map(({ name, protocol }) => ({
          name,
          protocol,
          port: index === 0 ? 8_080 + slot : random.pick([8_080 + slot, 9_090]),
        })),
        endpoints: places.map(({ address, nodeName: on }) => {
          const conditions = randomConditions(random, conditionsOf.get(address));
          conditionsOf.set(address, conditions);
          const placed = { addresses: [address], conditions, ...defined({ nodeName: on }) };
          return { ...placed, ...(hinted && !random.chance(12) ? { hints: randomHints(random) } : {}) };
        }),
      };
    });
  });
}

interface Conditions {
  readonly ready?: boolean;
  readonly serving?: boolean;
  readonly terminating?: boolean;
}

const lasting: readonly Conditions[] = [
  {},
  { ready: true },
  { ready: true, serving: true, terminating: false },
  { ready: true, serving: true, terminating: false },
  { ready: false, serving: false, terminating: false },
  { ready: false, serving: true, terminating: false },
  { ready: false },
];
const ending: readonly Conditions[] = [
  { ready: false, serving: true, terminating: true },
  { ready: false, serving: true, terminating: true },
  { ready: false, serving: false, terminating: true },
  { ready: false, terminating: true },
  { terminating: true },
  // publishNotReadyAddresses.
  { ready: true, serving: true, terminating: true },
];

/**
 * For an endpoint that is in another slice too, one entry terminates and the other does not: the result for two equal states is not
 * defined.
 */
function randomConditions(random: Random, before: Conditions | undefined): Conditions {
  if (before !== undefined) return random.pick(before.terminating === true ? lasting : ending);
  return random.pick([...lasting, ...lasting, ...ending]);
}

function randomHints(random: Random): object {
  const zones = { forZones: random.pick([[{ name: 'a' }], [{ name: 'b' }], [{ name: 'a' }, { name: 'b' }], []]) };
  const nodes = { forNodes: random.pick([[{ name: nodeName }], [{ name: 'there' }]]) };
  return random.pick([zones, zones, { ...zones, ...nodes }]);
}
