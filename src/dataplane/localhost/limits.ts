/** Bounds on NodePorts on localhost. Listed in docs/reference/limits.md. */
export const limits = {
  /** Listening sockets of one node: as many as the default range has NodePorts, in both families. */
  listeners: 6_000,
  /** Connections that are proxied at a time. Each uses two sockets of the agent. */
  connections: 1_024,
  /** Milliseconds before the agent retries a port on which it could not listen. */
  retryMilliseconds: 5_000,
} as const;
