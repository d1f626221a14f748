import { compareExtended, extendedCommunityWords, type Attributes, type ExtendedCommunity } from './interned/attribute-set.ts';
import type { UpdateFormat } from './update-format.ts';
import { encodeAsPath } from '../wire/attributes/as-path.ts';
import { attributeFlags as flags, encodeAttribute } from '../wire/attributes/decode-attributes.ts';
import { linkBandwidthCommunity } from '../wire/attributes/communities.ts';
import { asTrans, attributeType as type } from '../wire/codes.ts';
import { octets, u32 } from '../wire/writer.ts';

/**
 * Encodes an attribute set for one session, in ascending order of type and without MP_REACH_NLRI. All nodes send the same octets for the
 * same route except for the next hop, so that a router sees equal paths and uses all of them.
 */
export function encodeAttributes(set: Attributes, format: UpdateFormat, classicNextHop: Uint8Array | undefined): Uint8Array {
  const path = format.internal ? [] : Array<number>(1 + set.prepend).fill(format.localAsn);
  const segments = path.length === 0 ? [] : [{ kind: 'sequence' as const, asns: path }];
  const blocks = [
    encodeAttribute(flags.wellKnown, type.origin, octets(0)), // IGP: anything else leaves the multipath set of peers that send IGP
    encodeAttribute(flags.wellKnown, type.asPath, encodeAsPath(segments, format.fourOctetAsn)),
  ];
  if (classicNextHop !== undefined) blocks.push(encodeAttribute(flags.wellKnown, type.nextHop, classicNextHop));
  if (set.med !== undefined) blocks.push(encodeAttribute(flags.optionalNonTransitive, type.med, octets(u32(set.med))));
  if (format.internal) blocks.push(encodeAttribute(flags.wellKnown, type.localPref, octets(u32(set.localPref))));
  if (set.standard.length > 0) {
    blocks.push(encodeAttribute(flags.optionalTransitive, type.communities, octets(...set.standard.map(u32))));
  }
  const extended = extendedCommunities(set, format.localAsn);
  if (extended.length > 0) {
    const values = octets(...extended.map(([high, low]) => octets(u32(high), u32(low))));
    blocks.push(encodeAttribute(flags.optionalTransitive, type.extendedCommunities, values));
  }
  if (path.length > 0 && !format.fourOctetAsn && format.localAsn > 0xffff) {
    blocks.push(encodeAttribute(flags.optionalTransitive, type.as4Path, encodeAsPath(segments, true)));
  }
  if (set.large.length > 0) {
    const values = octets(...set.large.map((triple) => octets(...triple.map(u32))));
    blocks.push(encodeAttribute(flags.optionalTransitive, type.largeCommunities, values));
  }
  return octets(...blocks);
}

/** Joins the extended communities of the routes and the link bandwidth, sorted and without duplicates. */
function extendedCommunities(set: Attributes, localAsn: number): readonly ExtendedCommunity[] {
  if (set.linkBandwidth === undefined) return set.extended;
  const asn = localAsn > 0xffff ? asTrans : localAsn;
  const community = linkBandwidthCommunity({ asn, bytesPerSecond: set.linkBandwidth });
  const own = extendedCommunityWords(community.type, community.subtype, community.value);
  return [...set.extended.filter((other) => compareExtended(other, own) !== 0), own].sort(compareExtended);
}
