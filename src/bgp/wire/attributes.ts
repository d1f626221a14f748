import { decodeAsPath, type AsPathSegment } from './as-path.ts';
import { attributeType, errorCode, updateError } from './codes.ts';
import { fault, type Disposition, type Fault } from './fault.ts';
import { Reader } from './reader.ts';
import { octets, u16 } from './writer.ts';
import type { Community } from '../route.ts';

/**
 * A path attribute, RFC 4271 4.3: flags (1) | type (1) | length (1, or 2 with the extended-length flag) | value.
 * Flags: optional 0x80, transitive 0x40, partial 0x20, extended length 0x10.
 */
export const attributeFlags = { wellKnown: 0x40, optionalTransitive: 0xc0, optionalNonTransitive: 0x80, extendedLength: 0x10 } as const;

interface AttributeRule {
  readonly name: string;
  readonly flags: 'wellKnown' | 'optionalTransitive' | 'optionalNonTransitive';
  /** Whether a value may have this many octets. */
  readonly lengthRule: (length: number, session: AttributeSession) => boolean;
  /** RFC 7606 section 7, for a wrong length or value. */
  readonly onError: Disposition;
  /** Attributes that mean nothing on an external session are discarded there, whatever they hold. */
  readonly internalOnly?: true;
}

export interface AttributeSession {
  readonly fourOctetAsn: boolean;
  readonly internal: boolean;
}

const any = (): boolean => true;
const exactly =
  (octets: number) =>
  (length: number): boolean =>
    length === octets;
const multipleOf =
  (octets: number) =>
  (length: number): boolean =>
    length > 0 && length % octets === 0;

const t = attributeType;

/** RFC 7606 as a table. */
export const attributeRules: Readonly<Record<number, AttributeRule>> = {
  [t.origin]: { name: 'ORIGIN', flags: 'wellKnown', lengthRule: exactly(1), onError: 'withdraw' },
  [t.asPath]: { name: 'AS_PATH', flags: 'wellKnown', lengthRule: any, onError: 'withdraw' },
  [t.nextHop]: { name: 'NEXT_HOP', flags: 'wellKnown', lengthRule: exactly(4), onError: 'withdraw' },
  [t.med]: { name: 'MULTI_EXIT_DISC', flags: 'optionalNonTransitive', lengthRule: exactly(4), onError: 'withdraw' },
  [t.localPref]: { name: 'LOCAL_PREF', flags: 'wellKnown', lengthRule: exactly(4), onError: 'withdraw', internalOnly: true },
  [t.atomicAggregate]: { name: 'ATOMIC_AGGREGATE', flags: 'wellKnown', lengthRule: exactly(0), onError: 'discard' },
  [t.aggregator]: {
    name: 'AGGREGATOR',
    flags: 'optionalTransitive',
    lengthRule: (length, { fourOctetAsn }) => length === (fourOctetAsn ? 8 : 6),
    onError: 'discard',
  },
  [t.communities]: { name: 'COMMUNITIES', flags: 'optionalTransitive', lengthRule: multipleOf(4), onError: 'withdraw' },
  [t.originatorId]: {
    name: 'ORIGINATOR_ID',
    flags: 'optionalNonTransitive',
    lengthRule: exactly(4),
    onError: 'withdraw',
    internalOnly: true,
  },
  [t.clusterList]: {
    name: 'CLUSTER_LIST',
    flags: 'optionalNonTransitive',
    lengthRule: multipleOf(4),
    onError: 'withdraw',
    internalOnly: true,
  },
  // A wrong length of these two means that the place of the NLRI is unknown: nothing milder is possible (RFC 7606 5.3).
  [t.mpReach]: { name: 'MP_REACH_NLRI', flags: 'optionalNonTransitive', lengthRule: (length) => length >= 5, onError: 'reset' },
  [t.mpUnreach]: { name: 'MP_UNREACH_NLRI', flags: 'optionalNonTransitive', lengthRule: (length) => length >= 3, onError: 'reset' },
  [t.extendedCommunities]: { name: 'EXTENDED COMMUNITIES', flags: 'optionalTransitive', lengthRule: multipleOf(8), onError: 'withdraw' },
  [t.as4Path]: { name: 'AS4_PATH', flags: 'optionalTransitive', lengthRule: any, onError: 'discard' },
  [t.as4Aggregator]: { name: 'AS4_AGGREGATOR', flags: 'optionalTransitive', lengthRule: exactly(8), onError: 'discard' },
  [t.ipv6ExtendedCommunities]: {
    name: 'IPv6 EXTENDED COMMUNITIES',
    flags: 'optionalTransitive',
    lengthRule: multipleOf(20),
    onError: 'withdraw',
  },
  [t.largeCommunities]: { name: 'LARGE_COMMUNITY', flags: 'optionalTransitive', lengthRule: multipleOf(12), onError: 'withdraw' },
  [t.onlyToCustomer]: { name: 'ONLY_TO_CUSTOMER', flags: 'optionalTransitive', lengthRule: exactly(4), onError: 'withdraw' },
};

