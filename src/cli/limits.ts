/** Bounds of what commands that print and end read and print. Listed in docs/reference/limits.md. */
export const limits = {
  /** Pods of a namespace that are read. */
  pods: 10_000,
  /** Warning Events of a Service that are shown. */
  events: 5,
  /** How often `herald drain` reads the report of the node. */
  drainLookMilliseconds: 1000,
  /** The longest value of `herald drain --timeout`. */
  drainTimeoutSeconds: 86_400,
  /** Services that `herald drain` names among those that would lose their last next hop. */
  drainServices: 100,
  /** Queries to running processes: time for each to answer, octets of an answer, processes queried, and how many at a time. */
  liveMilliseconds: 5000,
  liveBytes: 67_108_864,
  livePods: 200,
  liveAtOnce: 16,
  /** The shortest pause before a busy process is queried again, whatever its Retry-After says. */
  liveBusyMilliseconds: 250,
  /** History entries, and routes, that are read from one process. */
  liveHistory: 5000,
  liveRoutes: 100_000,
  /** Default interval of `--watch`. */
  watchSeconds: 5,
  /** Longest interval of `--watch`. */
  watchMaximumSeconds: 3600,
  /** Size of a bundle before compression, and of one file in it. */
  bundleBytes: 64 * 1024 * 1024,
  bundleFileBytes: 16 * 1024 * 1024,
  /** All lists of running processes in a bundle. They are collected before logs, and this leaves room for the logs. */
  bundleListsBytes: 32 * 1024 * 1024,
  /** Services with a problem that a bundle explains. */
  bundleServices: 100,
  /** Herald pods whose logs and metrics are in a bundle, the last lines and octets of a log, and Events. */
  bundlePods: 50,
  bundleLogLines: 5000,
  bundleLogBytes: 4 * 1024 * 1024,
  bundleEvents: 5000,
  /** Items of one list of a running process. */
  bundleItems: 100_000,
  /** How long one request to a pod, a socket or a program of the host may take. */
  bundleAnswerMilliseconds: 20_000,
  /** The longest trace of `herald bgp trace`. */
  traceMaximumSeconds: 86_400,
  /** Octets of one line of a trace from the agent: a message of 65,535 octets takes 88 KB. */
  traceLineBytes: 262_144,
} as const;
