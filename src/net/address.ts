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
  const plain = plainIpv4(text);
  return plain === undefined ? examineIpv4(text, leadingZeros) : parsed({ family: 4, value: BigInt(plain) });
}

/**
 * Reads four decimal octets without leading zeros. Returns undefined for any other text. A list of a million routes is checked in one turn
 * of the event loop, and `examineIpv4` would take seconds for it.
 */
function plainIpv4(text: string): number | undefined {
  let value = 0;
  let dots = 0;
  let octet: number | undefined;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (digit >= 0 && digit <= 9) {
      if (octet === 0) return undefined;
      octet = (octet ?? 0) * 10 + digit;
      if (octet > 255) return undefined;
    } else {
      if (text[i] !== '.' || octet === undefined) return undefined;
      value = value * 256 + octet;
      octet = undefined;
      dots++;
    }
  }
  return octet === undefined || dots !== 3 ? undefined : value * 256 + octet;
}

/** Says what is wrong with a text that is not plain. Also reads octets with leading zeros where they are accepted. */
function examineIpv4(text: string, leadingZeros: boolean): Parsed<Address> {
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
  const plain = plainIpv6(text);
  return plain === undefined ? examineIpv6(text) : parsed({ family: 6, value: plain });
}

/** Reads groups of hexadecimal digits with at most one "::". Returns undefined for any other text. As fast as `plainIpv4`. */
function plainIpv6(text: string): bigint | undefined {
  if (text.length > longestPlainIpv6) return undefined;
  const groups: number[] = [];
  let gap: number | undefined;
  for (let i = 0; i < text.length;) {
    if (text.startsWith('::', i)) {
      if (gap !== undefined) return undefined;
      gap = groups.length;
      i += 2;
      if (i === text.length) break;
    } else if (i > 0 && text[i++] !== ':') {
      return undefined;
    }
    let group = 0;
    const end = i + 4;
    const start = i;
    for (let digit = hexDigit(text, i); digit !== undefined && i < end; digit = hexDigit(text, ++i)) group = group * 16 + digit;
    if (i === start) return undefined;
    groups.push(group);
  }
  if (gap === undefined ? groups.length !== 8 : groups.length > 7) return undefined;
  const from = gap ?? 8;
  const missing = 8 - groups.length;
  const at = (n: number): number => (n < from ? groups[n] : n < from + missing ? 0 : groups[n - missing]) ?? 0;
  const high = bits48(at(0), at(1), at(2));
  const middle = bits48(at(3), at(4), at(5));
  if (high === 0n && middle === 0xffffn) return undefined; // an IPv4-mapped address
  return (high << 80n) | (middle << 32n) | bits48(0, at(6), at(7));
}

/** Eight groups of four digits, and the colons between them. */
const longestPlainIpv6 = 39;

const bits48 = (a: number, b: number, c: number): bigint => BigInt(a * 0x1_0000_0000 + b * 0x1_0000 + c);

/** Returns the value of the hexadecimal digit at this position, if there is one. */
function hexDigit(text: string, at: number): number | undefined {
  const code = text.charCodeAt(at);
  if (code >= 48 && code <= 57) return code - 48;
  const letter = (code | 32) - 87;
  return letter >= 10 && letter <= 15 ? letter : undefined;
}

/** Says what is wrong with a text that is not plain. Also reads an IPv4 address at the end (RFC 4291 2.2, form 3). */
function examineIpv6(text: string): Parsed<Address> {
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