/** The attributes as far as they are understood; the two multiprotocol ones still raw. */
export interface PathAttributes {
  origin?: number;
  asPath?: readonly AsPathSegment[];
  as4Path?: readonly AsPathSegment[];
  nextHop?: Uint8Array;
  med?: number;
  localPref?: number;
  communities?: readonly Community[];
  mpReach?: Uint8Array;
  mpUnreach?: Uint8Array;
}

export interface DecodedAttributes {
  readonly attributes: PathAttributes;
  /** In the order they were found; the strongest disposition decides (RFC 7606 3 h). */
  readonly faults: readonly Fault[];
}

/** Reads the attribute block of an UPDATE. Total; time is linear in its length. */
export function decodeAttributes(block: Uint8Array, session: AttributeSession): DecodedAttributes {
  const attributes: PathAttributes = {};
  const faults: Fault[] = [];
  const seen = new Set<number>();
  const reader = new Reader(block);
  while (reader.left > 0) {
    const flags = reader.u8();
    const type = reader.u8();
    const length = (flags & attributeFlags.extendedLength) === 0 ? reader.u8() : reader.u16();
    const value = reader.take(length);
    if (reader.overrun) {
      faults.push(wrong('withdraw', `the attribute ${nameOf(type)} is longer than the attribute list`));
      break;
    }
    if (seen.has(type)) {
      faults.push(duplicate(type));
      continue;
    }
    seen.add(type);
    const found = decodeAttribute(flags, type, value, session, attributes);
    if (found !== undefined) faults.push(found);
  }
  return { attributes, faults };
}

/** Header and value, with the extended length only where it is needed. */
export function encodeAttribute(flags: number, type: number, value: Uint8Array): Uint8Array {
  return value.length > 255
    ? octets(flags | attributeFlags.extendedLength, type, u16(value.length), value)
    : octets(flags, type, value.length, value);
}

function decodeAttribute(
  flags: number,
  type: number,
  value: Uint8Array,
  session: AttributeSession,
  into: PathAttributes,
): Fault | undefined {
  const rule = attributeRules[type];
  if (rule === undefined) {
    // Unknown and optional: of no interest to a speaker that stores nothing. Unknown and well-known: RFC 7606 3 i.
    return (flags & 0x80) === 0 ? wrong('withdraw', `the well-known attribute ${type} is unknown`) : undefined;
  }
  if (rule.internalOnly === true && !session.internal) return wrong('discard', `${rule.name} from an external peer`);
  const reset = rule.onError === 'reset';
  if ((flags & 0xc0) !== attributeFlags[rule.flags]) return wrong(reset ? 'reset' : 'withdraw', `the flags of ${rule.name} are wrong`);
  if (!rule.lengthRule(value.length, session)) return wrong(rule.onError, `${rule.name} has ${value.length} octets`);
  return readValue(type, value, session, into) ? undefined : wrong(rule.onError, `the value of ${rule.name} is wrong`);
}

/** False where the value is not acceptable. */
function readValue(type: number, value: Uint8Array, session: AttributeSession, into: PathAttributes): boolean {
  const reader = new Reader(value);
  switch (type) {
    case t.origin:
      into.origin = reader.u8();
      return into.origin <= 2;
    case t.asPath:
    case t.as4Path: {
      const path = decodeAsPath(value, type === t.as4Path || session.fourOctetAsn);
      if (path === undefined) return false;
      into[type === t.asPath ? 'asPath' : 'as4Path'] = path;
      return true;
    }
    case t.nextHop:
      into.nextHop = value;
      return isUsableNextHop(value);
    case t.med:
      into.med = reader.u32();
      return true;
    case t.localPref:
      into.localPref = reader.u32();
      return true;
    case t.communities:
      into.communities = [...(into.communities ?? []), ...standardCommunities(reader)];
      return true;
    case t.largeCommunities:
      into.communities = [...(into.communities ?? []), ...largeCommunities(reader)];
      return true;
    case t.mpReach:
      into.mpReach = value;
      return true;
    case t.mpUnreach:
      into.mpUnreach = value;
      return true;
    default:
      return true;
  }
}

/** Not 0/8, 127/8, multicast or reserved. */
function isUsableNextHop(value: Uint8Array): boolean {
  const first = value[0] ?? 0;
  return first !== 0 && first !== 127 && first < 224;
}

function* standardCommunities(reader: Reader): Generator<Community> {
  while (reader.left > 0) yield { kind: 'standard', value: reader.u32() };
}

function* largeCommunities(reader: Reader): Generator<Community> {
  while (reader.left > 0) {
    yield { kind: 'large', globalAdministrator: reader.u32(), localData1: reader.u32(), localData2: reader.u32() };
  }
}

/** The first one wins, but two of the multiprotocol ones make the message ambiguous (RFC 7606 3 g). */
function duplicate(type: number): Fault {
  const ambiguous = type === t.mpReach || type === t.mpUnreach;
  return wrong(ambiguous ? 'reset' : 'discard', `the attribute ${nameOf(type)} is there twice`);
}

const nameOf = (type: number): string => attributeRules[type]?.name ?? String(type);

function wrong(disposition: Disposition, problem: string): Fault {
  return fault(disposition, errorCode.update, updateError.malformedAttributes, problem);
}
