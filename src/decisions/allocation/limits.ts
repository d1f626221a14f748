/** Bounds of the allocator. Listed in docs/reference/limits.md. */
export const limits = {
  /** Addresses that are kept for Services that let them go (keepReleasedSeconds). Beyond that the first kept goes first. */
  keptAddresses: 10_000,
} as const;
