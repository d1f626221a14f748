/** Bounds of the API server as a source. */
export const limits = {
  /** Secrets that are watched because BGPPeers name them, each by a watch of its own. */
  secrets: 64,
  /** Problems that are kept of all objects. */
  problems: 2000,
  /** Attempts to write a status whose object others write at the same time; then it waits like any other failure. */
  statusAttempts: 3,
} as const;
