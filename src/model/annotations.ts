import { loadBalancings } from './objects/load-balancing.ts';

/** One annotation that Herald reads, as shown in docs/reference/annotations.md. */
export interface AnnotationEntry {
  readonly name: string;
  readonly on: 'Service' | 'EndpointSlice' | 'Node';
  readonly values: string;
  readonly example: string;
  /** The default without the annotation. */
  readonly unset: string;
  /** Markdown sentences. Links are relative to docs/reference. */
  readonly meaning: string;
}

const onOff = '"true" or "false"';

/** Every annotation that Herald reads, except those that a provider reads itself. */
export const annotationTable = {
  addressPool: {
    name: 'herald.dev/address-pool',
    on: 'Service',
    values: 'the name of an IPAddressPool',
    example: 'public',
    unset: 'any pool with `autoAssign: true`',
    meaning: 'The pool that assigns the addresses. It may have `autoAssign: false`.',
  },
  loadBalancerIPs: {
    name: 'herald.dev/load-balancer-ips',
    on: 'Service',
    values: 'addresses, separated by commas, at most 16',
    example: '192.0.2.7,2001:db8::7',
    unset: 'one address of each family that the Service asks for',
    meaning:
      'Requested addresses. The Service gets all of them; while one is not available it keeps its present addresses. To renumber, add the new address and remove the old one when no client uses it any more: both are announced meanwhile. Not together with `spec.loadBalancerIP`.',
  },
  allowSharedIP: {
    name: 'herald.dev/allow-shared-ip',
    on: 'Service',
    values: 'any text',
    example: 'dns',
    unset: 'the address is not shared',
    meaning:
      'Services of one namespace with the same text may share an address if their ports differ and their externalTrafficPolicy is the same. With policy Local their selectors must also be the same, and not empty.',
  },
  allowSharedIPNamespaces: {
    name: 'herald.dev/allow-shared-ip-namespaces',
    on: 'Service',
    values: 'names of namespaces, separated by commas, or *',
    example: 'dns,monitoring',
    unset: 'its own namespace',
    meaning:
      "Other namespaces whose Services may share the address; `*` means all. Both Services must admit the other's namespace. A namespace that is not admitted cannot join an address even if it knows the key.",
  },
  keepAddresses: {
    name: 'herald.dev/keep-addresses',
    on: 'Service',
    values: onOff,
    example: 'true',
    unset: 'false',
    meaning:
      'The Service keeps its present addresses beside those that it requests, and they are announced, until the annotation is removed. For [renumbering](../explanation/addresses.md#renumbering); at most 16 addresses.',
  },
  hostname: {
    name: 'herald.dev/hostname',
    on: 'Service',
    values: 'a DNS name',
    example: 'web.example.com',
    unset: 'none',
    meaning:
      'A host name for the addresses. It is written as `hostname` beside every `ip` in `status.loadBalancer.ingress`; the addresses stay, because nodes and kube-proxy use them. It creates no DNS record. external-dns takes the name of a record from its own annotation, `external-dns.alpha.kubernetes.io/hostname`, and everything in the status as targets: if it should publish the addresses, do not set this annotation.',
  },
  drain: {
    name: 'herald.dev/drain',
    on: 'Service',
    values: onOff,
    example: 'true',
    unset: 'false',
    meaning:
      'No node announces the addresses of the Service, but it keeps them ([ServiceDrained](reasons.md)). Its rules stay, so connections that still arrive are forwarded. A shared address is still announced for the other Services, and an aggregate for the other addresses in it.',
  },
  advertiseClusterIP: {
    name: 'herald.dev/advertise-cluster-ip',
    on: 'Service',
    values: onOff,
    example: 'false',
    unset: '`advertiseClusterIPs` of HeraldConfig',
    meaning:
      'Whether the ClusterIPs of the Service are announced if a BGPAdvertisement covers them ([AdvertisingOff](reasons.md)). "true" does not create an advertisement: the administrator decides which addresses are announced to which peers.',
  },
  advertiseExternalIPs: {
    name: 'herald.dev/advertise-external-ips',
    on: 'Service',
    values: onOff,
    example: 'false',
    unset: '`advertiseExternalIPs` of HeraldConfig',
    meaning: 'The same for `spec.externalIPs`, which also need an ExternalIPPolicy.',
  },
  loadBalancing: {
    name: 'herald.dev/load-balancing',
    on: 'Service',
    values: `${loadBalancings.join(', ')}; or a short name of IPVS`,
    example: 'round-robin',
    unset: '`loadBalancing` and `consistentHashing` of HeraldConfig',
    meaning:
      'How an endpoint is chosen for a new connection, at every address and NodePort of the Service. [Load balancing](../explanation/load-balancing.md) explains the values.',
  },
  hashSlots: {
    name: 'herald.dev/hash-slots',
    on: 'Service',
    values: '251, 1021, 4093, 16381',
    example: '4093',
    unset: '`hashSlots` of HeraldConfig',
    meaning:
      'Number of slots for the hashes of `herald.dev/load-balancing`. When there are more than a quarter as many endpoints, the next larger number is used.',
  },
  directReturn: {
    name: 'herald.dev/direct-return',
    on: 'Service',
    values: onOff,
    example: 'true',
    unset: '`directReturn` of HeraldConfig',
    meaning:
      "With consistent hashing, pods see the client's address and answer it directly from their node, even under policy Cluster, see [direct server return](../explanation/direct-return.md).",
  },
  icmpEcho: {
    name: 'herald.dev/icmp-echo',
    on: 'Service',
    values: onOff,
    example: 'true',
    unset: '`icmpEcho` of HeraldConfig',
    meaning: 'Whether the addresses answer ICMP echo requests (ping) while they have a backend.',
  },
  resetOnRemoval: {
    name: 'herald.dev/reset-on-removal',
    on: 'Service',
    values: onOff,
    example: 'true',
    unset: 'false',
    meaning:
      'A TCP connection to an endpoint that is removed or no longer serves is reset when its client sends data. Without the annotation such connections continue until either side ends them.',
  },
  weight: {
    name: 'herald.dev/weight',
    on: 'EndpointSlice',
    values: '1 to 100',
    example: '10',
    unset: '1',
    meaning:
      'The share of each endpoint of the slice relative to others, under the weighted kinds and the hashes of `herald.dev/load-balancing`, and in `linkBandwidth` of BGPAdvertisements ([weighted ECMP](../how-to/weighted-ecmp.md)).',
  },
  nodeDrain: {
    name: 'herald.dev/drain',
    on: 'Node',
    values: '"true", "force" or "false"',
    example: 'true',
    unset: 'false',
    meaning:
      'The routes of the node are withdrawn without losing connections, see [draining a node](../how-to/drain.md). They first get the community GRACEFUL_SHUTDOWN (RFC 8326) and are withdrawn after `nodeDrain.settleSeconds` of HeraldConfig. "true" keeps the routes of a Service that no other node announces ([LastNextHop](reasons.md)); "force" does not. `kubectl cordon` alone changes nothing.',
  },
} as const satisfies Readonly<Record<string, AnnotationEntry>>;

