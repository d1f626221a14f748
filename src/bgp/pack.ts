import assert from 'node:assert';
import type { Bucket, FamilyRib } from './family-rib.ts';
import { maximumMessageLength } from './limits.ts';
import { noSlot } from './prefix-table.ts';
import { attributeFlags as flags } from './wire/attributes.ts';
import { attributeType as type, messageType, safi } from './wire/codes.ts';
import { headerLength } from './wire/message.ts';
import { afiOf } from './wire/update.ts';
import { octets, u16 } from './wire/writer.ts';

export interface Packed {
  readonly message: Uint8Array;
  /** How many prefixes of the bucket the message carries: its first ones, at least one. */
  readonly count: number;
}

/** What comes before and behind the prefixes of an announcement. */
export interface Announcement {
  /** In ascending order of type, without MP_REACH_NLRI. */
  readonly attributes: Uint8Array;
  /** Of MP_REACH_NLRI; undefined where the prefixes go into the NLRI field. */
  readonly multiprotocolNextHop: Uint8Array | undefined;
}

/** Header and two length fields, RFC 4271 4.3. */
const fixedLength = headerLength + 4;
/** Header of an attribute with the extended length. */
const attributeHeader = 4;

/** One UPDATE that withdraws as many prefixes of the bucket as fit. */
export function packWithdrawals(rib: FamilyRib, bucket: Bucket): Packed {
  const { family } = rib.table;
  if (family === 4) {
    const { count, length } = fit(rib, bucket, maximumMessageLength - fixedLength);
    const message = header(fixedLength + length);
    writeU16(message, headerLength, length);
    writePrefixes(rib, bucket, count, message, headerLength + 2);
    return { message, count };
  }
  const head = octets(u16(afiOf(family)), safi.unicast);
  const { count, length } = fit(rib, bucket, maximumMessageLength - fixedLength - attributeHeader - head.length);
  const attribute = attributeHead(type.mpUnreach, head.length + length);
  const message = header(fixedLength + attribute.length + head.length + length);
  writeU16(message, headerLength + 2, attribute.length + head.length + length);
  message.set(attribute, fixedLength);
  message.set(head, fixedLength + attribute.length);
  writePrefixes(rib, bucket, count, message, fixedLength + attribute.length + head.length);
  return { message, count };
}

/** One UPDATE that announces as many prefixes of the bucket as fit. */
export function packAnnouncements(rib: FamilyRib, bucket: Bucket, announcement: Announcement, maximumLength: number): Packed {
  const { attributes, multiprotocolNextHop: nextHop } = announcement;
  if (nextHop === undefined) {
    const fixed = fixedLength + attributes.length;
    const { count, length } = fit(rib, bucket, lengthFor(fixed, maximumLength) - fixed);
    const message = header(fixed + length);
    writeU16(message, headerLength + 2, attributes.length);
    message.set(attributes, fixedLength);
    writePrefixes(rib, bucket, count, message, fixed);
    return { message, count };
  }
  const head = octets(u16(afiOf(rib.table.family)), safi.unicast, nextHop.length, nextHop, 0);
  const fixed = fixedLength + attributeHeader + head.length + attributes.length;
  const { count, length } = fit(rib, bucket, lengthFor(fixed, maximumLength) - fixed);
  const attribute = attributeHead(type.mpReach, head.length + length);
  const block = attribute.length + head.length + length + attributes.length;
  const message = header(fixedLength + block);
  writeU16(message, headerLength + 2, block);
  // MP_REACH_NLRI goes first, so that a receiver finds the prefixes even if a later attribute is broken (RFC 7606 5.1).
  message.set(attribute, fixedLength);
  message.set(head, fixedLength + attribute.length);
  const end = writePrefixes(rib, bucket, count, message, fixedLength + attribute.length + head.length);
  message.set(attributes, end);
  return { message, count };
}

/** Peers read messages of the classic length no slower than long ones: only large attributes make longer ones worth while. */
function lengthFor(fixed: number, maximumLength: number): number {
  return fixed > maximumMessageLength / 2 ? maximumLength : Math.min(maximumLength, maximumMessageLength);
}

/** The header of the message, and zeros behind it. */
function header(length: number): Uint8Array {
  const message = new Uint8Array(length);
  message.fill(0xff, 0, 16);
  writeU16(message, 16, length);
  message[18] = messageType.update;
  return message;
}

function attributeHead(attribute: number, length: number): Uint8Array {
  const flag = flags.optionalNonTransitive;
  return length > 255 ? octets(flag | flags.extendedLength, attribute, u16(length)) : octets(flag, attribute, length);
}

function writeU16(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value >>> 8;
  bytes[offset + 1] = value;
}

/** How many of the first prefixes fit into `room` octets, and the octets they take. */
function fit(rib: FamilyRib, bucket: Bucket, room: number): { readonly count: number; readonly length: number } {
  let length = 0;
  let count = 0;
  for (let slot = bucket.first; slot !== noSlot; slot = rib.after(slot)) {
    const octets = rib.table.octets(slot);
    if (length + octets > room) break;
    length += octets;
    count++;
  }
  assert(count > 0, 'the attributes of a route leave no room for its prefix');
  return { count, length };
}

/** Writes the first prefixes and returns the offset behind them. */
function writePrefixes(rib: FamilyRib, bucket: Bucket, count: number, message: Uint8Array, offset: number): number {
  let slot = bucket.first;
  for (let left = count; left > 0; left--) {
    offset = rib.table.write(slot, message, offset);
    slot = rib.after(slot);
  }
  return offset;
}
