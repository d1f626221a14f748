import assert from 'node:assert';
import { maximumExtendedMessageLength } from '../limits.ts';
import type { PrefixTable, SlotRange } from './interned/prefix-table.ts';
import type { UpdateFormat } from './update-format.ts';
import { attributeFlags as flags } from '../wire/attributes/decode-attributes.ts';
import { attributeType as type, messageType, safi } from '../wire/codes.ts';
import { headerLength } from '../wire/header.ts';
import { afiOf } from '../wire/update.ts';
import { octets, u16 } from '../wire/writer.ts';

export interface PackedUpdate {
  readonly message: Uint8Array;
  /** Number of prefixes in the message: the first ones of the list, at least one. */
  readonly count: number;
}

/** Prefixes in the order of sending. */
export interface PrefixList extends SlotRange {
  readonly prefixes: PrefixTable;
}

/** The part of an update format that the prefixes depend on. */
type PrefixFormat = Pick<UpdateFormat, 'maximumLength' | 'pathIds'>;

/** The encoded attributes of an announcement, without its prefixes. */
export interface EncodedAttributes {
  /** In ascending order of type, without MP_REACH_NLRI. */
  readonly attributes: Uint8Array;
  /** The next hop in MP_REACH_NLRI. Undefined when the prefixes go into the NLRI field. */
  readonly multiprotocolNextHop: Uint8Array | undefined;
}

/** Header and the two length fields of an UPDATE (RFC 4271 4.3). */
const fixedLength = headerLength + 4;
/** Header of an attribute with extended length. */
const attributeHeader = 4;

/** Prefixes are written here before their number is known. */
const scratch = new Uint8Array(maximumExtendedMessageLength);

/**
 * Packs one UPDATE that withdraws as many prefixes of the list as fit. Messages are as long as the session allows: a router does other
 * work between messages, and FRR handles a burst in long messages with less delay (docs/explanation/performance.md).
 */
export function packWithdrawals(list: PrefixList, format: PrefixFormat): PackedUpdate {
  const { maximumLength } = format;
  const { family } = list.prefixes;
  if (family === 4) {
    const { count, prefixes } = fit(list, maximumLength - fixedLength, format);
    const message = header(fixedLength + prefixes.length);
    writeU16(message, headerLength, prefixes.length);
    message.set(prefixes, headerLength + 2);
    return { message, count };
  }
  const head = octets(u16(afiOf(family)), safi.unicast);
  const { count, prefixes } = fit(list, maximumLength - fixedLength - attributeHeader - head.length, format);
  return { message: messageOf(attributeHead(type.mpUnreach, head.length + prefixes.length), head, prefixes), count };
}

/** Packs one UPDATE that announces as many prefixes of the list as fit. */
export function packAnnouncements(list: PrefixList, announcement: EncodedAttributes, format: PrefixFormat): PackedUpdate {
  const { maximumLength } = format;
  const { attributes, multiprotocolNextHop: nextHop } = announcement;
  if (nextHop === undefined) {
    const fixed = fixedLength + attributes.length;
    const { count, prefixes } = fit(list, maximumLength - fixed, format);
    const message = header(fixed + prefixes.length);
    writeU16(message, headerLength + 2, attributes.length);
    message.set(attributes, fixedLength);
    message.set(prefixes, fixed);
    return { message, count };
  }
  const head = octets(u16(afiOf(list.prefixes.family)), safi.unicast, nextHop.length, nextHop, 0);
  const fixed = fixedLength + attributeHeader + head.length + attributes.length;
  const { count, prefixes } = fit(list, maximumLength - fixed, format);
  // MP_REACH_NLRI goes first, so that a receiver finds the prefixes even if a later attribute is malformed (RFC 7606 5.1).
  return { message: messageOf(attributeHead(type.mpReach, head.length + prefixes.length), head, prefixes, attributes), count };
}

interface FittingPrefixes {
  readonly count: number;
  readonly prefixes: Uint8Array;
}

/** Writes as many of the first prefixes as fit into `room` octets. Returns a view that the next call overwrites. */
function fit({ prefixes: table, slots, start, end }: PrefixList, room: number, { pathIds }: PrefixFormat): FittingPrefixes {
  const { count, length } = table.write({ slots, start, end }, scratch, room, pathIds.includes(table.family));
  assert(count > 0, 'the attributes of a route leave no room for its prefix');
  return { count, prefixes: scratch.subarray(0, length) };
}

/** Builds an UPDATE that has path attributes only. */
function messageOf(...attributes: readonly Uint8Array[]): Uint8Array {
  const length = attributes.reduce((sum, part) => sum + part.length, 0);
  const message = header(fixedLength + length);
  writeU16(message, headerLength + 2, length);
  let offset = fixedLength;
  for (const part of attributes) {
    message.set(part, offset);
    offset += part.length;
  }
  return message;
}

/** Builds a message of this length with its header; the rest is zero. */
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
