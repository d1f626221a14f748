/** Bounds of the nftables data plane; docs/reference/limits.md lists them. */

/** Up to this many backends every backend has one slot of its own. */
export const exactSlots = 64;

/** The most slots of a frontend whose backends are drawn at random. Of more backends than this, the first ones (in the order of the frontend) are used. */
export const maximumSlots = 1024;

/** Clients remembered for session affinity, per address family; beyond that, further clients are balanced afresh. */
export const maximumAffinityClients = 65_536;

/** Elements in one statement of a script: keeps each netlink attribute below 64 KiB. */
export const elementsPerStatement = 400;

/** Elements after which a transaction ends and the next begins, unless it replaces a table. */
export const elementsPerTransaction = 16_384;

/** Octets of elements in one netlink message: an attribute's length field holds 65535. */
export const elementBytesPerMessage = 32_768;

/** Octets of one transaction by netlink: about two million elements. */
export const maximumBatchBytes = 48 * 1024 * 1024;

/** Attempts at a transaction, or at reading a table, that the kernel refuses for a reason that passes. */
export const maximumAttempts = 5;

/** Milliseconds after the first such attempt; after the second it is twice as long, and so on. */
export const attemptPause = 20;

/** Elements of a set above which the kernel is asked for those that are wanted, as far as it tells their number (Linux 6.16). */
export const maximumListedElements = 131_072;

/** Keys in one such request, and requests in one datagram: the answers have to fit into the socket's buffer. */
export const keysPerRequest = 1_000;
export const requestsAtOnce = 16;

/** Keys that the kernel does not have, after which the set is listed after all. */
export const maximumMissingKeys = 1_000;

/** Elements of a transaction of ours whose events are listened to; of a larger one the number is compared. */
export const maximumHeardElements = 10_000;

/** Bytes of output taken from one command; a listing of 300,000 elements is about 40 MB. */
export const maximumOutputBytes = 512 * 1024 * 1024;

/** Milliseconds after which a command is taken for hung and ended. */
export const commandTimeout = 60_000;

/** Milliseconds from a foreign change to its check: one transaction makes many events. */
export const repairDelay = 100;

/** Milliseconds between two repairs: another program that fights for the table must not keep a core busy. */
export const repairInterval = 1_000;

/** Milliseconds before a monitor that ended is started again: doubled each time up to the maximum, reset by an event. */
export const monitorRestart = { first: 200, maximum: 30_000 } as const;

/** Milliseconds a monitor needs at most until it has subscribed; a check afterwards finds what it missed. */
export const monitorSettle = 300;

/** Bytes of one line of the monitor; the rest of a longer line is ignored, its beginning says all that is needed. */
export const maximumMonitorLine = 4_096;

/** Kinds of flows to be forgotten that wait at any time; beyond, all flows are compared with the frontends. */
export const maximumConntrackQueue = 4_096;

/** Unreachable routes of one node. */
export const maximumUnreachable = 10_000;

/**
 * Milliseconds between two looks for unreachable routes and rules that another program removed, where no events tell of it; also
 * until what could not be done is tried again.
 */
export const routeCheckInterval = 10_000;

/** Milliseconds after events of routes have ended until they are asked for again. */
export const routeWatchRestart = 1_000;

/** Milliseconds after a repair that failed until the next attempt. */
export const repairRetry = 5_000;

/** Quarantined frontends that are tried again with a later change, at most. */
export const retriesPerBatch = 64;

/** A TCP connection of which no packet came for this many seconds no longer counts as one that goes on through this node. */
export const maximumQuietSeconds = 120;
