import { MalformedNetlink } from './error.ts';

/**
 * One attribute of a message (struct nlattr):
 *
 *     0               2               4
 *     +---------------+---------------+---------
 *     | length        | flags, type   | value, padded to a multiple of four octets
 *     +---------------+---------------+---------
 *
 * The length counts the header and not the padding. Both numbers are in the byte order of the machine.
 */
interface Attribute {
  readonly type: number;
  /** Offset of the attribute's header in the octets that were read. */
  readonly offset: number;
  readonly value: Uint8Array;
}

export const attributeHeaderBytes = 4;
const typeMask = 0x3fff;

/** Lists the attributes in order. Throws MalformedNetlink when one does not fit. Fewer than four octets at the end are padding. */
export function listAttributes(bytes: Uint8Array): Attribute[] {
  const attributes: Attribute[] = [];
  let offset = 0;
  while (offset + attributeHeaderBytes <= bytes.length) {
    const length = (bytes[offset] ?? 0) | ((bytes[offset + 1] ?? 0) << 8);
    const type = ((bytes[offset + 2] ?? 0) | ((bytes[offset + 3] ?? 0) << 8)) & typeMask;
    if (length < attributeHeaderBytes || offset + length > bytes.length)
      throw new MalformedNetlink(`attribute ${type} at ${offset} has the length ${length} in ${bytes.length} octets`);
    attributes.push({ type, offset, value: bytes.subarray(offset + attributeHeaderBytes, offset + length) });
    offset += aligned(length);
  }
  return attributes;
}

/** Returns the attributes by type. When a type occurs several times, the last one counts. */
export function readAttributes(bytes: Uint8Array): ReadonlyMap<number, Uint8Array> {
  const attributes = new Map<number, Uint8Array>();
  for (const { type, value } of listAttributes(bytes)) attributes.set(type, value);
  return attributes;
}

/** Reads a number in network byte order, as nf_tables writes them. Throws MalformedNetlink unless there are four octets. */
export function readNumber(value: Uint8Array): number {
  if (value.length !== 4) throw new MalformedNetlink(`a number has four octets, not ${value.length}`);
  return (((value[0] ?? 0) << 24) | ((value[1] ?? 0) << 16) | ((value[2] ?? 0) << 8) | (value[3] ?? 0)) >>> 0;
}

/** Reads a number in the byte order of the machine, as rtnetlink writes them. Undefined: there are not four octets. */
export function readHostNumber(octets: Uint8Array | undefined): number | undefined {
  return octets?.length === 4 ? new DataView(octets.buffer, octets.byteOffset).getUint32(0, true) : undefined;
}

/** Reads text up to its terminating zero, or to the end. */
export function readText(value: Uint8Array): string {
  const end = value.indexOf(0);
  return Buffer.from(value.buffer, value.byteOffset, end < 0 ? value.length : end).toString('latin1');
}

export const aligned = (length: number): number => (length + 3) & ~3;
