import { addressFromBytes, bitsOf, type Family } from '../../net/address.ts';
import { maskedPrefix, type Prefix } from '../../net/prefix.ts';

/**
 * A prefix as a map key: IPv4 as address x 64 + length (below 2^38, an exact number), IPv6 as address x 256 + length.
 * The two never collide, because a number and a bigint are different keys. Ten thousand prefixes are compared without
 * one string.
 */
export type PrefixKey = number | bigint;

export function prefixKey(prefix: Prefix): PrefixKey {
  return prefix.address.family === 4
    ? Number(prefix.address.value) * 64 + prefix.length
    : prefix.address.value * 256n + BigInt(prefix.length);
}

export function prefixOfKey(key: PrefixKey): Prefix {
  if (typeof key === 'number') return { address: { family: 4, value: BigInt(Math.floor(key / 64)) }, length: key % 64 };
  return { address: { family: 6, value: key >> 8n }, length: Number(key & 255n) };
}

export const familyOfKey = (key: PrefixKey): Family => (typeof key === 'number' ? 4 : 6);

/** Octets of the prefix on the wire: its length, and as many octets of the address as the length covers (RFC 4271 4.3). */
export function nlriLength(key: PrefixKey): number {
  return 1 + (((typeof key === 'number' ? key % 64 : Number(key & 255n)) + 7) >>> 3);
}

/** Writes the prefix and returns the offset behind it. The caller has made room. */
export function writeNlri(key: PrefixKey, bytes: Uint8Array, offset: number): number {
  if (typeof key === 'number') {
    const length = key % 64;
    const value = Math.floor(key / 64);
    bytes[offset++] = length;
    for (let bit = 0; bit < length; bit += 8) bytes[offset++] = (value >>> (24 - bit)) & 255;
    return offset;
  }
  const length = Number(key & 255n);
  bytes[offset++] = length;
  const octets = (length + 7) >>> 3;
  let rest = key >> BigInt(8 + 128 - octets * 8);
  for (let i = octets - 1; i >= 0; i--) {
    bytes[offset + i] = Number(rest & 255n);
    rest >>= 8n;
  }
  return offset + octets;
}

/** Number of prefixes; undefined where one is too long for the family or cut off. */
export function countNlri(family: Family, bytes: Uint8Array): number | undefined {
  const longest = bitsOf(family);
  let count = 0;
  let offset = 0;
  while (offset < bytes.length) {
    const length = bytes[offset] ?? 0;
    offset += 1 + ((length + 7) >>> 3);
    if (length > longest || offset > bytes.length) return undefined;
    count++;
  }
  return count;
}

/** The prefixes of bytes that `countNlri` accepted. Bits beyond the length are of no meaning (RFC 4271 4.3). */
export function* readNlri(family: Family, bytes: Uint8Array): Generator<Prefix> {
  const address = new Uint8Array(bitsOf(family) / 8);
  for (let offset = 0; offset < bytes.length;) {
    const length = bytes[offset] ?? 0;
    const end = offset + 1 + ((length + 7) >>> 3);
    address.fill(0);
    address.set(bytes.subarray(offset + 1, end));
    yield maskedPrefix(addressFromBytes(address), length);
    offset = end;
  }
}
