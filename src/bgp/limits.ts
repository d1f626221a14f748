/** The limits of BGP: everything that can grow has one. */

/** Octets of a message without RFC 8654, with header (RFC 4271 4.1). */
export const maximumMessageLength = 4096;

/** Octets of a message if both sides support RFC 8654, with header. */
export const maximumExtendedMessageLength = 65_535;

/** Number of faults kept for one UPDATE. The strongest fault, which decides, is always kept. */
export const maximumFaults = 32;

/**
 * Largest length of the path attributes of a route in octets, for the session that needs the most. The attributes and one IPv6 prefix must
 * fit into one UPDATE.
 */
export const maximumAttributeLength = 3900;

/** The same for a session with extended messages. */
export const maximumExtendedAttributeLength = 65_000;

/** Largest number of local AS numbers that a route may prepend to its AS_PATH. Many routers filter longer paths. */
export const maximumPrepend = 32;

/** Paths of one prefix that are sent to peers with ADD-PATH (RFC 7911): they are in a list that is read from its beginning. */
export const maximumPaths = 256;

/** Routes of each family that are kept of a peer with import rules, unless the rules have another maximum. */
export const maximumReceivedRoutes = 100_000;

/** Rules, and entries of each list of a rule, that a peer's import may have: a route is compared with each of them. */
export const maximumImportRules = 1_000;

/**
 * Paths of each peer, longer than /24 and /48, that are kept to find those for prefixes of ours. Later ones are not looked at: another speaker of
 * our prefix may then go unnoticed.
 */
export const maximumSpecificPaths = 1_024;

/** Paths for prefixes of ours that the status of a peer lists. */
export const maximumContendingPaths = 16;

/** Seconds for which routes of an earlier session wait in a new one for the peer's End-of-RIB (RFC 4724 4.2). */
export const endOfRibTime = 360;

/** Packed UPDATEs of one burst kept per update group for other members. */
export const maximumSharedUpdates = 4_096;

/** Routes of a list that are put in place in one turn of the event loop, so that sessions stay up while a long list is set. */
export const routesPerTurn = 32_768;

/** Prefixes in a part of a burst that is not merged with the next part: it fills a message by itself. */
export const longDelta = 1_024;

/**
 * Changes remembered for slow peers, per table. At this number, or at twice the changes that slow peers really wait for, changes that were
 * undone or repeated meanwhile are dropped.
 */
export const retainedChanges = 65_536;

/** UPDATEs sent in one turn of the event loop, so that timers and other sessions get their turns during a long burst. */
export const messagesPerTurn = 64;

/** Milliseconds for a closing connection to deliver its NOTIFICATION. */
export const lingerMilliseconds = 1_000;

/** Milliseconds for which a half-closed connection stays open after `destroy`, until the peer has taken the written data. */
export const drainMilliseconds = 5_000;

/** Seconds for a connection attempt. The kernel alone would try for two minutes. */
export const connectTimeout = 10;

/** Seconds to wait for the peer's OPEN: the "large value" of RFC 4271 8.2.2. */
export const openHoldTime = 240;

/** Seconds of the longest pause after repeated protocol errors. */
export const maximumBackoff = 60;

/** Seconds without a written octet after which a peer that does not read is given up (RFC 9687 4: the larger of this and 2 x hold time). */
export const minimumSendHoldTime = 480;

/** Octets of a shutdown communication (RFC 9003). */
export const maximumShutdownMessage = 255;

/** Octets of a TCP MD5 key, or of the secret of a TCP-AO key, on Linux (TCP_MD5SIG_MAXKEYLEN, TCP_AO_MAXKEYLEN). */
export const maximumPassword = 80;

/** TCP-AO keys of a peer. */
export const maximumTcpAoKeys = 16;

/** Routes that cannot be announced and are listed in a status. Further ones are only counted. */
export const maximumNotPossible = 100;

/** Steps of the state machine kept per session, for debugging. */
export const historyLength = 64;

/** Connections of one peer at a time, including those that still deliver their NOTIFICATION. Two are normal. */
export const maximumConnections = 8;

/** Peers of one speaker. */
export const maximumPeers = 1_024;

/** Address ranges of a peer group: the address of each connection is compared with them. */
export const maximumGroupRanges = 64;

/** Entries of a list of AS numbers that a peer may have. */
export const maximumAsnRanges = 64;

/** Seconds after establishment in which a second connection of the peer counts as a late one, not as a sign of a restart. */
export const collisionWindow = 1;

/** Seconds between attempts to listen. */
export const listenRetryTime = 5;

/** Seconds between two log lines about connections from addresses of no peer. */
export const strangerLogInterval = 60;

/** Seconds of the longest restart time in the capability (RFC 4724 3: 12 bits). */
export const maximumRestartTime = 4095;

/** Seconds of the longest stale time in the capability (RFC 9494 3: 24 bits). */
export const maximumStaleTime = 0xff_ffff;

/** Number of router advertisements sent in quick succession when unnumbered peering starts (RFC 4861 10). */
export const initialAdvertisements = 3;

/** Milliseconds between these advertisements, between answers to solicitations, and before a failed attempt is repeated. */
export const initialAdvertisementInterval = 3_000;

/** Milliseconds between later advertisements: a random time between the two, so that hosts do not synchronize. */
export const advertisementIntervals = { least: 10_000, most: 30_000 } as const;

/** Milliseconds of the longest random delay before the answer to a router solicitation (RFC 4861 10, MAX_RA_DELAY_TIME). */
export const advertisementDelay = 500;

/** Milliseconds between two reads of router messages, on each interface of an unnumbered peer. */
export const discoveryPollInterval = 200;

/** Router messages read at a time. */
export const discoveryPackets = 32;

/** Octets of a router message. Longer ones are ignored. */
export const routerMessageLength = 4_096;

/** Events of a peer kept for a slow reader of a stream. */
export const maximumQueuedEvents = 256;

/** Messages kept for a slow reader of a trace. */
export const maximumTracedMessages = 4_096;

/** Octets of these messages. */
export const maximumTracedOctets = 4 * 1024 * 1024;

/** Connections whose sequence numbers are kept for a capture file. */
export const maximumTracedConnections = 64;

/**
 * Parameters of flap damping. Three flaps within minutes cost nothing, so that a router can restart and return as fast as possible. The
 * fourth holds the session for 20 s less up to a quarter, and each further one for twice as long. After a quiet hour the penalty is almost
 * gone.
 */
export const damping = {
  penaltyOfFlap: 1_000,
  /** A session with at most this penalty is not held. */
  threshold: 3_000,
  maximumPenalty: 12_000,
  /** Seconds in which a penalty halves. */
  halfLife: 900,
  /** Seconds of the hold at the threshold. One flap above it is the first to hold the session, for twice this time. */
  firstHold: 10,
  /** In seconds. */
  longestHold: 300,
} as const;

/** Flaps of one session whose times are kept, for the count of the last hour. */
export const maximumFlapTimes = 1_000;

/**
 * Seconds by which the kernel's user timeout (RFC 5482) exceeds the send hold time. If a peer acknowledges data without reading it, the
 * send hold timer ends the session and reports why. The kernel ends only what that timer cannot detect.
 */
export const userTimeoutMargin = 30;

/** Seconds between two attempts to connect to a BMP collector. The pause doubles from the first to the longest (RFC 7854 3.2). */
export const bmpRetry = { first: 30, longest: 720 } as const;

/** Octets that are held for a BMP collector that does not read. */
export const bmpMaximumQueue = 8 * 1024 * 1024;

/** Routes that are read for a new BMP collector in one turn of the event loop. */
export const bmpRoutesPerTurn = 512;
