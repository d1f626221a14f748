import { decodeAsPath, isConfederation, type AsPathSegment } from './as-path.ts';
import {
  attributeFlags,
  attributeName,
  attributeRules,
  flagsThatMatter,
  isMultiprotocol,
  type AttributeSession,
} from './attribute-rules.ts';
import { attributeType as t, updateError } from '../codes.ts';
import { decodeCommunities, decodeExtendedCommunities, decodeLargeCommunities } from './communities.ts';
import { Reader } from '../reader.ts';
import type { Community } from '../../route.ts';
import type { UpdateFaults } from './update-faults.ts';
import { octets, u16 } from '../writer.ts';

export { attributeFlags, type AttributeSession } from './attribute-rules.ts';

/** AGGREGATOR and AS4_AGGREGATOR (RFC 4271 5.1.7). */
export interface Aggregator {
  /** AS_TRANS in the AGGREGATOR of a 2-octet peer if the number needs four octets. */
  readonly asn: number;
  /** BGP identifier of the aggregating speaker, as an unsigned number. */
  readonly routerId: number;
}

/** A path attribute (RFC 4271 4.3): flags (1) | type (1) | length (1, or 2 with the extended-length flag) | value. */
export interface RawAttribute {
  /** Without the extended-length flag. */
  readonly flags: number;
  readonly type: number;
  readonly value: Uint8Array;
}

/**
 * The attributes of an UPDATE, except for the two multiprotocol ones, which carry prefixes. A field is absent if the attribute is missing
 * or unusable.
 */
export interface PathAttributes {
  /** 0 IGP, 1 EGP, 2 INCOMPLETE. */
  readonly origin?: number;
  readonly asPath?: readonly AsPathSegment[];
  /** Next hop of the prefixes in the NLRI field, 4 octets. MP_REACH_NLRI has its own next hop. */
  readonly nextHop?: Uint8Array;
  readonly med?: number;
  readonly localPref?: number;
  readonly atomicAggregate?: true;
  readonly aggregator?: Aggregator;
  /** From all three attributes: standard, extended, then large communities, each in the order of the message. */
  readonly communities?: readonly Community[];
  /** BGP identifiers as unsigned numbers (RFC 4456). */
  readonly originatorId?: number;
  readonly clusterList?: readonly number[];
  /** The real AS numbers behind a 2-octet peer (RFC 6793); see `mergeAs4Path`. */
  readonly as4Path?: readonly AsPathSegment[];
  readonly as4Aggregator?: Aggregator;
  /** The AS number in ONLY_TO_CUSTOMER (RFC 9234 5). */
  readonly onlyToCustomer?: number;
  /** Optional attributes that this codec does not decode, one per type, in ascending order of type. */
  readonly other?: readonly RawAttribute[];
}

interface DecodedAttributes {
  readonly attributes: PathAttributes;
  readonly mpReach?: RawAttribute;
  readonly mpUnreach?: RawAttribute;
  /** Tells whether the attribute was present, usable or not. */
  readonly has: (type: number) => boolean;
}

type Draft = { -readonly [K in keyof PathAttributes]: PathAttributes[K] } & {
  other?: RawAttribute[];
  standard?: Community[];
  extended?: Community[];
  large?: Community[];
};

/**
 * Decodes the attribute block of an UPDATE and adds its errors to `faults`. It accepts any octets and takes time linear in their number.
 * The values are views of the block.
 */
export function decodeAttributes(block: Uint8Array, session: AttributeSession, faults: UpdateFaults): DecodedAttributes {
  const draft: Draft = {};
  const carriers: { mpReach?: RawAttribute; mpUnreach?: RawAttribute } = {};
  const seen = new Uint8Array(256);
  const reader = new Reader(block);
  while (reader.left > 0) {
    const start = reader.offset;
    const flags = reader.u8();
    const type = reader.u8();
    const length = (flags & attributeFlags.extendedLength) === 0 ? reader.u8() : reader.u16();
    const value = reader.take(length);
    if (reader.overrun) {
      // The NLRI field can still be found (RFC 7606 4), but the prefixes of a multiprotocol attribute are lost.
      const disposition = isMultiprotocol(type) ? 'reset' : 'withdraw';
      faults.add(disposition, updateError.malformedAttributes, () => `${attributeName(type)} is longer than the attribute list`);
      break;
    }
    if (seen[type] === 1) {
      addDuplicate(type, faults);
      continue;
    }
    seen[type] = 1;
    const raw = { flags: flags & ~attributeFlags.extendedLength, type, value };
    if (!isAcceptable(raw, session, faults, block.subarray(start, reader.offset))) continue;
    if (type === t.mpReach) carriers.mpReach = raw;
    else if (type === t.mpUnreach) carriers.mpUnreach = raw;
    else if (!readValue(raw, session, draft)) {
      const rule = attributeRules[type];
      const subcode = rule?.valueError ?? updateError.optionalAttribute;
      const data = subcode === updateError.asPath ? undefined : block.subarray(start, reader.offset);
      faults.add(rule?.onError ?? 'discard', subcode, () => `the value of ${attributeName(type)} is wrong`, data);
    }
  }
  return { attributes: finish(draft), ...carriers, has: (type) => seen[type] === 1 };
}

