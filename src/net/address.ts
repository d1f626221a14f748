import { parsed, invalid, type Parsed } from './parsed.ts';

/** IP version, as in "address family". */
export type Family = 4 | 6;

/** An IPv4 or IPv6 address. Immutable; compare with `sameAddress`, use `formatAddress` as a map key. */
export interface Address {
  readonly family: Family;
  /** The address as an unsigned integer: below 2^32 for IPv4, below 2^128 for IPv6. */
  readonly value: bigint;
}

export const bitsOf = (family: Family): 32 | 128 => (family === 4 ? 32 : 128);

export function sameAddress(a: Address, b: Address): boolean {
  return a.family === b.family && a.value === b.value;
}

/** Orders IPv4 before IPv6, then numerically. A total order. */
export function compareAddresses(a: Address, b: Address): number {
  if (a.family !== b.family) return a.family - b.family;
  return a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
}

/** Returns the family of an address or prefix that is valid text. */
export function familyOfText(text: string): Family {
  return text.includes(':') ? 6 : 4;
}

/**
 * Reads one address strictly. IPv4 is four decimal octets without leading zeros (RFC 6943 3.1.1 explains why other forms are a security
 * hole). IPv6 is any form of RFC 4291 2.2, without a zone and not IPv4-mapped.
 */
export function parseAddress(text: string): Parsed<Address> {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text, false);
}

/**
 * Like `parseAddress`, but reads leading zeros in IPv4 octets as decimal and returns a warning. Old Kubernetes objects contain them, and
 * kube-proxy reads them this way (KEP-4858, "bad IPs").
 */
export function parseAddressLeniently(text: string): Parsed<Address> {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text, true);
}

/** Parses a literal that is known to be valid, for constants and tests. Throws RangeError otherwise. */
export function address(text: string): Address {
  const result = parseAddress(text);
  if (!result.ok) throw new RangeError(`${JSON.stringify(text)}: ${result.problem}`);
  return result.value;
}

/** Returns the canonical text: dotted quad or RFC 5952. Equal addresses have equal text, so it serves as a map key. */
export function formatAddress(address: Address): string {
  return address.family === 4 ? formatIpv4(address.value) : formatIpv6(address.value);
}

/** Returns 4 or 16 octets in network byte order. */
export function addressBytes(address: Address): Uint8Array {
  const bytes = new Uint8Array(bitsOf(address.family) / 8);
  let rest = address.value;
  for (let i = bytes.length - 1; i >= 0; i--) {
    bytes[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return bytes;
}

/** The inverse of `addressBytes`. Throws RangeError unless there are 4 or 16 octets. */
export function addressFromBytes(bytes: Uint8Array): Address {
  if (bytes.length !== 4 && bytes.length !== 16) throw new RangeError(`an address has 4 or 16 octets, not ${bytes.length}`);
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return { family: bytes.length === 4 ? 4 : 6, value };
}

/** True for addresses in fe80::/10 (RFC 4291 2.5.6). */
export function isLinkLocal(address: Address): boolean {
  return address.family === 6 && address.value >> 118n === 0x3fan;
}

function parseIpv4(text: string, leadingZeros: boolean): Parsed<Address> {
  const octets = text.split('.');
  if (octets.length !== 4) {
    return invalid(/^[0-9.]+$/.test(text) ? `an IPv4 address has four octets, this has ${octets.length}` : 'not an IP address');
  }
  let value = 0n;
  let padded = false;
  for (const octet of octets) {
    if (!/^[0-9]{1,3}$/.test(octet)) return invalid('not an IP address: each octet is a decimal number from 0 to 255');
    if (octet.length > 1 && octet.startsWith('0')) {
      if (!leadingZeros) return invalid(`octet ${octet} has a leading zero, which some programs read as octal: write ${Number(octet)}`);
      padded = true;
    }
    if (Number(octet) > 255) return invalid(`octet ${octet} is above 255`);
    value = (value << 8n) | BigInt(octet.replace(/^0+(?=.)/, ''));
  }
  const result: Address = { family: 4, value };
  if (!padded) return parsed(result);
  return { ok: true, value: result, warning: `has leading zeros, read as decimal: write ${formatAddress(result)}` };
}

function parseIpv6(text: string): Parsed<Address> {
  if (text.includes('%')) return invalid('an address with a zone (%...) is not accepted here');
  if (text.length > 45) return invalid('not an IPv6 address: too long');
  const halves = text.split('::');
  if (halves.length > 2) return invalid('not an IPv6 address: "::" may appear once');
  const head = groupsOf(halves[0] ?? '', halves.length === 1);
  const tail = halves.length === 2 ? groupsOf(halves[1] ?? '', true) : [];
  if (head === undefined || tail === undefined) return invalid('not an IPv6 address');
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return invalid('not an IPv6 address: it needs eight groups of 16 bits');
  let value = 0n;
  for (const group of [...head, ...Array<number>(missing).fill(0), ...tail]) value = (value << 16n) | BigInt(group);
  if (value >> 32n === 0xffffn) return invalid(`an IPv4-mapped address: write ${formatIpv4(value & 0xffffffffn)}`);
  return parsed({ family: 6, value });
}

/** Returns the 16-bit groups of one side of "::". The last group may be a dotted quad where `mayEndInIpv4` is true. */
function groupsOf(text: string, mayEndInIpv4: boolean): number[] | undefined {
  if (text === '') return [];
  const groups: number[] = [];
  const parts = text.split(':');
  for (const [index, part] of parts.entries()) {
    if (mayEndInIpv4 && index === parts.length - 1 && part.includes('.')) {
      const quad = parseIpv4(part, false);
      if (!quad.ok) return undefined;
      groups.push(Number(quad.value.value >> 16n), Number(quad.value.value & 0xffffn));
    } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) {
      groups.push(Number.parseInt(part, 16));
    } else {
      return undefined;
    }
  }
  return groups;
}

function formatIpv4(value: bigint): string {
  const n = Number(value);
  return `${n >>> 24}.${(n >>> 16) & 255}.${(n >>> 8) & 255}.${n & 255}`;
}

/**
 * Formats by RFC 5952 section 4: lower case, no leading zeros, and "::" for the longest run of two or more zero groups (the first if
 * equal).
 */
function formatIpv6(value: bigint): string {
  if (value >> 32n === 0xffffn) return `::ffff:${formatIpv4(value & 0xffffffffn)}`; // RFC 5952 section 5
  const groups: string[] = [];
  for (let shift = 112n; shift >= 0n; shift -= 16n) groups.push(((value >> shift) & 0xffffn).toString(16));
  let best = { start: -1, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (groups[start + length] === '0') length++;
    if (length > best.length) best = { start, length };
    if (length > 0) start += length - 1;
  }
  if (best.start < 0) return groups.join(':');
  return `${groups.slice(0, best.start).join(':')}::${groups.slice(best.start + best.length).join(':')}`;
}
