/** Bounds on what one object may hold. What is above is a problem of that object; nothing else is affected. */
export const limits = {
  /** Problems, and warnings, that are reported of one object. */
  problemsPerObject: 20,
  /** Characters of a text field without a limit of its own. */
  text: 1024,
  /** Characters of an offending value that a message shows. */
  shownValue: 60,
  /** Labels, annotations or selector terms of one object. */
  mapEntries: 1000,
  /** Characters of all annotations together: the API server's own bound (TotalAnnotationSizeLimitB). */
  annotations: 262_144,
  /** Objects in one List, which is also what a paged list of the API server returns at most. */
  listItems: 20_000,
  servicePorts: 1000,
  externalIPs: 100,
  sourceRanges: 1000,
  ingress: 16,
  /** Of a status that others have written: one entry a node is usual. */
  ingressRead: 10_000,
  /** The API's own bounds (discovery.k8s.io/v1). */
  endpointsPerSlice: 1000,
  portsPerSlice: 100,
  addressesPerEndpoint: 100,
  /** So that the least of two weights still gets a slot of a small table. */
  endpointWeight: 100,
  /** Subsets of one Endpoints object that are mirrored. */
  subsets: 100,
  nodeAddresses: 100,
  poolRanges: 1000,
  reservations: 1000,
  /** A week. */
  keepReleasedSeconds: 604_800,
  selectors: 100,
  /** The API's own bounds: a prefix of 253 characters and a name of 63, and a value. */
  labelKey: 317,
  labelValue: 63,
  selectorValues: 1000,
  names: 1000,
  /** As many communities as one prefix carries in MetalLB. */
  communities: 63,
  aliases: 1000,
  cidrs: 1000,
  /** Each is a rule that packets to Services pass. */
  podInterfaces: 16,
  asPathPrepend: 32,
  /** RFC 9003 section 2: octets of the shutdown communication. */
  shutdownMessageBytes: 255,
  /** TCP_MD5SIG_MAXKEYLEN of Linux. */
  passwordBytes: 80,
  sessions: 1000,
  sessionFamilies: 8,
  differing: 100,
  /** What a NodeState says of the host itself. */
  hostReasons: 100,
  /** Names and numbers of one reason. */
  reasonDetails: 100,
  /** Kinds of which a NodeState says how far its agent is. */
  consumedKinds: 100,
  conditions: 16,
  /** Addresses that the status of a pool says are kept for Services that let them go. */
  releasedAddresses: 500,
} as const;
