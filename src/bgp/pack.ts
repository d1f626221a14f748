import type { Family } from '../net/address.ts';
import type { AttributeSet } from './attribute-set.ts';
import { maximumMessageLength } from './limits.ts';
import type { Outbound } from './outbound.ts';
import { encodeAsPath } from './wire/as-path.ts';
import { attributeFlags as flags, encodeAttribute } from './wire/attributes.ts';
import { attributeType as type, safi } from './wire/codes.ts';
import { headerLength } from './wire/message.ts';
import { nlriLength, writeNlri, type PrefixKey } from './wire/nlri.ts';
import { afiOf, encodeUpdate } from './wire/update.ts';
import { octets, u16, u32 } from './wire/writer.ts';

export interface Packed {
  readonly message: Uint8Array;
  /** How many prefixes of the given ones the message carries: at least one. */
  readonly count: number;
}

const nothing = new Uint8Array(0);
/** Two length fields, RFC 4271 4.3. */
const updateRoom = maximumMessageLength - headerLength - 4;
/** Header of an attribute with the extended length. */
const attributeHeader = 4;

/** One UPDATE that withdraws as many of the prefixes, all of one family, as fit. */
export function packWithdrawals(family: Family, keys: Iterable<PrefixKey>): Packed {
  if (family === 4) {
    const { bytes, count } = fill(keys, updateRoom);
    return { message: encodeUpdate(bytes, nothing, nothing), count };
  }
  const head = octets(u16(afiOf(family)), safi.unicast);
  const { bytes, count } = fill(keys, updateRoom - attributeHeader - head.length);
  const attribute = encodeAttribute(flags.optionalNonTransitive, type.mpUnreach, octets(head, bytes));
  return { message: encodeUpdate(nothing, attribute, nothing), count };
}

/** One UPDATE that announces as many of the prefixes, all of one family, as fit. The family must be possible. */
export function packAnnouncements(
  family: Family,
  attributes: Uint8Array,
  nextHop: MultiprotocolNextHop | undefined,
  keys: Iterable<PrefixKey>,
): Packed {
  if (nextHop === undefined) {
    const { bytes, count } = fill(keys, updateRoom - attributes.length);
    return { message: encodeUpdate(nothing, attributes, bytes), count };
  }
  const head = octets(u16(afiOf(family)), safi.unicast, nextHop.bytes.length, nextHop.bytes, 0);
  const { bytes, count } = fill(keys, updateRoom - attributes.length - attributeHeader - head.length);
  // MP_REACH_NLRI goes first, so that a receiver finds the prefixes even if a later attribute is broken (RFC 7606 5.1).
  const reach = encodeAttribute(flags.optionalNonTransitive, type.mpReach, octets(head, bytes));
  return { message: encodeUpdate(nothing, octets(reach, attributes), nothing), count };
}

export interface MultiprotocolNextHop {
  readonly bytes: Uint8Array;
}

/**
 * The attributes of a set for one session, in ascending order of type, without MP_REACH_NLRI. All nodes send the same
 * bytes for the same route except the next hop, so that a router sees equal paths and uses all of them.
 */
export function encodeAttributes(set: AttributeSet, outbound: Outbound, classicNextHop: Uint8Array | undefined): Uint8Array {
  const path = outbound.internal ? [] : Array<number>(1 + set.prepend).fill(outbound.localAsn);
  const segments = path.length === 0 ? [] : [{ kind: 'sequence' as const, asns: path }];
  const blocks = [
    encodeAttribute(flags.wellKnown, type.origin, octets(0)), // IGP: anything else leaves the multipath set of peers that send IGP
    encodeAttribute(flags.wellKnown, type.asPath, encodeAsPath(segments, outbound.fourOctetAsn)),
  ];
  if (classicNextHop !== undefined) blocks.push(encodeAttribute(flags.wellKnown, type.nextHop, classicNextHop));
  if (set.med !== undefined) blocks.push(encodeAttribute(flags.optionalNonTransitive, type.med, octets(u32(set.med))));
  if (outbound.internal) blocks.push(encodeAttribute(flags.wellKnown, type.localPref, octets(u32(set.localPref))));
  if (set.standard.length > 0) {
    blocks.push(encodeAttribute(flags.optionalTransitive, type.communities, octets(...set.standard.map(u32))));
  }
  if (path.length > 0 && !outbound.fourOctetAsn && outbound.localAsn > 0xffff) {
    blocks.push(encodeAttribute(flags.optionalTransitive, type.as4Path, encodeAsPath(segments, true)));
  }
  if (set.large.length > 0) {
    const values = octets(...set.large.map((triple) => octets(...triple.map(u32))));
    blocks.push(encodeAttribute(flags.optionalTransitive, type.largeCommunities, values));
  }
  return octets(...blocks);
}

/** The prefixes that fit into `room` octets. */
function fill(keys: Iterable<PrefixKey>, room: number): { readonly bytes: Uint8Array; readonly count: number } {
  const bytes = new Uint8Array(room);
  let offset = 0;
  let count = 0;
  for (const key of keys) {
    if (offset + nlriLength(key) > room) break;
    offset = writeNlri(key, bytes, offset);
    count++;
  }
  return { bytes: bytes.subarray(0, offset), count };
}
