/** One annotation that Herald reads, as docs/reference/annotations.md tells it. */
export interface AnnotationEntry {
  readonly name: string;
  readonly on: 'Service' | 'EndpointSlice' | 'Node';
  readonly values: string;
  readonly example: string;
  /** What holds without it. */
  readonly unset: string;
  /** Sentences in Markdown; links are relative to docs/reference. */
  readonly meaning: string;
}

const onOff = '"true" or "false"';

/** Every annotation that Herald reads, but for those of the AWS provider: the whole table, with what each means. */
export const annotationTable = {
  addressPool: {
    name: 'herald.dev/address-pool',
    on: 'Service',
    values: 'the name of an IPAddressPool',
    example: 'public',
    unset: 'any pool that may give addresses by itself',
    meaning: 'The pool that shall give the addresses; it may have `autoAssign: false`.',
  },
  loadBalancerIPs: {
    name: 'herald.dev/load-balancer-ips',
    on: 'Service',
    values: 'addresses, separated by commas, at most 16',
    example: '192.0.2.7,2001:db8::7',
    unset: 'one address of each family that the Service asks for',
    meaning:
      'Requested addresses: the Service has all of them or, while one is not to be had, what it had before. To renumber, add the new address, and remove the old one when nobody uses it any more: both are announced meanwhile. Not beside `spec.loadBalancerIP`.',
  },
  allowSharedIP: {
    name: 'herald.dev/allow-shared-ip',
    on: 'Service',
    values: 'any text',
    example: 'dns',
    unset: 'the address is shared with nobody',
    meaning:
      'Services of one namespace with the same text may share an address where their ports differ, their externalTrafficPolicy is the same and, with policy Local, their selector too, which must not be empty.',
  },
  allowSharedIPNamespaces: {
    name: 'herald.dev/allow-shared-ip-namespaces',
    on: 'Service',
    values: 'names of namespaces, separated by commas, or *',
    example: 'dns,monitoring',
    unset: 'its own namespace',
    meaning:
      "Other namespaces whose Services may share with this one as well; `*`: all. Both Services must admit the other's namespace. A namespace that is not admitted cannot join an address by knowing the key.",
  },
  keepAddresses: {
    name: 'herald.dev/keep-addresses',
    on: 'Service',
    values: onOff,
    example: 'true',
    unset: 'false',
    meaning:
      'What the Service holds stays beside what it asks for, and is announced, until the annotation goes. For [renumbering](../explanation/addresses.md#renumbering); at most 16 addresses.',
  },
  hostname: {
    name: 'herald.dev/hostname',
    on: 'Service',
    values: 'a DNS name',
    example: 'web.example.com',
    unset: 'none',
    meaning:
      'A name of the addresses, for whoever reads it in the status: it stands as `hostname` beside every `ip` in `status.loadBalancer.ingress`. The addresses stay, as nodes and kube-proxy go by them. It makes no DNS record. external-dns takes the name of a record from its own annotation, `external-dns.alpha.kubernetes.io/hostname`, and everything in the status as its targets: where it is to publish the addresses, leave this one away.',
  },
  drain: {
    name: 'herald.dev/drain',
    on: 'Service',
    values: onOff,
    example: 'true',
    unset: 'false',
    meaning:
      'No node announces any address of the Service, and it keeps them ([ServiceDrained](reasons.md)). Connections that still arrive are forwarded: rules stay. A shared address is announced for those that share it, and an aggregate for what else is in it.',
  },
  advertiseClusterIP: {
    name: 'herald.dev/advertise-cluster-ip',
    on: 'Service',
    values: onOff,
    example: 'false',
    unset: '`advertiseClusterIPs` of HeraldConfig',
    meaning:
      'Whether the ClusterIPs of the Service are announced where a BGPAdvertisement covers them ([AdvertisingOff](reasons.md)). "true" makes no advertisement: what is announced to whom is for the administrator to say.',
  },
  advertiseExternalIPs: {
    name: 'herald.dev/advertise-external-ips',
    on: 'Service',
    values: onOff,
    example: 'false',
    unset: '`advertiseExternalIPs` of HeraldConfig',
    meaning: 'The same for `spec.externalIPs`, which need an ExternalIPPolicy besides.',
  },
  loadBalancing: {
    name: 'herald.dev/load-balancing',
    on: 'Service',
    values: 'consistent or random',
    example: 'consistent',
    unset: '`consistentHashing` of HeraldConfig',
    meaning:
      'consistent: every node gives a connection to a load balancer address or an external IP to the same pod, see [consistent hashing](../explanation/consistent-hashing.md); random: not. Only with `externalTrafficPolicy: Cluster`.',
  },
  hashSlots: {
    name: 'herald.dev/hash-slots',
    on: 'Service',
    values: '251, 1021, 4093, 16381',
    example: '4093',
    unset: '`hashSlots` of HeraldConfig',
    meaning: 'Slots that consistent hashing divides. Where there are more than a quarter as many endpoints, the next larger number.',
  },
  directReturn: {
    name: 'herald.dev/direct-return',
    on: 'Service',
    values: onOff,
    example: 'true',
    unset: '`directReturn` of HeraldConfig',
    meaning:
      "With consistent hashing, pods see the client's address and answer it straight from their node, under policy Cluster too, see [direct server return](../explanation/direct-return.md).",
  },
  icmpEcho: {
    name: 'herald.dev/icmp-echo',
    on: 'Service',
    values: onOff,
    example: 'true',
    unset: '`icmpEcho` of HeraldConfig',
    meaning: 'Whether the addresses answer ICMP echo requests (ping) where they have a backend.',
  },
  resetOnRemoval: {
    name: 'herald.dev/reset-on-removal',
    on: 'Service',
    values: onOff,
    example: 'true',
    unset: 'false',
    meaning:
      'TCP connections to an endpoint that is removed, or that no longer serves, are ended by a reset when their client sends something; otherwise they go on as long as both sides want.',
  },
  weight: {
    name: 'herald.dev/weight',
    on: 'EndpointSlice',
    values: '1 to 100',
    example: '10',
    unset: '1',
    meaning: 'The share of each endpoint of the slice relative to others, where consistent hashing is used.',
  },
  nodeDrain: {
    name: 'herald.dev/drain',
    on: 'Node',
    values: '"true", "force" or "false"',
    example: 'true',
    unset: 'false',
    meaning:
      'The node is taken out of the routes without a loss, see [draining a node](../how-to/drain.md): its routes get the community GRACEFUL_SHUTDOWN (RFC 8326), and go after `nodeDrain.settleSeconds` of HeraldConfig. "true" keeps those of a Service that no other node announces ([LastNextHop](reasons.md)); "force" does not. `kubectl cordon` alone changes nothing.',
  },
} as const satisfies Readonly<Record<string, AnnotationEntry>>;

