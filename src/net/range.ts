import { bitsOf, compareAddresses, formatAddress, parseAddress, type Address } from './address.ts';
import { parsed, invalid, type Parsed } from './parsed.ts';
import { formatPrefix, lastAddress, parsePrefix, type Prefix } from './prefix.ts';

/** An inclusive range of addresses in one family, with `first <= last`. */
export interface AddressRange {
  readonly first: Address;
  readonly last: Address;
}

/** Reads "CIDR" or "first-last", the two forms in IPAddressPool.spec.addresses. */
export function parseRange(text: string): Parsed<AddressRange> {
  const dash = text.indexOf('-');
  if (dash < 0) {
    if (!text.includes('/')) return invalid('neither a CIDR nor a range: write 192.0.2.0/24 or 192.0.2.1-192.0.2.9');
    const cidr = parsePrefix(text);
    return cidr.ok ? parsed(rangeOfPrefix(cidr.value)) : cidr;
  }
  const first = parseAddress(text.slice(0, dash).trim());
  if (!first.ok) return invalid(`start of the range: ${first.problem}`);
  const last = parseAddress(text.slice(dash + 1).trim());
  if (!last.ok) return invalid(`end of the range: ${last.problem}`);
  if (first.value.family !== last.value.family) return invalid('a range cannot begin in one address family and end in the other');
  if (first.value.value > last.value.value) return invalid('the range ends before it begins: swap its two addresses');
  return parsed({ first: first.value, last: last.value });
}

export function rangeOfPrefix(prefix: Prefix): AddressRange {
  return { first: prefix.address, last: lastAddress(prefix) };
}

export function rangeContains(range: AddressRange, address: Address): boolean {
  return compareAddresses(range.first, address) <= 0 && compareAddresses(address, range.last) <= 0;
}

export function rangesOverlap(a: AddressRange, b: AddressRange): boolean {
  return a.first.family === b.first.family && a.first.value <= b.last.value && b.first.value <= a.last.value;
}

/** Returns the number of addresses, up to 2^128. */
export function rangeSize(range: AddressRange): bigint {
  return range.last.value - range.first.value + 1n;
}

/** Returns the fewest prefixes that cover exactly the range, in ascending order. There are at most 2 x 128. */
export function rangeToPrefixes(range: AddressRange): Prefix[] {
  const { family } = range.first;
  const bits = bitsOf(family);
  const prefixes: Prefix[] = [];
  let next = range.first.value;
  while (next <= range.last.value) {
    let hostBits = 0;
    while (hostBits < bits) {
      const size = 1n << BigInt(hostBits + 1);
      if (next % size !== 0n || next + size - 1n > range.last.value) break;
      hostBits++;
    }
    prefixes.push({ address: { family, value: next }, length: bits - hostBits });
    next += 1n << BigInt(hostBits);
  }
  return prefixes;
}

/** Returns a CIDR when the range is one, otherwise "first-last". */
export function formatRange(range: AddressRange): string {
  const [only, ...others] = rangeToPrefixes(range);
  if (only !== undefined && others.length === 0) return formatPrefix(only);
  return `${formatAddress(range.first)}-${formatAddress(range.last)}`;
}
