/** Bounds of the console's server. Listed in docs/reference/limits.md. */
export const limits = {
  /** Bounds of its listener on the loopback address. */
  connections: 64,
  headerBytes: 16_384,
  requestMilliseconds: 10_000,
  idleMilliseconds: 5000,
  /** Pages that follow changes at the same time. */
  followers: 16,
  /** Time between two signs of life to a page that follows changes. */
  aliveMilliseconds: 5000,
  /** Objects are not read while no page has asked for this time. */
  unusedMilliseconds: 15_000,
  /** The pause between two reads is at least this many times as long as the last read took. */
  pauseFactor: 1,
  /** A change that the console hears of is read before the next regular read, but not sooner after the last one. */
  soonestMilliseconds: 500,
  /** Addresses of one range that are drawn one by one, and the parts into which a larger range is divided. */
  cells: 1024,
  blocks: 256,
  /** Addresses of one range that are listed with the Services that have them, and Services that are named for one address. */
  holders: 5000,
  sharers: 10,
  /** Nodes of the fabric that are drawn one by one. With more, alike nodes share a box: the boxes that are drawn, and the names in one. */
  fabricNodes: 50,
  fabricGroups: 24,
  groupNames: 20,
  /** Nodes of a Service's path that are drawn one by one. With more, alike nodes share a box. */
  drawnNodes: 12,
  /** Endpoints of a Service's path that are drawn one by one. With more, each node has a summary; and the nodes that have one. */
  drawnEndpoints: 20,
  /** Octets of manifests in one request, and plans that are computed at the same time. */
  manifestBytes: 1_048_576,
  plans: 2,
  /** Octets of a request for a check, and checks at the same time: each opens connections from every node. */
  checkBytes: 2048,
  checks: 1,
  /** Rows of one section of a plan. The text to copy has all. */
  planRows: 500,
  /** Nodes of a plan that are drawn. With more there is no drawing. */
  plannedNodes: 50,
  /** Entries of one answer about the history, the newest ones. */
  historyEntries: 4000,
  /** The history of everything goes back this far unless the page asks for more. */
  historyMilliseconds: 3_600_000,
  /** Characters of a name in a query. */
  name: 512,
} as const;
