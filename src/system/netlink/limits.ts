/** Bounds of netlink sockets; docs/reference/limits.md lists them. */

/** Octets of the largest datagram that is taken. The kernel fills up to 32 KiB of a dump at once, and events are smaller. */
export const datagramBytes = 65_536;

/** Octets of requests that a socket may hold: one transaction is one datagram. */
export const sendBufferBytes = 64 * 1024 * 1024;

/** Attempts to read a list that changes while it is read. */
export const dumpAttempts = 20;

/** Datagrams of events that are read in one turn of the event loop. */
export const datagramsPerPoll = 32;

/** Milliseconds between two looks for events. */
export const eventPoll = 100;

/** Requests that are handed over at once and answered one by one: the answers must fit into a socket without CAP_NET_ADMIN. */
export const requestsPerDatagram = 100;

/** Octets of answers and events that may wait. The kernel takes the memory only when they do. */
export const receiveBufferBytes = 64 * 1024 * 1024;
