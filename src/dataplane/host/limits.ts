/** Bounds on reading the filters of other programs. Listed in docs/reference/limits.md. */
export const limits = {
  /** Milliseconds for one command. */
  commandTimeout: 20_000,
  /** Bytes of output of one command. A longer chain counts as one that Herald does not understand. */
  outputBytes: 16 * 1024 * 1024,
  /** Chains whose rules are listed from one base chain. */
  chains: 64,
  /** Elements of a literal map of verdicts. A larger map counts as one that Herald does not understand. */
  mapElements: 256,
  /** Characters of a rule that a sentence repeats. */
  ruleText: 120,
  /** Interfaces on which programs and filters of tc are looked for. */
  trafficInterfaces: 64,
  /** Rules that translate destinations. Further ones are not judged. */
  natRules: 100,
} as const;
