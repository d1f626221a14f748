/** Bounds of the commands that print a result and end. Listed in docs/reference/limits.md. */
export const limits = {
  /** Most pods that are read of a namespace. */
  pods: 10_000,
  /** Most Warning Events that are shown of a Service. */
  events: 5,
  /** How long shell completion may read names, and most names that it reads of a cluster. */
  completionMilliseconds: 2000,
  completionNames: 2000,
  /** Time between two reads of the node's report by `herald drain`. */
  drainLookMilliseconds: 1000,
  /** Time after which `herald drain --uncordon` computes the expected routes again although the node's report is the same. */
  drainExpectMilliseconds: 5000,
  /** The longest value of `herald drain --timeout`. */
  drainTimeoutSeconds: 86_400,
  /** Most Services that `herald drain` names of those that would lose their last next hop. */
  drainServices: 100,
  /**
   * Bounds of queries to running processes: time to answer, octets of an answer, processes queried, and processes queried at the same time.
   */
  liveMilliseconds: 5000,
  liveBytes: 67_108_864,
  livePods: 200,
  liveAtOnce: 16,
  /** Shortest pause before a busy process is queried again, even if its Retry-After is shorter. */
  liveBusyMilliseconds: 250,
  /** Most history entries, routes, and sessions that are read from one process. */
  liveHistory: 5000,
  liveRoutes: 100_000,
  liveSessions: 1000,
  /** Most links, and addresses of one Service on them, that are read from one agent. */
  liveLinks: 64,
  /** Addresses and ports of a Service of which an agent is asked what it saw. */
  liveChecks: 1_000,
  /** Most endpoints with connections that are read from one agent. */
  liveEndpoints: 20_000,
  liveAddresses: 1000,
  /** Most objects whose earlier version is in force that are read from one process. */
  liveKept: 1000,
  /** Default interval of `--watch`. */
  watchSeconds: 5,
  /** Longest interval of `--watch`. */
  watchMaximumSeconds: 3600,
  /** Octets of a bundle before compression, and of one file in it. */
  bundleBytes: 64 * 1024 * 1024,
  bundleFileBytes: 16 * 1024 * 1024,
  /** Octets of all lists from running processes in a bundle. They are collected first, and the bound leaves room for the logs. */
  bundleListsBytes: 32 * 1024 * 1024,
  /** Most Services with a problem that a bundle explains. */
  bundleServices: 100,
  /** Bounds of a bundle: Herald pods with logs and metrics, last lines of a log, octets of a log, and Events. */
  bundlePods: 50,
  bundleLogLines: 5000,
  bundleLogBytes: 4 * 1024 * 1024,
  bundleEvents: 5000,
  /** Most items in one list from a running process. */
  bundleItems: 100_000,
  /** How long one request to a pod, a socket or a program of the host may take. */
  bundleAnswerMilliseconds: 20_000,
  /** Most Services of a picture of the console that are explained as a whole, because objects could not be read or no controller runs. */
  explainedServices: 2000,
  /** The longest trace of `herald bgp trace`. */
  traceMaximumSeconds: 86_400,
  /** Octets of one line of a trace from the agent: a message of 65,535 octets takes 88 KB. */
  traceLineBytes: 262_144,
  /** Most Services of `herald check service --all`, and most probes of the client for one of them. */
  checkServices: 200,
  checkClientProbes: 200,
  /** Time for one connection of the client, and for the whole answer of one agent about one Service. */
  checkProbeMilliseconds: 3000,
  checkAnswerMilliseconds: 180_000,
  /** Octets of an agent's answer, and of one line of it. */
  checkAnswerBytes: 8 * 1024 * 1024,
  checkLineBytes: 16_384,
  /** Time for the command of `--router`, octets of its output, and characters that are shown of an output that is not understood. */
  routerMilliseconds: 20_000,
  routerBytes: 1024 * 1024,
  routerShownCharacters: 2000,
  /** Bounds of `herald import`: files that it reads, documents in all of them, and items of one list in a foreign object. */
  importFiles: 20_000,
  importDocuments: 100_000,
  importItems: 10_000,
  /** Folders below a folder that `herald import` reads. */
  importDepth: 32,
  /** Most label selectors that one selector of Calico becomes. */
  importSelectors: 32,
  /** Lines of a log that are no warnings are written together: this late, or when they have so many characters. */
  logMilliseconds: 50,
  logCharacters: 8192,
} as const;
