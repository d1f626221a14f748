/** Bounds on reading the filters of other programs. Listed in docs/reference/limits.md. */
export const limits = {
  /** Milliseconds for one command. */
  commandTimeout: 20_000,
  /** Bytes of output of one command. A longer chain counts as one that Herald does not understand. */
  outputBytes: 16 * 1024 * 1024,
  /** Chains whose rules are listed from one base chain. */
  chains: 64,
  /** Rules that translate destinations. Further ones are not judged. */
  natRules: 100,
} as const;
