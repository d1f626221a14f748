/** Bounds of netlink sockets; docs/reference/limits.md lists them. */

/** Octets of the largest datagram that is received. The kernel fills at most 32 KiB of a dump at once, and events are smaller. */
export const datagramBytes = 65_536;

/** Octets of requests that a socket may hold. One transaction is one datagram. */
export const sendBufferBytes = 64 * 1024 * 1024;

/** Octets of memory that a writer of messages keeps from one transaction for the next: those of about 16,384 elements. */
export const keptWriterBytes = 4 * 1024 * 1024;

/** Attempts to read a list that keeps changing during the dump. */
export const dumpAttempts = 20;

/** Datagrams of events that are read in one turn of the event loop. */
export const datagramsPerPoll = 32;

/** Milliseconds between two polls for events. All sockets are polled together. */
export const eventPoll = 100;

/** The same while a signal of the kernel is awaited for the next event. */
export const restingEventPoll = 1_000;

/** Requests in one datagram that are acknowledged one by one. The answers must fit into a socket without CAP_NET_ADMIN. */
export const requestsPerDatagram = 100;

/** Octets of answers and events that may wait in the socket. The kernel allocates the memory only when needed. */
export const receiveBufferBytes = 64 * 1024 * 1024;
