/** Bounds of requests to AWS and their answers. Listed in docs/reference/limits.md. */
export const limits = {
  /** Attempts of one request: the first one and its repeats. */
  attempts: 8,
  /**
   * Bounds of the pause before a request is sent again. The upper bound of the pause doubles each time, and the pause is random below it.
   */
  retryMinimumMilliseconds: 500,
  retryMaximumMilliseconds: 20_000,
  /** Requests of one action that may wait for their turn. */
  queuedRequests: 10_000,
  /** Requests of one action per second that are sent however often AWS throttles. */
  slowestPerSecond: 0.5,
  /** A rate that AWS has throttled grows from zero to the first rate in this time. */
  recoverySeconds: 60,
  /** Time limit for opening a connection. */
  connectMilliseconds: 5000,
  /** Time limit for an answer. */
  answerMilliseconds: 30_000,
  /** Open connections to one service. */
  connections: 16,
  /** An idle connection is closed after this time, before AWS closes it just as a request is sent. */
  idleMilliseconds: 10_000,
  /** Pages of one answer. */
  pages: 200,
  /** Items per page (AWS: 400 for ELB, 1,000 for EC2). */
  pageItems: 400,
  /** Certificates of a listener per page (AWS: 100). */
  certificatePageItems: 100,
  /** Resources per DescribeTags request, and ARNs or names per Describe request of ELB (AWS: 20). */
  resourcesPerDescribe: 20,
  /** Values of one EC2 filter (AWS: 200). */
  filterValues: 200,
  /** Characters of AWS' text that a message quotes. */
  quoted: 500,
} as const;
