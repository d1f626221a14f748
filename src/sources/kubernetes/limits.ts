/** Bounds of the API server as a source. */
export const limits = {
  /** Secrets watched because BGPPeers name them, one watch each. */
  secrets: 64,
  /** Problems kept for all objects. */
  problems: 2000,
  /** Our own writes to one Service that the watch may lag behind. Further writes wait until the watch has caught up. */
  ownWrites: 100,
  /** How long a new leader waits for the watch to reach a list's version, and how many lists it reads. */
  catchUpMilliseconds: 1000,
  catchUpLists: 10,
  /** Attempts to write a status while other programs write the object. Afterwards the write waits like any other failure. */
  statusAttempts: 3,
  /** Statuses of Services written at the same time from which on Events give way. The controller has sixteen Services at work. */
  busyStatusWrites: 8,
} as const;
