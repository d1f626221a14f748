/** Bounds on looking at kube-proxy's rules. Listed in docs/reference/limits.md. */
export const limits = {
  /** Frontends that are remembered of kube-proxy. Of more, those that came last count as not there. */
  frontends: 1_000_000,
  /** Events that wait while the maps are read; beyond, they are read once more. */
  waitingEvents: 100_000,
  /** Milliseconds before maps that could not be read are read again, and before a monitor that ended is started again. */
  retryMilliseconds: 1_000,
  /** Milliseconds between two looks at iptables, of whose changes nobody tells. */
  iptablesPollMilliseconds: 10_000,
  /** Milliseconds for one command. */
  commandTimeout: 20_000,
  /** Of one command: 50,000 Services are about 20 MiB. */
  outputBytes: 64 * 1024 * 1024,
  /** Milliseconds that a kube-proxy has to answer at its metrics port. */
  requestMilliseconds: 2_000,
  /** Octets of that answer. */
  answerBytes: 1_024,
} as const;
