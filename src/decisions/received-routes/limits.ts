/** Bounds of the decision about received routes, listed in docs/reference/limits.md. */
export const limits = {
  /** Next hops of one route in the kernel. */
  nextHops: 16,
} as const;
