/** Bounds of the API server as a source. */
export const limits = {
  /** Secrets that are watched because BGPPeers name them, each by a watch of its own. */
  secrets: 64,
  /** Problems that are kept of all objects. */
  problems: 2000,
  /** Writes of ours about one Service that the watch may be behind; with more, they wait until it has caught up. */
  ownWrites: 100,
  /** How long a controller that begins to lead waits for the watch to come as far as a list, and how many lists it reads. */
  catchUpMilliseconds: 1000,
  catchUpLists: 10,
  /** Attempts to write a status whose object others write at the same time; then it waits like any other failure. */
  statusAttempts: 3,
} as const;
