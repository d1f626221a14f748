/** Bounds of the controller. Listed in docs/reference/limits.md. */
export const limits = {
  /** Services that are decided on, in order, before the status of the first is written. */
  keysAtWork: 16,
  /** New and changed Services that go before one whose conditions only may have changed, as those of all after the report of a node. */
  keysBeforeLastLine: 10,
  /** Additional Services whose work waits for an API outside the cluster, which may be slow. */
  remoteKeysAtWork: 32,
  /** Of these, at most so many that are not new, that are neither new nor changed by their owner, and that are only checked. */
  remoteChangesAtWork: 28,
  remoteRepairsAtWork: 20,
  remoteRereadsAtWork: 8,
  /** First and longest wait before a Service whose reconciliation failed is retried. */
  retryMinimumMilliseconds: 100,
  retryMaximumMilliseconds: 60_000,
  /** A Service that is reconciled again at a given time waits at most this much longer. */
  requeueStepMilliseconds: 250,
  /** Interval at which the ages of agents' reports are checked and addresses kept long enough are freed. */
  reportWatchMilliseconds: 10_000,
  /** A NodeState without its Node is deleted after this time, if its agent does not report, and at most so many at one check of timeouts. */
  removedNodeMilliseconds: 600_000,
  nodeStateRemovals: 10,
  /** Characters of the message of a condition of a Service. */
  conditionMessage: 2048,
  /** Time for which a Service must not be announced, or not be programmed, before its condition and an Event say so. */
  conditionHoldMilliseconds: 30_000,
  /** The status of a configuration object is written at most this often. */
  objectStatusMilliseconds: 5000,
  /** After addresses were assigned or released, the counts of the pools are updated once for all changes of this time. */
  usageMilliseconds: 1000,
  /** Overwrites of a Service's addresses by another program, within competingWriterMilliseconds, after which Herald yields. */
  overwrites: 3,
  /** Time without an overwrite after which Herald writes again. */
  competingWriterMilliseconds: 600_000,
  /** Unclaimed Services that get their Event at one check of timeouts, so that ten thousand do not fill the queue of Events. */
  unclaimedReports: 100,
  /** Names in the log line about them. */
  unclaimedNames: 10,
  /** Pools whose figures a scrape has. */
  measuredPools: 500,
  /** Pools that refused one Service which a scrape has. */
  measuredRefusals: 20,
} as const;
