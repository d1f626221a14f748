/** Bounds of the live API, listed in docs/reference/limits.md. */
export const limits = {
  /** Items of one answer, by default and at most. */
  pageItems: 1000,
  maximumPageItems: 5000,
  /** Items of one answer at the port, which needs no credentials, whatever the client asks for. */
  pageItemsOnPort: 500,
  /**
   * Objects of which an earlier version is in force: in one answer, and the characters of one as JSON. A longer one is listed without it.
   */
  keptObjects: 100,
  keptCharacters: 65_536,
  /** Services that are listed with a route. */
  servicesOfRoute: 10,
  /** The history: objects, entries of all objects together, and entries of one object. */
  historyObjects: 20_000,
  historyEntries: 40_000,
  historyEntriesOfObject: 24,
  /** Causes that a history entry lists. */
  causes: 3,
  /** Changes within this time of each other: the controller cannot tell which of them was the cause. */
  togetherMilliseconds: 1000,
  /** The controller takes older changes as handled. */
  causeMilliseconds: 30_000,
  /** Changes of objects that concern many Services; they are kept until the work that they cause is done. */
  sharedChanges: 64,
  /** Routes that a history entry lists. */
  routesOfEntry: 16,
  /**
   * Entries for one change of a Service's routes: one for each reason of a withdrawal or each set of attributes. `words`: characters of a
   * text.
   */
  entriesOfChange: 4,
  words: 300,
  /** Names of Services whose status is refused, in an answer. */
  refusedNames: 100,
  /** Bounds of the socket on the host. */
  connections: 16,
  headerBytes: 8192,
  requestMilliseconds: 10_000,
  idleMilliseconds: 5000,
  /** Delay before the process tries again to listen on the socket. */
  retryMilliseconds: 10_000,
} as const;
