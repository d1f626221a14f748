/** Limits on the content of one object. Exceeding one is a problem of that object only. */
export const limits = {
  /** Problems, and warnings, reported for one object. */
  problemsPerObject: 20,
  /** Characters of a text field without its own limit. */
  text: 1024,
  /** Characters of an offending value shown in a message. */
  shownValue: 60,
  /** Labels, annotations or selector terms of one object. */
  mapEntries: 1000,
  /** Characters of all annotations together. This is the API server's limit (TotalAnnotationSizeLimitB). */
  annotations: 262_144,
  /** Objects in one List. The API server returns at most this many in a page. */
  listItems: 20_000,
  servicePorts: 1000,
  externalIPs: 100,
  sourceRanges: 1000,
  ingress: 16,
  /** Characters of a condition that name the pools of the addresses. */
  poolRecord: 4000,
  /** Entries read from a status that other programs have written. One entry for each node is usual. */
  ingressRead: 10_000,
  /** The API's own limits (discovery.k8s.io/v1). */
  endpointsPerSlice: 1000,
  portsPerSlice: 100,
  addressesPerEndpoint: 100,
  /** Names of nodes and zones, and lists of them, of which endpoints share one copy. */
  sharedNames: 20_000,
  /** Low enough that the smaller of two weights still gets a slot in a small table. */
  endpointWeight: 100,
  /** Subsets of one Endpoints object that are mirrored. */
  subsets: 100,
  nodeAddresses: 100,
  poolRanges: 1000,
  reservations: 1000,
  /** One week. */
  keepReleasedSeconds: 604_800,
  selectors: 100,
  /** The API's own limits: a prefix of 253 characters, a name of 63, and a value of 63. */
  labelKey: 317,
  labelValue: 63,
  selectorValues: 1000,
  names: 1000,
  /** The largest `maxNextHops` of a BGPAdvertisement. */
  nextHops: 1000,
  /** The number of communities that MetalLB allows on one prefix. */
  communities: 63,
  aliases: 1000,
  /** Prefixes in the import list of a BGPPeer. The API server bounds the cost of checking all of them. */
  importPrefixes: 64,
  /** Routes of each family that a BGPPeer may have kept. */
  importedRoutes: 10_000,
  cidrs: 1000,
  /** Each one is a rule that every packet to a Service passes. */
  podInterfaces: 16,
  asPathPrepend: 32,
  /** Octets of the shutdown communication (RFC 9003 section 2). */
  shutdownMessageBytes: 255,
  /** TCP_MD5SIG_MAXKEYLEN of Linux. */
  passwordBytes: 80,
  /** Entries of metadata.managedFields that are searched for the agent's. */
  fieldManagers: 32,
  sessions: 1000,
  sessionFamilies: 8,
  /** Ranges of addresses and of AS numbers of a BGPPeer with dynamicNeighbors, and routers that it may have on a node. */
  neighborRanges: 16,
  neighborAsns: 16,
  neighbors: 100,
  differing: 100,
  /** Of NodeState: `checks.answered`. */
  answeredFrontends: 500,
  /** Of NodeState: `checks.failing`. */
  failingEndpoints: 100,
  /** Reasons in a NodeState about the host itself. */
  hostReasons: 100,
  heldBackFamilies: 8,
  /** Links in a NodeState on which the node can announce by ARP and NDP. */
  nodeLinks: 100,
  /** Interfaces with addresses in a NodeState. */
  nodeInterfaces: 100,
  /** Addresses in a NodeState that the node announces by ARP and NDP. */
  nodeClaims: 10_000,
  /** Names and numbers in one reason. */
  reasonDetails: 100,
  /** Kinds for which a NodeState reports the agent's progress. */
  consumedKinds: 100,
  conditions: 16,
  /** Released addresses in a pool's status that are kept for their former Services. */
  releasedAddresses: 500,
} as const;
