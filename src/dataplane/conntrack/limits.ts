/** Bounds of the watch over connections. Listed in docs/reference/limits.md. */

/** Entries of connection tracking that one look reads. */
export const sampledConnections = 5_000;

/** Milliseconds from the end of a look to the next one, at least. */
export const lookPause = 10_000;

/** The same for a look that is asked for. */
export const askedLookPause = 3_000;

/** Milliseconds without a look that pay for a millisecond of looking. */
export const pauseFactor = 2_000;

/** Milliseconds of a processor that a look usually takes at a small table. The first one counts twice that at most. */
export const usualLook = 10;

/** The same as pauseFactor for looks that are asked for, which have a budget of their own. */
export const askedFactor = 3_000;

/** Milliseconds that may still be unpaid when a look that is asked for begins: some six looks in a row. */
export const longestDebt = 180_000;

/** The longest pause between two looks, in milliseconds, however long they take. */
export const longestLookPause = 60_000;

/** Milliseconds between two lists of the connections that begin, at least, while an answer to one of them would be news. */
export const begunPause = 4_000;

/** Milliseconds without such a list that pay for a millisecond of listing. */
export const begunFactor = 10_000;

/** Milliseconds after which a connection that began has been answered, most likely. */
export const answerTime = 1_000;

/** Octets of events about ended connections that may wait in the socket. */
export const endedBufferBytes = 1024 * 1024;

/** Milliseconds between two readings of these events. */
export const endedPoll = 1_000;

/** Ended connections in a second above which the kernel is asked to report none for a while. */
export const endedPerSecond = 1_000;

/**
 * Milliseconds without reports after that. The kernel reports only connections that began while reports were asked for, and most connections are
 * deleted two minutes after they have ended. So events come again two minutes after reports are asked for.
 */
export const endedPause = 130_000;

/** Of the ended connections that were answered, one of so many is reported, to estimate their number. A power of two. */
export const endedShare = 1_024;

/** Milliseconds between two readings of the kernel's timeouts, and before a problem of the kernel is looked at again. */
export const timeoutsAge = 60_000;

/**
 * The ages, in milliseconds, at which a connection that began is looked for in connection tracking: older than a reset that is still to be read,
 * and younger than the shortest time for which the kernel keeps one (10 s after a reset).
 */
export const droppedYoungest = 2_000;
export const droppedOldest = 5_500;

/** Destinations with their endpoints for which one look searches a table that is too large to be read whole. */
export const droppedListings = 4;

/** Connections of one list that are counted by endpoint. */
export const talliedConnections = 100_000;

/** Frontends of one family and protocol for each of which a list is requested. More are selected from a list of all connections. */
export const talliedLists = 8;
