/** Bounds of the nftables data plane; docs/reference/limits.md lists them. */

/** Up to this number of backends, each backend has exactly one slot. */
export const exactSlots = 64;

/**
 * The most slots of a frontend whose backends are drawn at random. With more backends, only the first ones (in the order of the frontend)
 * are used.
 */
export const maximumSlots = 1024;

/** Clients remembered for session affinity, per address family. Further clients are balanced on each connection. */
export const maximumAffinityClients = 65_536;

/** Destinations with their endpoints whose connections are noted at one time, per address family. Others are noted when there is room again. */
export const maximumBegunPairs = 1_024;

/** Interfaces whose new connections are counted at one time, per address family. Others are counted when one has had none for an hour. */
export const maximumEnteredInterfaces = 4_096;

/** Elements in one statement of a script. Keeps each netlink attribute below 64 KiB. */
export const elementsPerStatement = 400;

/** Elements after which a transaction ends and the next begins. A transaction that replaces a table has no such bound. */
export const elementsPerTransaction = 16_384;

/** Octets of elements in one netlink message. The length field of an attribute holds at most 65535. */
export const elementBytesPerMessage = 32_768;

/** Octets of one netlink transaction: about two million elements. */
export const maximumBatchBytes = 48 * 1024 * 1024;

/** Attempts at a transaction or a table read that fails with a transient error. */
export const maximumAttempts = 5;

/** Milliseconds after the first failed attempt, multiplied by the number of the attempt. */
export const attemptPause = 20;

/**
 * Size of a set above which the reader asks for the expected elements by key instead of listing the set. Needs a kernel that reports the
 * size (Linux 6.16).
 */
export const maximumListedElements = 131_072;

/** The same for maps of backends, whose elements the reader confirms: that is quicker than listing already for smaller maps. */
export const maximumListedBackends = 32_768;

/** Elements in one message when the reader confirms them. The kernel refuses a message as a whole. */
export const elementsPerConfirmation = 32;

/** Keys in one such request, and requests in one datagram. All replies of a datagram must fit into the socket's buffer. */
export const keysPerRequest = 1_000;
export const requestsPerDatagram = 16;

/** Missing keys after which the reader lists the whole set instead. */
export const maximumMissingKeys = 1_000;

/** Elements of our own transaction up to which its events are received. For a larger one, the agent compares generation numbers instead. */
export const maximumMonitoredElements = 10_000;

/** Milliseconds from a foreign change to the check. One transaction causes many events. */
export const repairDelay = 100;

/** Milliseconds between two repairs: a program that fights for the table must not keep a core busy. */
export const repairInterval = 1_000;

/** Milliseconds before a monitor that ended is restarted. Doubled each time up to the maximum, reset by an event. */
export const monitorRestart = { first: 200, maximum: 30_000 } as const;

/** Milliseconds within which a new monitor has subscribed. A check afterwards finds changes that it missed. */
export const monitorSettle = 300;

/** Descriptions of stale flows waiting for deletion. Beyond this number, all flows are compared with the frontends instead. */
export const maximumConntrackQueue = 4_096;

/**
 * Milliseconds for which deletions of unanswered TCP flows are collected. A client repeats its first packet after a second, then after two.
 * One deletion takes 11 ms of processor time where the kernel's table has 262,144 buckets, also when it is empty.
 */
export const unansweredPause = 1_000;

/** Unreachable routes of one node. */
export const maximumUnreachable = 10_000;

/**
 * Milliseconds between two checks for unreachable routes and rules that another program removed, where no events report it. Also the delay
 * before a failed change is retried.
 */
export const routeCheckInterval = 10_000;

/** Milliseconds before route events are subscribed again after they ended. */
export const routeWatchRestart = 1_000;

/** Milliseconds before events of links and addresses are subscribed again after they ended. */
export const linkWatchRestart = 1_000;

/** Milliseconds from a failed repair to the next attempt. */
export const repairRetry = 5_000;

/** The most quarantined frontends that are retried together with a later change. */
export const retriesPerBatch = 64;

/** Seconds without a packet after which a TCP connection no longer counts as active on this node. */
export const maximumQuietSeconds = 120;

/**
 * Other nodes that get a copy of an ICMP error about an answer under direct server return, the first by address in each family: so many on the
 * same link, and so many behind the tunnel.
 */
export const maximumErrorReceivers = 64;
