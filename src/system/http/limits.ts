/** Bounds of the HTTP listeners of a process together, listed in docs/reference/limits.md. */
export const limits = {
  /** Connections from one address at one listener. Load balancers and scrapers use one or two. */
  perAddress: 16,
  /** Connections from this host at one listener, beside those from elsewhere. */
  own: 16,
  /** Connections of all listeners: from elsewhere, and from this host. A listener for each Service must not exhaust the file descriptors. */
  total: 512,
  totalOwn: 256,
  /** Milliseconds from a connection to the end of the header of its first request. */
  headerMilliseconds: 1000,
  /** Connections that the kernel holds until the process accepts them; at most net.core.somaxconn. A probe waits behind those of others. */
  backlog: 4096,
} as const;
