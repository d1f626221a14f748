/** Bounds on looking at the filters of other programs. Listed in docs/reference/limits.md. */
export const limits = {
  /** Milliseconds for one command. */
  commandTimeout: 20_000,
  /** Of one command. A chain with more rules is one that we do not understand. */
  outputBytes: 16 * 1024 * 1024,
  /** Chains whose rules are listed at one look. */
  chains: 64,
} as const;
