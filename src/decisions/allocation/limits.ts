/** Bounds of the allocator. Listed in docs/reference/limits.md. */
export const limits = {
  /** Released addresses kept for their Services (keepReleasedSeconds). Beyond the bound, the oldest one goes first. */
  keptAddresses: 10_000,
} as const;
