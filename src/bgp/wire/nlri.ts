import { addressFromBytes, bitsOf, type Family } from '../../net/address.ts';
import { maskedPrefix, type Prefix } from '../../net/prefix.ts';

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
