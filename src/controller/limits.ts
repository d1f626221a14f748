/** Bounds of the controller. Listed in docs/reference/limits.md. */
export const limits = {
  /** Services that are decided upon, in order, before the status of the first is written. */
  keysAtWork: 16,
  /** Services beside them that something outside of the cluster is waited for, which may be slow. */
  remoteKeysAtWork: 8,
  /** First and longest wait before a Service whose reconciliation failed is tried again. */
  retryMinimumMilliseconds: 100,
  retryMaximumMilliseconds: 60_000,
  /** How often the ages of the agents' reports are looked at, and what was kept for a while is ended. */
  reportWatchMilliseconds: 10_000,
  /** Pools whose code the condition of a Service lists. */
  detailsInCondition: 10,
  /** Characters of the message of a condition of a Service. */
  conditionMessage: 2048,
  /** How long a Service must not be announced, or programmed, before its condition and an Event say so. */
  conditionHoldMilliseconds: 30_000,
  /** The status of a configuration object is written at most this often. */
  objectStatusMilliseconds: 5000,
  /** After addresses were given or let go, the counts of the pools are looked at, once for all that happened by then. */
  usageMilliseconds: 1000,
  /** How often another program may write over the addresses of a Service, within this time, before Herald gives in until it is quiet for as long. */
  overwrites: 3,
  competingWriterMilliseconds: 600_000,
  /** Pools whose figures a scrape has. */
  measuredPools: 500,
  /** Pools that said no to one Service, of which a scrape knows. */
  measuredRefusals: 20,
} as const;