type Table = typeof annotationTable;

/** Their names. */
export const annotations = Object.fromEntries(Object.entries(annotationTable).map(([key, { name }]) => [key, name])) as {
  readonly [K in keyof Table]: Table[K]['name'];
};

export const labels = {
  /** Another proxy serves the Service. */
  serviceProxyName: 'service.kubernetes.io/service-proxy-name',
  /** The Service that an EndpointSlice belongs to. */
  serviceName: 'kubernetes.io/service-name',
  /** Who maintains an EndpointSlice. */
  managedBy: 'endpointslice.kubernetes.io/managed-by',
  /** "true" on Endpoints that shall not be mirrored into slices. */
  skipMirror: 'endpointslice.kubernetes.io/skip-mirror',
  /** The API server sets it on every Namespace, to its name. */
  namespaceName: 'kubernetes.io/metadata.name',
} as const;

/** Prefix of our own annotations: an unknown one under it is a mistake that is worth a warning. */
export const annotationPrefix = 'herald.dev/';

/** Prefix of those that the AWS provider reads: its own table, providers/aws/annotations/, knows them. */
export const awsAnnotationPrefix = 'herald.dev/aws-';

/** Value of `labels.managedBy` on slices that Herald made of core/v1 Endpoints. */
export const mirrorManager = 'mirror.herald.dev';
