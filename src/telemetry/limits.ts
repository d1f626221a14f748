/** Bounds of what is measured and served. Listed in docs/reference/limits.md. */
export const limits = {
  /** Series of one metric: 256 peers with their messages by type and direction are the most there are. */
  series: 5000,
  /** A part of a scrape that has to be waited for is left out after this. */
  partMilliseconds: 2000,
  /** Of the listener for scrapes, and of the one for probes. */
  connections: 32,
  headerBytes: 8192,
  requestMilliseconds: 10_000,
  idleMilliseconds: 60_000,
  /** A pass of an agent, or a key of the controller, that has been at it for this long hangs: /livez fails. */
  stuckMilliseconds: 600_000,
} as const;
