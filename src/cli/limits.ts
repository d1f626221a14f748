/** Bounds of what commands that answer and end read and print. Listed in docs/reference/limits.md. */
export const limits = {
  /** Pods of a namespace that are looked at. */
  pods: 10_000,
  /** Warnings about a Service that are shown. */
  events: 5,
  /** How often `herald drain` looks at the report of the node. */
  drainLookMilliseconds: 1000,
  /** How long it may be told to wait. */
  drainTimeoutSeconds: 86_400,
  /** Services that it names, of those that would lose their last next hop. */
  drainServices: 100,
  /** Running processes that are asked: the time each has to answer, octets of an answer, how many are asked, and how many at a time. */
  liveMilliseconds: 5000,
  liveBytes: 67_108_864,
  livePods: 200,
  liveAtOnce: 16,
  /** The shortest pause before one that answers somebody else is asked again, whatever it asks for (Retry-After). */
  liveBusyMilliseconds: 250,
  /** Entries of a history that are taken from one process; routes. */
  liveHistory: 5000,
  liveRoutes: 100_000,
  /** Pause of `--watch` where it is not said. */
  watchSeconds: 5,
  /** The longest that may be said. */
  watchMaximumSeconds: 3600,
  /** Of a bundle, before it is compressed, and of one file in it. */
  bundleBytes: 64 * 1024 * 1024,
  bundleFileBytes: 16 * 1024 * 1024,
  /** Of all lists that running processes tell: they come before logs, and leave room for them. */
  bundleListsBytes: 32 * 1024 * 1024,
  /** Services with a problem that it explains. */
  bundleServices: 100,
  /** Pods of Herald whose logs and metrics are in it, the end of a log, and Events. */
  bundlePods: 50,
  bundleLogLines: 5000,
  bundleLogBytes: 4 * 1024 * 1024,
  bundleEvents: 5000,
  /** Items of a list that a running process tells. */
  bundleItems: 100_000,
  /** How long one question to a pod, a socket or a program of the host may take. */
  bundleAnswerMilliseconds: 20_000,
  /** The longest trace that `herald bgp trace` may be told. */
  traceMaximumSeconds: 86_400,
  /** Octets of one of its lines, as the agent sends them: a message of 65,535 octets takes 88 KB. */
  traceLineBytes: 262_144,
} as const;
