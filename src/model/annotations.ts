/** Every annotation and label of a Service that Herald reads: the whole table, with what it means. */
export const annotations = {
  /** The name of the IPAddressPool that shall give the address; it may have autoAssign: false. */
  addressPool: 'herald.dev/address-pool',
  /** Requested addresses, separated by commas. Excludes spec.loadBalancerIP. */
  loadBalancerIPs: 'herald.dev/load-balancer-ips',
  /** Services with the same text here may share an address, where their ports differ. */
  allowSharedIP: 'herald.dev/allow-shared-ip',
  /** Other namespaces, separated by commas, whose Services may share as well; "*": all. Both Services must admit the other's. */
  allowSharedIPNamespaces: 'herald.dev/allow-shared-ip-namespaces',
  /** "true": what the Service holds stays beside what it asks for, and is announced, until the annotation goes. */
  keepAddresses: 'herald.dev/keep-addresses',
  /** consistent: every node gives a connection to the same backend; random. Without it HeraldConfig decides. */
  loadBalancing: 'herald.dev/load-balancing',
  /** How many slots consistent hashing divides among the backends, at least. */
  hashSlots: 'herald.dev/hash-slots',
  /** "true" or "false": answers go straight from the node of the backend to the client, which the backend sees. Without it HeraldConfig decides. */
  directReturn: 'herald.dev/direct-return',
  /** "true" or "false": TCP connections to endpoints that are removed are ended; otherwise they go on. */
  resetOnRemoval: 'herald.dev/reset-on-removal',
  /** "true" or "false": the addresses answer ICMP echo requests where they have a backend. Without it HeraldConfig decides. */
  icmpEcho: 'herald.dev/icmp-echo',
} as const;

/** Of an EndpointSlice: the weight of each of its endpoints where consistent hashing is used. */
export const weightAnnotation = 'herald.dev/weight';

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
