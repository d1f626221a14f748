/** Bounds of what a running process tells of itself. Listed in docs/reference/limits.md. */
export const limits = {
  /** Items of one answer, where nobody asks for fewer; and the most that may be asked for. */
  pageItems: 1000,
  maximumPageItems: 5000,
  /** At the port, which asks for no credentials: whatever is asked for. */
  pageItemsOnPort: 500,
  /** Services named with a route that several of them share. */
  servicesOfRoute: 10,
  /** The history: objects that have one, entries of all of them, and of one. */
  historyObjects: 20_000,
  historyEntries: 40_000,
  historyEntriesOfObject: 24,
  /** What changed before something happened: changes that an entry names. */
  causes: 3,
  /** Changes of which a controller cannot tell which one it was, as they came within this time of each other. */
  togetherMilliseconds: 1000,
  /** Age of a change of which a controller takes it that it has long been acted upon. */
  causeMilliseconds: 30_000,
  /** Changes of objects that concern many Services, which are remembered until the work that they make is done. */
  sharedChanges: 8,
  /** Routes that an entry names; characters of the words of others. */
  routesOfEntry: 16,
  /** Entries of one change of a Service's routes: one for each reason why some went, or for each set of attributes. */
  entriesOfChange: 4,
  words: 300,
  /** Of the socket on the host. */
  connections: 16,
  headerBytes: 8192,
  requestMilliseconds: 10_000,
  idleMilliseconds: 5000,
  /** Pause before a socket that could not be made is tried again. */
  retryMilliseconds: 10_000,
} as const;
