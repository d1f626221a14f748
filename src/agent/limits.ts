/** Bounds of the agent. Listed in docs/reference/limits.md. */
export const limits = {
  /** First and longest wait before changes that the data plane did not take are tried again. */
  retryMinimumMilliseconds: 100,
  retryMaximumMilliseconds: 30_000,
  /** A NodeState without news is written this often at most, with jitter. */
  reportEveryMilliseconds: 30_000,
  /** News of a session or a Service is written after this pause, so that a burst of it is one write. */
  reportPauseMilliseconds: 50,
  /** Services listed in a NodeState because their actual state differs from the decision. */
  differingServices: 100,
} as const;
