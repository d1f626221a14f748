import { encodeAsPath, isConfederation, type AsPathSegment } from './as-path.ts';
import { attributeFlags as flags, attributeRules, type AttributeSession } from './attribute-rules.ts';
import { encodeAttribute, type Aggregator, type PathAttributes, type RawAttribute } from './decode-attributes.ts';
import { asTrans, attributeType as t } from '../codes.ts';
import { encodeCommunities } from './communities.ts';
import { concat, octets, u16, u32 } from '../writer.ts';

/**
 * Encodes the attribute block of an UPDATE, in ascending order of type (RFC 4271 5), without the two multiprotocol attributes. For a
 * 2-octet peer it derives AS4_PATH and AS4_AGGREGATOR if a number needs four octets (RFC 6793 4.2.2); given ones are not used.
 */
export function encodePathAttributes(attributes: PathAttributes, { fourOctetAsn }: Pick<AttributeSession, 'fourOctetAsn'>): Uint8Array {
  const { asPath, aggregator, communities = [], other = [] } = attributes;
  const wide = !fourOctetAsn;
  const as4Path = attributes.as4Path ?? (wide && asPath !== undefined ? as4PathOf(asPath) : undefined);
  const as4Aggregator = attributes.as4Aggregator ?? (wide && aggregator !== undefined && aggregator.asn > 0xffff ? aggregator : undefined);
  const values: readonly (readonly [number, Uint8Array | undefined])[] = [
    [t.origin, octet(attributes.origin)],
    [t.asPath, asPath && encodeAsPath(asPath, fourOctetAsn)],
    [t.nextHop, attributes.nextHop],
    [t.med, number(attributes.med)],
    [t.localPref, number(attributes.localPref)],
    [t.atomicAggregate, attributes.atomicAggregate && octets()],
    [t.aggregator, aggregator && encodeAggregator(aggregator, fourOctetAsn)],
    [t.communities, list(encodeCommunities('standard', communities))],
    [t.originatorId, number(attributes.originatorId)],
    [t.clusterList, attributes.clusterList && list(concat(attributes.clusterList.map(u32)))],
    [t.extendedCommunities, list(encodeCommunities('extended', communities))],
    [t.as4Path, as4Path && encodeAsPath(as4Path, true)],
    [t.as4Aggregator, as4Aggregator && encodeAggregator(as4Aggregator, true)],
    [t.largeCommunities, list(encodeCommunities('large', communities))],
    [t.onlyToCustomer, number(attributes.onlyToCustomer)],
  ];
  const known = values.flatMap(([type, value]): RawAttribute[] => (value === undefined ? [] : [{ flags: flagsOf(type), type, value }]));
  const all = [...known, ...other].sort((a, b) => a.type - b.type);
  return concat(all.map(({ flags, type, value }) => encodeAttribute(flags, type, value)));
}

const flagsOf = (type: number): number => flags[attributeRules[type]?.flags ?? 'optionalTransitive'];

const octet = (value: number | undefined): Uint8Array | undefined => (value === undefined ? undefined : octets(value));
const number = (value: number | undefined): Uint8Array | undefined => (value === undefined ? undefined : octets(u32(value)));
/** An empty list is left out, because RFC 7606 7.8 treats it as malformed. */
const list = (value: Uint8Array): Uint8Array | undefined => (value.length === 0 ? undefined : value);

function as4PathOf(asPath: readonly AsPathSegment[]): AsPathSegment[] | undefined {
  const real = asPath.filter((segment) => !isConfederation(segment));
  return real.some(({ asns }) => asns.some((asn) => asn > 0xffff)) ? real : undefined;
}

function encodeAggregator({ asn, routerId }: Aggregator, fourOctets: boolean): Uint8Array {
  return octets(fourOctets ? u32(asn) : u16(asn > 0xffff ? asTrans : asn), u32(routerId));
}