/** Encodes an attribute, with extended length only if it is needed. */
export function encodeAttribute(flags: number, type: number, value: Uint8Array): Uint8Array {
  return value.length > 255
    ? octets(flags | attributeFlags.extendedLength, type, u16(value.length), value)
    : octets(flags, type, value.length, value);
}

/** Checks flags and length of an attribute. `data` is the attribute as received, for the NOTIFICATION (RFC 4271 6.3). */
function isAcceptable({ flags, type, value }: RawAttribute, session: AttributeSession, faults: UpdateFaults, data: Uint8Array): boolean {
  const rule = attributeRules[type];
  if (rule === undefined) {
    if ((flags & attributeFlags.optionalNonTransitive) !== 0) return true;
    // RFC 7606 3 i replaces the session reset of RFC 4271.
    faults.add('withdraw', updateError.unrecognizedWellKnown, () => `the well-known ${attributeName(type)} is unknown`, data);
    return false;
  }
  if ((rule.only === 'internal' && !session.internal) || (rule.only === 'twoOctetAsn' && session.fourOctetAsn)) {
    const from = rule.only === 'internal' ? 'an external peer' : 'a peer with 4-octet AS numbers';
    faults.add('discard', updateError.optionalAttribute, () => `${rule.name} from ${from}`, data);
    return false;
  }
  if ((flags & flagsThatMatter) !== attributeFlags[rule.flags]) {
    // RFC 7606 3 c. The prefixes of a multiprotocol attribute are still read, so that they can be withdrawn.
    faults.add('withdraw', updateError.attributeFlags, () => `the flags of ${rule.name} are wrong`, data);
    if (!isMultiprotocol(type)) return false;
  }
  if (!rule.lengthRule(value.length, session)) {
    const subcode = rule.lengthError ?? updateError.attributeLength;
    faults.add(rule.onError, subcode, () => `${rule.name} has ${value.length} octets`, data);
    return false;
  }
  return true;
}

/** Decodes a value. Returns false if it is not acceptable. */
function readValue(raw: RawAttribute, session: AttributeSession, into: Draft): boolean {
  const { type, value } = raw;
  const reader = new Reader(value);
  switch (type) {
    case t.origin: {
      const origin = reader.u8();
      if (origin > 2) return false;
      into.origin = origin;
      return true;
    }
    case t.asPath: {
      const path = decodeAsPath(value, session.fourOctetAsn);
      // An external peer must not send confederation segments (RFC 5065 5).
      if (path === undefined || (!session.internal && path.some(isConfederation))) return false;
      into.asPath = path;
      return true;
    }
    case t.as4Path: {
      const path = decodeAsPath(value, true);
      if (path === undefined) return false;
      into.as4Path = path;
      return true;
    }
    case t.nextHop:
      into.nextHop = value; // checked only if there is an NLRI field
      return true;
    case t.med:
      into.med = reader.u32();
      return true;
    case t.localPref:
      into.localPref = reader.u32();
      return true;
    case t.atomicAggregate:
      into.atomicAggregate = true;
      return true;
    case t.aggregator:
    case t.as4Aggregator: {
      const asn = value.length === 8 ? reader.u32() : reader.u16();
      if (asn === 0) return false; // RFC 7607 2
      into[type === t.aggregator ? 'aggregator' : 'as4Aggregator'] = { asn, routerId: reader.u32() };
      return true;
    }
    default:
      readOptional(raw, reader, into);
      return true;
  }
}

/** Decodes the values that are acceptable whatever they are. */
function readOptional(raw: RawAttribute, reader: Reader, into: Draft): void {
  const { type, value } = raw;
  switch (type) {
    case t.communities:
      into.standard = decodeCommunities(value);
      break;
    case t.extendedCommunities:
      into.extended = decodeExtendedCommunities(value);
      break;
    case t.largeCommunities:
      into.large = decodeLargeCommunities(value);
      break;
    case t.originatorId:
      into.originatorId = reader.u32();
      break;
    case t.clusterList:
      into.clusterList = reader.list(() => reader.u32());
      break;
    case t.onlyToCustomer:
      into.onlyToCustomer = reader.u32();
      break;
    default:
      (into.other ??= []).push(raw);
  }
}

function finish({ standard, extended, large, ...attributes }: Draft): PathAttributes {
  attributes.other?.sort((a, b) => a.type - b.type);
  const lists = [standard, extended, large].filter((list) => list !== undefined);
  return lists.length === 0 ? attributes : { ...attributes, communities: lists.flat() };
}

/** Reports a duplicate. The first attribute counts, but two multiprotocol ones make the message ambiguous (RFC 7606 3 g). */
function addDuplicate(type: number, faults: UpdateFaults): void {
  const disposition = isMultiprotocol(type) ? 'reset' : 'discard';
  faults.add(disposition, updateError.malformedAttributes, () => `${attributeName(type)} is there twice`);
}
