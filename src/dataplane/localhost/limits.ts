/** Bounds on NodePorts on localhost. Listed in docs/reference/limits.md. */
export const limits = {
  /** Listening sockets of one node: as many as there are NodePorts in the default range, in both families. */
  listeners: 6_000,
  /** Connections that are passed on at a time: each is two sockets of the agent. */
  connections: 1_024,
  /** Pause before a port that could not be listened on is tried again. */
  retryMilliseconds: 5_000,
} as const;
