/** Bounds of metrics and of their listeners, listed in docs/reference/limits.md. */
export const limits = {
  /** Series of one metric. The metric with the most has the messages of 1,024 peers by type and direction. */
  series: 12_000,
  /** A scrape leaves out a part that takes longer. */
  partMilliseconds: 2000,
  /** Bounds of the listener for scrapes and of the listener for probes. */
  connections: 32,
  headerBytes: 8192,
  answerMilliseconds: 10_000,
  idleMilliseconds: 60_000,
  /** Interval at which the delay of the event loop is measured. */
  lagMilliseconds: 100,
  /** The same while the loop works for less than this part of the time. */
  restingLagMilliseconds: 1_000,
  restingPart: 0.05,
  /** A pass of an agent or the work on a key of the controller that runs for this long hangs: /livez fails. */
  stuckMilliseconds: 600_000,
} as const;
