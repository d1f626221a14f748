/** Bounds of netlink sockets; docs/reference/limits.md lists them. */

/** Octets of the largest datagram that is taken. The kernel fills up to 32 KiB of a dump at once, and events are smaller. */
export const datagramBytes = 65_536;

/** Octets of requests that a socket may hold: one transaction is one datagram. */
export const sendBufferBytes = 64 * 1024 * 1024;

/** Octets of answers and events that may wait. The kernel takes the memory only when they do. */
export const receiveBufferBytes = 64 * 1024 * 1024;
