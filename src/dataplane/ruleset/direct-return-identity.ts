import { addressBytes, type Address, type Family } from '../../net/address.ts';

/**
 * Numbers that mark our rules, routes and tunnels, and that identify a node in them. A node's numbers are computed from its address, so
 * they are the same after a restart. docs/explanation/direct-return.md lists them.
 */

/** The highest octet of the packet mark of packets sent to another node, and of the numbers of the routing tables. */
const markOctet = 0x68;
export const markMask = '0x68000000/0xff000000';

/**
 * Preferences of our routing rules, in order:
 *
 * - `copies`: what a rule of nf_tables sends out by the tunnel itself finds its next hop there: it has no mark.
 * - `own`: packets of the node itself skip the rest, because a packet that a tunnel wraps carries the mark inside and outside.
 * - `skip`: packets without our mark skip the rest.
 * - `node`: one rule for each node.
 * - `lost`: marked packets without a route are dropped, so that they cannot take another route.
 * - `end`: the target of the skips.
 */
export const preferences = { copies: 32_138, own: 32_139, skip: 32_140, node: 32_141, lost: 32_142, end: 32_143 } as const;

/** VNI and port (RFC 7348) of the tunnels. */
export const tunnelIdentity = 152;
export const tunnelPort = 4789;
export const tunnelPrefix = 'herald-vx';
export const tunnelName = (family: Family): string => `${tunnelPrefix}${family}`;

/**
 * Returns the number of a tunnel as an interface, and of the routing table for what is sent out by it. It is fixed, so that rules can name the
 * tunnel before it is there. The kernel counts interfaces from 1.
 */
export const tunnelIndex = (family: Family): number => markOctet * 0x100_0000 + tunnelIdentity * 0x100 + family;

/**
 * Returns the packet mark of a node, which is also the number of its routing table. Among a thousand nodes, two share a mark with a
 * probability of 3 %: see `planPaths`.
 */
export function nodeMark(node: Address): number {
  return (markOctet * 0x100_0000 + (digest(node) & 0xff_ffff)) >>> 0;
}

/** Returns the address of a node's tunnel device on the overlay link. Locally administered (IEEE 802, second bit of the first octet). */
export function tunnelLinkAddress(node: Address): string {
  return ['02', '98', ...fourOctets(node)].join(':');
}

/** Returns the next hop inside the tunnel. In IPv6, an address that is on no other link, because the kernel refuses an ambiguous one. */
export function tunnelNextHop(node: Address): Address {
  return node.family === 4 ? node : { family: 6, value: (0xfe80n << 112n) | (0x98n << 32n) | BigInt(digest(node)) };
}

/** Returns the four octets of an IPv4 address, or of the digest of an IPv6 address. */
function fourOctets(node: Address): string[] {
  const value = node.family === 4 ? Number(node.value) : digest(node);
  return [24, 16, 8, 0].map((shift) => ((value >>> shift) & 0xff).toString(16).padStart(2, '0'));
}

/** FNV-1a with the upper half folded into the lower. */
function digest(node: Address): number {
  let hash = 0x811c_9dc5;
  for (const octet of addressBytes(node)) hash = Math.imul(hash ^ octet, 0x0100_0193);
  return (hash ^ (hash >>> 16)) >>> 0;
}
