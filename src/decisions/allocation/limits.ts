/** Bounds of the allocator. Listed in docs/reference/limits.md. */
export const limits = {
  /** Released addresses kept for their Services (keepReleasedSeconds). Beyond the bound, the oldest one goes first. */
  keptAddresses: 10_000,
  /** A Service without a class counts as unclaimed after this. */
  unclaimedMilliseconds: 30_000,
  /** The same where another controller serves such Services: a cloud takes minutes. */
  servedElsewhereMilliseconds: 300_000,
} as const;
