/** The bounds of the BGP driver: everything that can grow stops at one of these. */

/** Octets of a message without RFC 8654, header included (RFC 4271 4.1). */
export const maximumMessageLength = 4096;

/** Octets of a message where both sides have RFC 8654, header included. */
export const maximumExtendedMessageLength = 65_535;

/** Faults of one UPDATE that are kept for its reader; the strongest, which decides, is always among them. */
export const maximumFaults = 32;

/** Octets of path attributes of one route, counted at their worst: they and one IPv6 prefix must fit into one UPDATE. */
export const maximumAttributeLength = 3900;

/** The same on a session with extended messages. */
export const maximumExtendedAttributeLength = 65_000;

/** Own AS numbers that a route may add to its AS_PATH: a longer path is filtered by many routers. */
export const maximumPrepend = 32;

/** Packed UPDATEs of one kind of session and one family that are kept for the other peers of that kind. */
export const maximumSharedUpdates = 128;

/** UPDATEs written in one turn of the event loop, so that timers and other sessions get their turn in a long burst. */
export const messagesPerTurn = 64;

/** Milliseconds that a closing connection may take to hand its NOTIFICATION over. */
export const lingerMilliseconds = 1_000;

/** Milliseconds for which a connection that was half closed and then given up lives on until the peer has taken what was written. */
export const drainMilliseconds = 5_000;

/** Seconds that a connection attempt may take: the kernel alone would go on for two minutes. */
export const connectTimeout = 10;

/** Seconds to wait for the peer's OPEN: the "large value" of RFC 4271 8.2.2. */
export const openHoldTime = 240;

/** Seconds: the longest pause after repeated protocol errors. */
export const maximumBackoff = 60;

/** Seconds without one octet written after which a peer that does not read is given up (RFC 9687 4: the larger of this and 2 x hold). */
export const minimumSendHoldTime = 480;

/** Octets of an RFC 9003 shutdown communication. */
export const maximumShutdownMessage = 255;

/** Octets of a TCP MD5 key that Linux takes (TCP_MD5SIG_MAXKEYLEN). */
export const maximumPassword = 80;

/** Routes that cannot be announced which a status lists one by one; the rest is counted. */
export const maximumNotPossible = 100;

/** Steps of the state machine that a session remembers for the person who debugs it. */
export const historyLength = 64;

/** Connections of one peer at a time, those included that are still handing over their NOTIFICATION; two are normal. */
export const maximumConnections = 8;

/** Peers of one speaker. */
export const maximumPeers = 256;

/** Seconds within which a second connection of an established peer counts as one that was on its way, not as a restart. */
export const collisionWindow = 1;

/** Seconds between attempts to listen after one that failed. */
export const listenRetryTime = 5;

/** Seconds between two log lines about connections from addresses that are no peers. */
export const strangerLogInterval = 60;

/** Seconds: the longest restart time that the capability has room for (RFC 4724 3: 12 bits). */
export const maximumRestartTime = 4095;

/** Seconds: the longest stale time that the capability has room for (RFC 9494 3: 24 bits). */
export const maximumStaleTime = 0xff_ffff;

/** Router advertisements that are sent soon one after the other when peering without addresses begins (RFC 4861 10). */
export const initialAdvertisements = 3;

/** Milliseconds between these, between the answers to router solicitations, and until a failed attempt is repeated. */
export const initialAdvertisementInterval = 3_000;

/** Milliseconds between later advertisements: a random time between the two, so that hosts do not fall into step. */
export const advertisementIntervals = { least: 10_000, most: 30_000 } as const;

/** Milliseconds: the longest random delay of the answer to a router solicitation (RFC 4861 10, MAX_RA_DELAY_TIME). */
export const advertisementDelay = 500;

/** Milliseconds between two looks for router messages, on each interface with a peer without address. */
export const discoveryPollInterval = 200;

/** Router messages that are read at one look. */
export const discoveryPackets = 32;

/** Octets of a router message: a longer one is ignored. */
export const routerMessageLength = 4_096;

/** Events of a peer that a stream keeps for a program that does not take them. */
export const maximumQueuedEvents = 256;

/** Messages that a trace keeps for a program that does not take them. */
export const maximumTracedMessages = 4_096;

/** Octets of them. */
export const maximumTracedOctets = 4 * 1024 * 1024;

/** Connections of a trace whose sequence numbers are remembered for a capture file. */
export const maximumTracedConnections = 64;

/**
 * How sessions that flap are held back. Three flaps within minutes cost nothing, so that a router may restart and come back as fast as it
 * can; the fourth holds for 20 s less up to a quarter, each further one for twice as long. After a quiet hour the worst is as good as forgotten.
 */
export const damping = {
  penaltyOfFlap: 1_000,
  /** Up to here a session is tried again as ever. */
  threshold: 3_000,
  maximumPenalty: 12_000,
  /** Seconds in which a penalty halves. */
  halfLife: 900,
  /** Seconds, at the threshold: one flap above it is the first to be held back, for twice that. */
  firstHold: 10,
  /** Seconds. */
  longestHold: 300,
} as const;

/** Flaps of one session whose times are remembered, for the count of the last hour. */
export const maximumFlapTimes = 1_000;

/**
 * Seconds by which the kernel's user timeout (RFC 5482) is longer than the send hold time: a peer that acknowledges and does not read is judged
 * by the send hold timer, which says so, and the kernel only gives up what that timer cannot see.
 */
export const userTimeoutMargin = 30;
