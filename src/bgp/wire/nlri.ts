import { defined } from '../../lang/defined.ts';
import assert from 'node:assert';
import { addressBytes, addressFromBytes, bitsOf, type Address, type Family } from '../../net/address.ts';
import { maskedPrefix, type Prefix } from '../../net/prefix.ts';
import { Reader } from './reader.ts';
import { concat, octets, u32 } from './writer.ts';

/** Encoded prefixes of one family. Nothing is allocated per prefix; `readPaths` decodes them. */
export interface Nlri {
  readonly family: Family;
  readonly bytes: Uint8Array;
  readonly count: number;
  /** The prefixes are in MP_REACH_NLRI or MP_UNREACH_NLRI. Otherwise they are in the fields of RFC 4271, which are for IPv4 only. */
  readonly multiprotocol: boolean;
  /** A path identifier precedes each prefix (RFC 7911 3). */
  readonly pathIds: boolean;
  /** Next hop of announced prefixes: 4 octets, 16, or 32 (global and link-local). */
  readonly nextHop?: Uint8Array;
}

/** A prefix of an UPDATE, with its path identifier on a session with ADD-PATH. */
export interface Path {
  readonly prefix: Prefix;
  readonly pathId?: number;
}

const pathIdLength = 4;

/** Counts the prefixes. Returns an error instead if a length is too long for the family or a prefix is cut off (RFC 7606 5.3). */
export function countNlri(family: Family, bytes: Uint8Array, pathIds = false): number | 'tooLong' | 'cutOff' {
  const longest = bitsOf(family);
  const before = pathIds ? pathIdLength : 0;
  let count = 0;
  let offset = 0;
  while (offset < bytes.length) {
    offset += before;
    const length = bytes[offset];
    if (length === undefined) return 'cutOff';
    if (length > longest) return 'tooLong';
    offset += 1 + ((length + 7) >>> 3);
    if (offset > bytes.length) return 'cutOff';
    count++;
  }
  return count;
}

/** Returns the addresses in the next hop of announced prefixes. */
export function nextHopsOf(octets: Uint8Array): Address[] {
  const parts = octets.length === 32 ? [octets.subarray(0, 16), octets.subarray(16)] : [octets];
  return parts.map((part) => addressFromBytes(part));
}

/**
 * Decodes the prefixes of octets that `countNlri` accepted, with their path identifiers if there are any. Bits beyond the length have no
 * meaning (RFC 4271 4.3).
 */
export function* readPaths({ family, bytes, pathIds }: Pick<Nlri, 'family' | 'bytes' | 'pathIds'>): Generator<Path> {
  const reader = new Reader(bytes);
  const address = new Uint8Array(bitsOf(family) / 8);
  while (reader.left > 0) {
    const pathId = pathIds ? { pathId: reader.u32() } : undefined;
    const length = reader.u8();
    address.fill(0);
    address.set(reader.take((length + 7) >>> 3));
    yield { prefix: maskedPrefix(addressFromBytes(address), length), ...pathId };
  }
}

/**
 * Encodes prefixes of one family, either all or none with a path identifier; 0 stands for a missing one. IPv6 prefixes go into the
 * multiprotocol attributes; IPv4 ones only with a next hop of 16 or 32 octets.
 */
export function nlriOf(family: Family, paths: readonly Path[], nextHop?: Uint8Array): Nlri {
  const pathIds = paths.some(({ pathId }) => pathId !== undefined);
  const bytes = concat(paths.map(({ prefix, pathId = 0 }) => octets(pathIds ? u32(pathId) : [], encodePrefix(family, prefix))));
  const multiprotocol = family === 6 || (nextHop !== undefined && nextHop.length !== 4);
  return { family, bytes, count: paths.length, multiprotocol, pathIds, ...defined({ nextHop }) };
}

/** Length in bits (1) | as many octets of the address as the length covers (RFC 4271 4.3). */
function encodePrefix(family: Family, { address, length }: Prefix): Uint8Array {
  assert(address.family === family, `a prefix of IPv${address.family} among those of IPv${family}`);
  return octets(length, addressBytes(address).subarray(0, (length + 7) >>> 3));
}
