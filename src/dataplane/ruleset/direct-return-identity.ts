import { addressBytes, formatAddress, type Address, type Family } from '../../net/address.ts';

/**
 * What marks our rules, routes and tunnels, and how a node is known in them: by numbers that are made of its address, so that
 * they are the same after a restart. docs/explanation/direct-return.md lists them.
 */

/** The highest octet of the packet mark of what is passed on, and of the routing tables. */
const markOctet = 0x68;
export const markMask = '0x68000000/0xff000000';

/**
 * In order: what the node itself sends skips the rest, as a packet around which a tunnel puts another has the mark inside and out; so does
 * what is not passed on; one rule for each node; what finds no route must not take another.
 */
export const preferences = { own: 32_139, skip: 32_140, node: 32_141, lost: 32_142, end: 32_143 } as const;

/** VNI and port (RFC 7348) of the tunnels. */
export const tunnelIdentity = 152;
export const tunnelPort = 4789;
export const tunnelPrefix = 'herald-vx';
export const tunnelName = (family: Family): string => `${tunnelPrefix}${family}`;

/** Packet mark and number of the routing table of a node. Two of a thousand nodes share one with a probability of 3 %: see `planPaths`. */
export function markOf(node: Address): number {
  return (markOctet * 0x100_0000 + (digest(node) & 0xff_ffff)) >>> 0;
}

/** The address of a node's tunnel on the link that the tunnels make; locally administered (IEEE 802, second bit of the first octet). */
export function tunnelLinkAddress(node: Address): string {
  return ['02', '98', ...fourOctets(node)].join(':');
}

/** The next hop inside of the tunnel. In IPv6 one that is not also on another link, which the kernel would refuse. */
export function tunnelNextHop(node: Address): string {
  if (node.family === 4) return formatAddress(node);
  return formatAddress({ family: 6, value: (0xfe80n << 112n) | (0x98n << 32n) | BigInt(digest(node)) });
}

/** Those of an IPv4 address itself. */
function fourOctets(node: Address): string[] {
  const value = node.family === 4 ? Number(node.value) : digest(node);
  return [24, 16, 8, 0].map((shift) => ((value >>> shift) & 0xff).toString(16).padStart(2, '0'));
}

/** FNV-1a, whose upper half is folded into the lower. */
function digest(node: Address): number {
  let hash = 0x811c_9dc5;
  for (const octet of addressBytes(node)) hash = Math.imul(hash ^ octet, 0x0100_0193);
  return (hash ^ (hash >>> 16)) >>> 0;
}
