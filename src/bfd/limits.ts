/** The bounds of the BFD driver: everything that can grow stops at one of these. */

/** Sessions of one manager; those that are still saying goodbye are beside them, for `longestGoodbye` each. */
export const maximumSessions = 1024;

/** Milliseconds: the shortest interval that a session asks for or offers, unless the manager is told another; shorter ones are made this. */
export const minimumInterval = 10;

/** Milliseconds: the longest interval of a session. */
export const maximumInterval = 60_000;

/** Milliseconds: a shorter interval needs real-time priority, or a busy machine makes sessions flap (measured: docs/explanation/failure-modes.md). */
export const realTimeInterval = 100;

/** Silent intervals after which a peer is given up: the field has one octet. */
export const maximumDetectMultiplier = 255;

/** Milliseconds after which a session that was shut down is forgotten, whatever its peer's detection time. */
export const maximumClosingTime = 5_000;

/** Turns of the event loop that a peer's silence may be looked at again while what waits in the sockets is read. */
export const maximumDetectionTurns = 64;

/** Octets of a receiving socket in the kernel, where the kernel allows it: what comes during a stall waits there. */
export const receiveBufferBytes = 4_194_304;

/** Ports from which a session may send (RFC 5881 4). */
export const sourcePorts = { first: 49_152, last: 65_535 } as const;

/** Attempts to find a source port that is free. */
export const maximumPortAttempts = 32;

/** Multihop peers of one address family and interface: each needs a few instructions of a socket filter, of which Linux takes 4096. */
export const maximumMultihopPeers = 256;

/** Milliseconds between two looks of a session that does not send at whether it still hears. */
export const listenRetryInterval = 1_000;

/** Steps of a session that are remembered for the person who debugs it. */
export const historyLength = 32;
