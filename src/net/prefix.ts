import { bitsOf, compareAddresses, formatAddress, parseAddress, parseAddressLeniently, type Address, type Family } from './address.ts';
import { parsed, invalid, type Parsed } from './parsed.ts';

/** A CIDR prefix. Its host bits are always zero. `formatPrefix` serves as a map key. */
export interface Prefix {
  readonly address: Address;
  readonly length: number;
}

/** Reads "address/length" strictly: host bits must be zero. */
export function parsePrefix(text: string): Parsed<Prefix> {
  return readPrefix(text, parseAddress, false);
}

/** Accepts leading zeros and set host bits with a warning, as the API server does in Kubernetes' own objects. */
export function parsePrefixLeniently(text: string): Parsed<Prefix> {
  return readPrefix(text, parseAddressLeniently, true);
}

/** Parses a literal that is known to be valid, for constants and tests. Throws RangeError otherwise. */
export function prefix(text: string): Prefix {
  const result = parsePrefix(text);
  if (!result.ok) throw new RangeError(`${JSON.stringify(text)}: ${result.problem}`);
  return result.value;
}

export function formatPrefix(prefix: Prefix): string {
  return `${formatAddress(prefix.address)}/${prefix.length}`;
}

/** Returns the prefix of `length` that contains the address, with host bits cleared. */
export function maskedPrefix(address: Address, length: number): Prefix {
  const shift = BigInt(bitsOf(address.family) - length);
  return { address: { family: address.family, value: (address.value >> shift) << shift }, length };
}

/** Returns the /32 or /128 of an address. */
export function hostPrefix(address: Address): Prefix {
  return { address, length: bitsOf(address.family) };
}

export function isHostPrefix(prefix: Prefix): boolean {
  return prefix.length === bitsOf(prefix.address.family);
}

export function familyOf(prefix: Prefix): Family {
  return prefix.address.family;
}

export function prefixContains(prefix: Prefix, address: Address): boolean {
  if (prefix.address.family !== address.family) return false;
  const shift = BigInt(bitsOf(address.family) - prefix.length);
  return prefix.address.value >> shift === address.value >> shift;
}

/** Returns the rest of a prefix without the addresses of `hole`, as the fewest disjoint prefixes. */
export function withoutPrefix(prefix: Prefix, hole: Prefix): Prefix[] {
  if (prefixContains(hole, prefix.address) && hole.length <= prefix.length) return [];
  if (!prefixContains(prefix, hole.address) || hole.length < prefix.length) return [prefix];
  const length = prefix.length + 1;
  const upper = { family: familyOf(prefix), value: prefix.address.value + (1n << BigInt(bitsOf(familyOf(prefix)) - length)) };
  return [...withoutPrefix({ address: prefix.address, length }, hole), ...withoutPrefix({ address: upper, length }, hole)];
}

/** Returns the highest address of the prefix. */
export function lastAddress(prefix: Prefix): Address {
  const { family, value } = prefix.address;
  return { family, value: value + (1n << BigInt(bitsOf(family) - prefix.length)) - 1n };
}

/** Orders by address, then the shorter prefix first. A total order. */
export function comparePrefixes(a: Prefix, b: Prefix): number {
  return compareAddresses(a.address, b.address) || a.length - b.length;
}

function readPrefix(text: string, readAddress: (text: string) => Parsed<Address>, hostBits: boolean): Parsed<Prefix> {
  const slash = text.indexOf('/');
  if (slash < 0) return invalid('not a CIDR: write address/length, for example 192.0.2.0/24');
  const base = readAddress(text.slice(0, slash));
  if (!base.ok) return base;
  const digits = text.slice(slash + 1);
  const bits = bitsOf(base.value.family);
  if (!/^(0|[1-9][0-9]{0,2})$/.test(digits) || Number(digits) > bits) return invalid(`the prefix length is a number from 0 to ${bits}`);
  const value = Number(digits) === bits ? hostPrefix(base.value) : maskedPrefix(base.value, Number(digits));
  if (value.address.value !== base.value.value) {
    const problem = `has bits set beyond the prefix length: write ${formatPrefix(value)}`;
    if (!hostBits) return invalid(problem);
    return { ok: true, value, warning: problem };
  }
  return base.warning === undefined ? parsed(value) : { ok: true, value, warning: base.warning };
}
