import { defined } from '../../../src/lang/defined.ts';
import { defaultConfig } from '../../../src/model/kinds/default-config.ts';
import { address, type Family } from '../../../src/net/address.ts';
import type { Protocol } from '../../../src/net/frontend.ts';
import { prefix } from '../../../src/net/prefix.ts';
import { parseRange } from '../../../src/net/range.ts';
import type { Namespace, Node, Secret, ServiceCIDR } from '../../../src/model/objects/cluster.ts';
import type {
  BGPAdvertisement,
  BFDProfile,
  BGPPeer,
  Community,
  ExternalIPPolicy,
  HeraldConfig,
  IPAddressPool,
  L2Advertisement,
} from '../../../src/model/kinds/types.ts';
import type { Endpoint, EndpointSlice } from '../../../src/model/objects/endpoint-slice.ts';
import { serviceKey, type Labels, type Metadata, type NamespacedName, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { HeldBackFamily, NodeDrainReport, NodeState } from '../../../src/model/objects/node-state.ts';
import type { LabelSelector } from '../../../src/model/objects/label-selector.ts';
import type { Service, ServicePort } from '../../../src/model/objects/service.ts';
import { addressLookups } from '../../../src/model/store/address-index.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { version } from '../../../src/model/objects/version.ts';

/** Builds model objects from small literals: addresses are text, and absent fields have the defaults of the API. */

type Overrides<T> = Partial<Omit<T, 'kind' | 'metadata'>>;

export function metadata(name: string, namespace = '', labels: Labels = {}): Metadata {
  return {
    namespace,
    name,
    uid: `${namespace}/${name}`,
    resourceVersion: '1',
    labels,
    annotations: {},
    creationTimestamp: '',
    deleting: false,
  };
}

export const matching = (matchLabels: Labels): LabelSelector => ({ matchLabels, matchExpressions: [] });

export interface ServiceLiteral extends Overrides<
  Omit<Service, 'clusterIPs' | 'ports' | 'externalIPs' | 'requestedAddresses' | 'loadBalancerSourceRanges' | 'ingress'>
> {
  /** "namespace/name", or a name in namespace default. */
  readonly name: string;
  readonly labels?: Labels;
  readonly clusterIPs?: readonly string[];
  /** "80", "443/TCP", "dns:53/UDP" or "http:80/TCP@30080", where the last number is the nodePort. */
  readonly ports?: readonly string[];
  readonly externalIPs?: readonly string[];
  readonly requested?: readonly string[];
  readonly sourceRanges?: readonly string[];
  /** Recorded addresses: "192.0.2.1", or "192.0.2.1 Proxy" with its ipMode. */
  readonly assigned?: readonly string[];
  readonly ingress?: Service['ingress'];
}

export function service(literal: ServiceLiteral): Service {
  const { name, labels, clusterIPs, ports, externalIPs, requested, sourceRanges, assigned, ingress, ...rest } = literal;
  const addresses = (clusterIPs ?? ['10.96.0.1']).map(address);
  return {
    kind: 'Service',
    metadata: { ...metadata(named(name).name, named(name).namespace, labels) },
    type: 'LoadBalancer',
    headless: false,
    clusterIPs: addresses,
    ipFamilies: addresses.map(({ family }) => family),
    ipFamilyPolicy: addresses.length > 1 ? 'PreferDualStack' : 'SingleStack',
    ports: (ports ?? ['80']).map(servicePort),
    hasSelector: true,
    selectorText: 'app=web',
    externalIPs: (externalIPs ?? []).map(address),
    externalTrafficPolicy: 'Cluster',
    internalTrafficPolicy: 'Cluster',
    sharingNamespaces: [],
    keepsAddresses: false,
    requestedAddresses: (requested ?? []).map(address),
    loadBalancerSourceRanges: (sourceRanges ?? []).map(prefix),
    allocateLoadBalancerNodePorts: true,
    healthCheckNodePort: 0,
    ingress: ingress ?? (assigned ?? []).map(ingressOf),
    ...rest,
  };
}

function ingressOf(text: string): Service['ingress'][number] {
  const [at = '', mode] = text.split(' ');
  return { address: address(at), ipMode: mode === 'Proxy' ? 'Proxy' : 'VIP' };
}

/**
 * Parses an endpoint: "address", then any of "@node", "notready", "terminating" (no longer serves), "draining" (terminating and serving),
 * "zone=a,b" and "nodes=n1".
 */
export function endpoint(text: string): Endpoint {
  const [at = '', ...words] = text.split(' ');
  const [ip = '', nodeName] = at.split('@');
  const list = (name: string): string[] => {
    const word = words.find((word) => word.startsWith(`${name}=`));
    return word === undefined ? [] : word.slice(name.length + 1).split(',');
  };
  const terminating = words.includes('terminating') || words.includes('draining');
  const ready = !terminating && !words.includes('notready');
  return {
    address: address(ip),
    ready,
    serving: ready || words.includes('draining'),
    terminating,
    ...defined({ nodeName }),
    hintZones: list('zone'),
    hintNodes: list('nodes'),
  };
}

export interface SliceLiteral {
  readonly service: string;
  /** "8080" or "http:8080/TCP", with the port names of the Service. */
  readonly ports?: readonly string[];
  /** See `endpoint`. All are of the slice's family. */
  readonly endpoints: readonly string[];
  readonly name?: string;
  readonly labels?: Labels;
  readonly family?: Family;
  readonly weight?: number;
}

export function slice(literal: SliceLiteral): EndpointSlice {
  const endpoints = literal.endpoints.map(endpoint);
  const { namespace, name } = named(literal.service);
  return {
    kind: 'EndpointSlice',
    metadata: metadata(literal.name ?? `${name}-1`, namespace, literal.labels),
    service: serviceKey({ namespace, name }),
    family: literal.family ?? endpoints[0]?.address.family ?? 4,
    ports: (literal.ports ?? ['8080']).map((text) => {
      const { name, protocol, port } = servicePort(text);
      return { name, protocol, port };
    }),
    endpoints,
    ...defined({ weight: literal.weight }),
  };
}

export interface PoolLiteral extends Overrides<Omit<IPAddressPool, 'addresses' | 'serviceAllocation' | 'reservations'>> {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly labels?: Labels;
  readonly serviceAllocation?: Partial<NonNullable<IPAddressPool['serviceAllocation']>>;
  /** Maps addresses to Services. */
  readonly reserved?: Readonly<Record<string, ServiceKey>>;
}

export function pool({ name, addresses, labels, serviceAllocation, reserved = {}, ...rest }: PoolLiteral): IPAddressPool {
  return {
    kind: 'IPAddressPool',
    metadata: metadata(name, '', labels),
    addresses: addresses.map((text) => {
      const range = parseRange(text);
      if (!range.ok) throw new RangeError(`${text}: ${range.problem}`);
      return range.value;
    }),
    autoAssign: true,
    avoidBuggyIPs: false,
    draining: false,
    reservations: Object.entries(reserved).map(([at, service]) => ({ address: address(at), service })),
    keepReleasedSeconds: 0,
    quota: [],
    ...(serviceAllocation === undefined
      ? {}
      : { serviceAllocation: { priority: 0, namespaces: [], namespaceSelectors: [], serviceSelectors: [], ...serviceAllocation } }),
    ...rest,
  };
}

export interface PeerLiteral extends Overrides<Omit<BGPPeer, 'peerAddress' | 'routerID'>> {
  readonly name: string;
  readonly peerAddress?: string;
  readonly routerID?: string;
}

export interface BfdProfileLiteral extends Overrides<BFDProfile> {
  readonly name: string;
}

export function bfdProfile({ name, ...rest }: BfdProfileLiteral): BFDProfile {
  const defaults = {
    receiveInterval: 300,
    transmitInterval: 300,
    detectMultiplier: 3,
    echoInterval: 50,
    echoMode: false,
    passiveMode: false,
  };
  return { kind: 'BFDProfile', metadata: metadata(name), ...defaults, minimumTtl: 254, ...rest };
}

export function peer({ name, peerAddress, routerID, ...rest }: PeerLiteral): BGPPeer {
  return {
    kind: 'BGPPeer',
    metadata: metadata(name),
    myASN: 64512,
    ...(rest.dynamicASN === undefined ? { peerASN: 64513 } : {}),
    ...(peerAddress === undefined && rest.interface !== undefined ? {} : { peerAddress: address(peerAddress ?? '10.0.0.254') }),
    peerPort: 179,
    holdTimeSeconds: 90,
    keepaliveTimeSeconds: 30,
    nodeSelectors: [],
    ebgpMultiHop: false,
    enableGracefulRestart: false,
    dualStackAddressFamily: false,
    passive: false,
    flapDamping: true,
    adminDown: false,
    bfdStrict: false,
    ...(routerID === undefined ? {} : { routerID: address(routerID) }),
    ...rest,
  };
}

export function advertisement({ name, ...rest }: { readonly name: string } & Overrides<BGPAdvertisement>): BGPAdvertisement {
  return {
    kind: 'BGPAdvertisement',
    metadata: metadata(name),
    addressTypes: ['LoadBalancer'],
    ipAddressPools: [],
    ipAddressPoolSelectors: [],
    aggregationLength: 32,
    aggregationLengthV6: 128,
    localPref: 0,
    asPathPrepend: 0,
    communities: [],
    nodeSelectors: [],
    serviceSelectors: [],
    peers: [],
    ...rest,
  };
}

export function l2Advertisement({ name, ...rest }: { readonly name: string } & Overrides<L2Advertisement>): L2Advertisement {
  return {
    kind: 'L2Advertisement',
    metadata: metadata(name),
    ipAddressPools: [],
    ipAddressPoolSelectors: [],
    nodeSelectors: [],
    interfaces: [],
    serviceSelectors: [],
    preferredNodeSelectors: [],
    onConflict: 'defend',
    failback: 'immediate',
    failbackSeconds: 300,
    refreshInterval: 60,
    promiscuous: false,
    ...rest,
  };
}

export interface NodeLiteral {
  readonly name: string;
  readonly labels?: Labels;
  readonly internalIPs?: readonly string[];
  readonly externalIPs?: readonly string[];
  readonly podCIDRs?: readonly string[];
  readonly networkUnavailable?: boolean;
  readonly toBeDeleted?: boolean;
  readonly drain?: NonNullable<Node['drain']>;
  readonly taints?: readonly string[];
}

export function node(literal: NodeLiteral): Node {
  const { name, labels, internalIPs, externalIPs, podCIDRs, networkUnavailable, toBeDeleted, drain, taints } = literal;
  return {
    kind: 'Node',
    metadata: metadata(name, '', labels),
    internalIPs: (internalIPs ?? ['10.0.0.1']).map(address),
    podCIDRs: (podCIDRs ?? []).map(prefix),
    networkUnavailable: networkUnavailable ?? false,
    ready: true,
    toBeDeleted: toBeDeleted ?? false,
    ...defined({ drain, taints, externalIPs: externalIPs?.map(address) }),
  };
}

export interface SecretLiteral {
  readonly name: string;
  readonly type?: string;
  readonly password?: string;
}

function secret({ name, type, password }: SecretLiteral): Secret {
  const of = named(name);
  const base = { kind: 'Secret', metadata: metadata(of.name, of.namespace), type: type ?? 'kubernetes.io/basic-auth' } as const;
  return password === undefined ? base : { ...base, password };
}

function drainOf({ drains }: ClusterLiteral, name: string): Pick<NodeState, 'drain'> {
  const drain = drains?.[name];
  return drain === undefined ? {} : { drain };
}

function claimsOf({ claims }: ClusterLiteral, node: string): Pick<NodeState, 'claims'> {
  const found = Object.entries(claims?.[node] ?? {}).map(([address, number]) => ({ address, number }));
  return found.length === 0 ? {} : { claims: found };
}

function linksOf({ links }: ClusterLiteral, node: string): Pick<NodeState, 'links'> {
  const found = Object.entries(links?.[node] ?? {}).map(([name, networks]) => ({
    name,
    linkAddress: '02:00:00:00:00:01',
    networks: networks.map(prefix),
    addresses: [],
  }));
  return links?.[node] === undefined ? {} : { links: found };
}

function reportingNodes({ running, links, interfaces, routers }: ClusterLiteral): string[] {
  return [...new Set([running, links, interfaces, routers].flatMap((reports) => Object.keys(reports ?? {})))];
}

function addressesOf({ interfaces, routers }: ClusterLiteral, node: string): Pick<NodeState, 'interfaces' | 'routers'> {
  const found = Object.entries(interfaces?.[node] ?? {}).map(([name, addresses]) => ({
    name,
    addresses: addresses.map((text) => {
      const [at = '', length = ''] = text.split('/');
      return { address: address(at), length: Number(length) };
    }),
  }));
  return {
    ...(found.length === 0 ? {} : { interfaces: found }),
    ...defined({ routers: routers?.[node]?.map(address) }),
  };
}

function truncationOf({ truncatedReports = [] }: ClusterLiteral, name: string): Pick<NodeState, 'truncated'> {
  return truncatedReports.includes(name) ? { truncated: true } : {};
}

function nodeState(name: string, sessions: Readonly<Record<string, string>>): NodeState {
  const established = { state: 'Established', since: '2026-01-01T00:00:00Z', localASN: 64512, peerASN: 64513, prefixesSent: 0 } as const;
  const list = Object.entries(sessions).map(([peer, place]) => {
    const [address = '', networkInterface] = place.split('%');
    return { peer, address, ...defined({ interface: networkInterface }), ...established };
  });
  return {
    kind: 'NodeState',
    metadata: metadata(name),
    updated: '2026-01-01T00:00:00Z',
    version,
    consumed: {},
    sessions: list,
    differing: [],
  };
}

export interface ClusterLiteral {
  readonly services?: readonly ServiceLiteral[];
  readonly slices?: readonly SliceLiteral[];
  readonly pools?: readonly PoolLiteral[];
  readonly peers?: readonly PeerLiteral[];
  readonly bfdProfiles?: readonly BfdProfileLiteral[];
  readonly advertisements?: readonly Parameters<typeof advertisement>[0][];
  readonly l2Advertisements?: readonly Parameters<typeof l2Advertisement>[0][];
  readonly nodes?: readonly NodeLiteral[];
  /** Labels by namespace. */
  readonly namespaces?: Readonly<Record<string, Labels>>;
  /** CIDRs by name of the ServiceCIDR object. */
  readonly serviceCIDRs?: Readonly<Record<string, readonly string[]>>;
  readonly communities?: Readonly<Record<string, string>>;
  readonly secrets?: readonly SecretLiteral[];
  /** Established sessions that nodes report: node to peer to address. */
  readonly running?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Links that nodes report: node to interface to its networks. */
  readonly links?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  /** Addresses of interfaces that nodes report: node to interface to "192.0.2.11/24". */
  readonly interfaces?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  /** Routers that nodes report, by node. */
  readonly routers?: Readonly<Record<string, readonly string[]>>;
  /** Claims of addresses that nodes report: node to address to number. */
  readonly claims?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Drain reports by node. */
  readonly drains?: Readonly<Record<string, NodeDrainReport>>;
  /** The address families that agents report as held back, by node. */
  readonly heldBack?: Readonly<Record<string, readonly HeldBackFamily[]>>;
  /** Nodes with a truncated report, which does not list all Services that differ. */
  readonly truncatedReports?: readonly string[];
  readonly externalIPPolicies?: readonly { readonly cidrs: readonly string[]; readonly namespaceSelector?: LabelSelector }[];
  readonly config?: Overrides<Omit<HeraldConfig, 'podCIDRs' | 'serviceCIDRs' | 'nodePortAddresses'>> & {
    readonly nodePortAddresses?: readonly string[];
    readonly podCIDRs?: readonly string[];
    readonly serviceCIDRs?: readonly string[];
  };
}

export function config({ podCIDRs, serviceCIDRs, nodePortAddresses, ...rest }: NonNullable<ClusterLiteral['config']> = {}): HeraldConfig {
  return {
    ...defaultConfig,
    metadata: metadata('default'),
    podCIDRs: (podCIDRs ?? []).map(prefix),
    serviceCIDRs: (serviceCIDRs ?? []).map(prefix),
    nodePortAddresses: (nodePortAddresses ?? []).map(prefix),
    hashSlots: 251,
    drainSeconds: 5,
    ...rest,
  };
}

export function cluster(literal: ClusterLiteral): Snapshot {
  const slices = Map.groupBy((literal.slices ?? []).map(slice), (slice) => slice.service ?? '');
  const byName = <T extends { readonly metadata: Metadata }>(objects: readonly T[]): Map<string, T> =>
    new Map(objects.map((object) => [object.metadata.name, object]));
  const byNamespacedName = <T extends { readonly metadata: Metadata }>(objects: readonly T[]): Map<ServiceKey, T> =>
    new Map(objects.map((object) => [serviceKey(object.metadata), object]));
  const services = byNamespacedName((literal.services ?? []).map(service));
  return {
    services,
    ...addressLookups(services),
    endpointSlices: (key) => slices.get(key) ?? [],
    nodes: byName((literal.nodes ?? []).map(node)),
    namespaces: byName(
      Object.entries(literal.namespaces ?? {}).map(([name, labels]): Namespace => ({
        kind: 'Namespace',
        metadata: metadata(name, '', labels),
      })),
    ),
    serviceCIDRs: byName(
      Object.entries(literal.serviceCIDRs ?? {}).map(([name, cidrs]): ServiceCIDR => {
        return { kind: 'ServiceCIDR', metadata: metadata(name), cidrs: cidrs.map(prefix) };
      }),
    ),
    secrets: byNamespacedName((literal.secrets ?? []).map(secret)),
    pools: byName((literal.pools ?? []).map(pool)),
    peers: byName((literal.peers ?? []).map(peer)),
    bfdProfiles: byName((literal.bfdProfiles ?? []).map(bfdProfile)),
    advertisements: byName((literal.advertisements ?? []).map(advertisement)),
    l2Advertisements: byName((literal.l2Advertisements ?? []).map(l2Advertisement)),
    communities: byName([
      {
        kind: 'Community',
        metadata: metadata('all'),
        communities: Object.entries(literal.communities ?? {}).map(([name, value]) => ({ name, value })),
      } satisfies Community,
    ]),
    externalIPPolicies: byName(
      (literal.externalIPPolicies ?? []).map(({ cidrs, namespaceSelector }, index): ExternalIPPolicy => ({
        kind: 'ExternalIPPolicy',
        metadata: metadata(`policy-${index}`),
        namespaceSelector: namespaceSelector ?? matching({}),
        cidrs: cidrs.map(prefix),
      })),
    ),
    nodeStates: byName(
      reportingNodes(literal).map((name) => ({
        ...nodeState(name, literal.running?.[name] ?? {}),
        ...linksOf(literal, name),
        ...addressesOf(literal, name),
        ...claimsOf(literal, name),
        ...drainOf(literal, name),
        ...truncationOf(literal, name),
        ...defined({ heldBack: literal.heldBack?.[name] }),
      })),
    ),
    config: config(literal.config),
  };
}

function servicePort(text: string): ServicePort {
  const match = /^(?:(?<name>[a-z-]*):)?(?<port>\d+)(?:\/(?<protocol>TCP|UDP|SCTP))?(?:@(?<nodePort>\d+))?$/.exec(text)?.groups;
  if (match === undefined) throw new RangeError(`not a port: ${text}`);
  const port = Number(match['port']);
  const protocol = (match['protocol'] ?? 'TCP') as Protocol;
  return { name: match['name'] ?? '', protocol, port, nodePort: Number(match['nodePort'] ?? 0), targetPort: port };
}

function named(text: string): NamespacedName {
  const slash = text.indexOf('/');
  return slash < 0 ? { namespace: 'default', name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}