type Table = typeof annotationTable;

/** The names of the annotations, by key. */
export const annotations = Object.fromEntries(Object.entries(annotationTable).map(([key, { name }]) => [key, name])) as {
  readonly [K in keyof Table]: Table[K]['name'];
};

export const labels = {
  /** Another proxy forwards the Service. */
  serviceProxyName: 'service.kubernetes.io/service-proxy-name',
  /** The Service that an EndpointSlice belongs to. */
  serviceName: 'kubernetes.io/service-name',
  /** The controller that maintains an EndpointSlice. */
  managedBy: 'endpointslice.kubernetes.io/managed-by',
  /** The slice belongs to a headless Service, whose clients reach the endpoints themselves. */
  headless: 'service.kubernetes.io/headless',
  /** "true" on Endpoints that must not be mirrored into slices. */
  skipMirror: 'endpointslice.kubernetes.io/skip-mirror',
  /** The API server sets it on every Namespace to the Namespace's name. */
  namespaceName: 'kubernetes.io/metadata.name',
} as const;

/** Annotation of an EndpointSlice: when the change of a Pod or Service happened that its present endpoints follow from, RFC 3339. */
export const lastChangeTrigger = 'endpoints.kubernetes.io/last-change-trigger-time';

/** Prefix of Herald's annotations. An unknown annotation with it is reported as a warning. */
export const annotationPrefix = 'herald.dev/';

/** Value of `labels.managedBy` on slices that Herald mirrored from core/v1 Endpoints. */
export const mirrorManager = 'mirror.herald.dev';
