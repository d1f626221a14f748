/** Bounds on reading kube-proxy's rules. Listed in docs/reference/limits.md. */
export const limits = {
  /** Frontends of kube-proxy that are stored. Further ones count as absent. */
  frontends: 1_000_000,
  /** Events that wait while the maps are read. Beyond this number, the maps are read once more. */
  waitingEvents: 100_000,
  /** Milliseconds before maps that could not be read are read again, and before a monitor that ended is restarted. */
  retryMilliseconds: 1_000,
  /** Milliseconds between two reads of iptables, whose changes no event reports. */
  iptablesPollMilliseconds: 10_000,
  /** Milliseconds for one command. */
  commandTimeout: 20_000,
  /** Bytes of output of one command: 50,000 Services are about 20 MiB. */
  outputBytes: 64 * 1024 * 1024,
  /** Milliseconds that kube-proxy has to reply at its metrics port. */
  requestMilliseconds: 2_000,
  /** Octets of that reply. */
  answerBytes: 1_024,
  /** Virtual servers of other programs that the cleanup names. */
  namedServers: 10,
} as const;
