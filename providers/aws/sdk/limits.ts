/** Bounds of what Herald says to AWS and reads from it. Listed in docs/reference/limits.md. */
export const limits = {
  /** Sends of one request: the first, and those after AWS asked for patience. */
  attempts: 8,
  /** First and longest pause before a request is sent again; doubles each time, and all of it is at random. */
  retryMinimumMilliseconds: 500,
  retryMaximumMilliseconds: 20_000,
  /** Requests of one class that wait for their turn. */
  queuedRequests: 10_000,
  /** A connection that does not come about is given up after this. */
  connectMilliseconds: 5000,
  /** A request without an answer is given up after this. */
  answerMilliseconds: 30_000,
  /** Connections to one service that are open at the same time. */
  connections: 16,
  /** A connection that nobody uses is closed after this, before AWS closes it just when a request is sent. */
  idleMilliseconds: 10_000,
  /** Pages of one answer. */
  pages: 200,
  /** Items in one page (AWS: 400 of ELB, 1,000 of EC2). */
  pageItems: 400,
  /** Certificates of a listener in one page (AWS: 100). */
  certificatePageItems: 100,
  /** Resources in one DescribeTags, and ARNs or names in one Describe of ELB (AWS: 20). */
  resourcesPerDescribe: 20,
  /** Values of one filter of EC2 (AWS: 200). */
  filterValues: 200,
  /** Text of AWS that a message quotes. */
  quoted: 500,
} as const;
