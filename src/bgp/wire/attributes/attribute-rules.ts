import { attributeType as t, updateError } from '../codes.ts';
import type { Disposition } from '../fault.ts';

/** Flags of a path attribute (RFC 4271 4.3): optional 0x80, transitive 0x40, partial 0x20, extended length 0x10. */
export const attributeFlags = { wellKnown: 0x40, optionalTransitive: 0xc0, optionalNonTransitive: 0x80, extendedLength: 0x10 } as const;

/** Optional and transitive: the flags that must be right in a known attribute (RFC 7606 3 c). */
export const flagsThatMatter = 0xc0;

/** The properties of a session that attribute decoding depends on. */
export interface AttributeSession {
  /** Both sides support RFC 6793: AS numbers in AS_PATH and AGGREGATOR have four octets. */
  readonly fourOctetAsn: boolean;
  /** The peer is in the local AS. */
  readonly internal: boolean;
}

interface AttributeRule {
  readonly name: string;
  readonly flags: 'wellKnown' | 'optionalTransitive' | 'optionalNonTransitive';
  /** Tells whether a value may have this many octets. */
  readonly lengthRule: (length: number, session: AttributeSession) => boolean;
  /** The disposition for a wrong length or value (RFC 7606 section 7). */
  readonly onError: Disposition;
  /** Subcodes of a wrong length and a wrong value (RFC 4271 6.3), if they are not the usual ones. */
  readonly lengthError?: number;
  readonly valueError?: number;
  /** The only sessions on which the attribute has a meaning. On others it is discarded without further checks. */
  readonly only?: 'internal' | 'twoOctetAsn';
}

const any = (): boolean => true;
const exactly =
  (octets: number) =>
  (length: number): boolean =>
    length === octets;
const atLeast =
  (octets: number) =>
  (length: number): boolean =>
    length >= octets;
const multipleOf =
  (octets: number) =>
  (length: number): boolean =>
    length > 0 && length % octets === 0;

const wellKnown = { flags: 'wellKnown' } as const;
const transitive = { flags: 'optionalTransitive' } as const;
const nonTransitive = { flags: 'optionalNonTransitive' } as const;
/**
 * If these two are malformed, their prefixes cannot be found, so the session is reset (RFC 7606 5.3, 7.11, 7.12). The subcode is that of
 * RFC 4760 7.
 */
const multiprotocol = { ...nonTransitive, onError: 'reset', lengthError: updateError.optionalAttribute } as const;

/** The rules of RFC 7606, one row per attribute. */
export const attributeRules: Readonly<Record<number, AttributeRule>> = {
  [t.origin]: { name: 'ORIGIN', ...wellKnown, lengthRule: exactly(1), onError: 'withdraw', valueError: updateError.origin }, // 7.1
  [t.asPath]: { name: 'AS_PATH', ...wellKnown, lengthRule: any, onError: 'withdraw', valueError: updateError.asPath }, // 7.2
  [t.nextHop]: { name: 'NEXT_HOP', ...wellKnown, lengthRule: exactly(4), onError: 'withdraw', valueError: updateError.nextHop }, // 7.3
  [t.med]: { name: 'MULTI_EXIT_DISC', ...nonTransitive, lengthRule: exactly(4), onError: 'withdraw' }, // 7.4
  [t.localPref]: { name: 'LOCAL_PREF', ...wellKnown, lengthRule: exactly(4), onError: 'withdraw', only: 'internal' }, // 7.5
  [t.atomicAggregate]: { name: 'ATOMIC_AGGREGATE', ...wellKnown, lengthRule: exactly(0), onError: 'discard' }, // 7.6
  [t.aggregator]: {
    name: 'AGGREGATOR',
    ...transitive,
    lengthRule: (length, { fourOctetAsn }) => length === (fourOctetAsn ? 8 : 6),
    onError: 'discard', // 7.7
  },
  [t.communities]: { name: 'COMMUNITIES', ...transitive, lengthRule: multipleOf(4), onError: 'withdraw' }, // 7.8
  [t.originatorId]: { name: 'ORIGINATOR_ID', ...nonTransitive, lengthRule: exactly(4), onError: 'withdraw', only: 'internal' }, // 7.9
  [t.clusterList]: { name: 'CLUSTER_LIST', ...nonTransitive, lengthRule: multipleOf(4), onError: 'withdraw', only: 'internal' }, // 7.10
  // At least AFI, SAFI, next hop length and a reserved octet; below, AFI and SAFI.
  [t.mpReach]: { name: 'MP_REACH_NLRI', ...multiprotocol, lengthRule: atLeast(5) },
  [t.mpUnreach]: { name: 'MP_UNREACH_NLRI', ...multiprotocol, lengthRule: atLeast(3) },
  [t.extendedCommunities]: { name: 'EXTENDED COMMUNITIES', ...transitive, lengthRule: multipleOf(8), onError: 'withdraw' }, // 7.14
  // These two have no meaning from a peer with four octets in AS_PATH (RFC 6793 4.1).
  [t.as4Path]: { name: 'AS4_PATH', ...transitive, lengthRule: any, onError: 'discard', only: 'twoOctetAsn' },
  [t.as4Aggregator]: { name: 'AS4_AGGREGATOR', ...transitive, lengthRule: exactly(8), onError: 'discard', only: 'twoOctetAsn' },
  [t.ipv6ExtendedCommunities]: { name: 'IPv6 EXTENDED COMMUNITIES', ...transitive, lengthRule: multipleOf(20), onError: 'withdraw' }, // 7.15
  [t.largeCommunities]: { name: 'LARGE_COMMUNITY', ...transitive, lengthRule: multipleOf(12), onError: 'withdraw' }, // RFC 8092 5
  [t.onlyToCustomer]: { name: 'ONLY_TO_CUSTOMER', ...transitive, lengthRule: exactly(4), onError: 'withdraw' }, // RFC 9234 5
};

export const attributeName = (type: number): string => attributeRules[type]?.name ?? `attribute ${type}`;

export const isMultiprotocol = (type: number): boolean => type === t.mpReach || type === t.mpUnreach;
