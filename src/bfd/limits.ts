/** The limits of BFD: everything that can grow has one. */

/** Sessions of one manager. Sessions that are closing come on top, for at most `maximumClosingTime` each. */
export const maximumSessions = 1024;

/** Shortest interval of a session in milliseconds, unless the manager has another one. Shorter intervals are raised to it. */
export const minimumInterval = 10;

/** Longest interval of a session, in milliseconds. */
export const maximumInterval = 60_000;

/**
 * Milliseconds. Shorter intervals need real-time priority, because sessions flap on a busy machine otherwise (measured:
 * docs/explanation/failure-modes.md).
 */
export const realTimeInterval = 100;

/** Largest detect multiplier. The field has one octet. */
export const maximumDetectMultiplier = 255;

/** Milliseconds after which a closing session is released, whatever the detection time of its peer. */
export const maximumClosingTime = 5_000;

/** Milliseconds. The longest time by which packets and checks of the detection time are moved to be done together with others. */
export const longestSlot = 7.5;

/** Turns of the event loop for which an expired detection time may be deferred while the sockets are drained. */
export const maximumDetectionTurns = 64;

/** Octets of the receive buffer of a socket, if the kernel allows it. Packets wait there during a stall. */
export const receiveBufferBytes = 4_194_304;

/** Datagrams that are received with one system call. */
export const receiveBatch = 32;

/** Milliseconds. A datagram so soon after others belongs to the same turn of the event loop. */
export const gatheringInterval = 0.1;

/** Source ports of sessions (RFC 5881 4). */
export const sourcePorts = { first: 49_152, last: 65_535 } as const;

/** Attempts to find a free source port. */
export const maximumPortAttempts = 32;

/** Multihop peers per address family and interface. Each needs a few instructions of a socket filter, and Linux allows 4096. */
export const maximumMultihopPeers = 256;

/** Milliseconds between two checks of the receiving socket by a session that does not send. */
export const listenRetryInterval = 1_000;

/** State changes kept per session, for debugging. */
export const historyLength = 32;
