import type { Community } from '../../route.ts';
import { Reader } from '../reader.ts';
import { concat, octets, u16, u32 } from '../writer.ts';

type StandardCommunity = Extract<Community, { readonly kind: 'standard' }>;
type LargeCommunity = Extract<Community, { readonly kind: 'large' }>;
/** An extended community (RFC 4360 2): type (1) | subtype (1) | value (6). The value is one 48-bit number here. */
export type ExtendedCommunity = Extract<Community, { readonly kind: 'extended' }>;

/** Decodes COMMUNITIES (RFC 1997): 4 octets each. */
export function decodeCommunities(value: Uint8Array): StandardCommunity[] {
  const reader = new Reader(value);
  return reader.list(() => ({ kind: 'standard', value: reader.u32() }));
}

/** Decodes LARGE_COMMUNITY (RFC 8092 3): three times 4 octets each. */
export function decodeLargeCommunities(value: Uint8Array): LargeCommunity[] {
  const reader = new Reader(value);
  return reader.list(() => ({ kind: 'large', globalAdministrator: reader.u32(), localData1: reader.u32(), localData2: reader.u32() }));
}

/** Decodes EXTENDED COMMUNITIES (RFC 4360 2): 8 octets each. */
export function decodeExtendedCommunities(value: Uint8Array): ExtendedCommunity[] {
  const reader = new Reader(value);
  return reader.list(() => ({ kind: 'extended', type: reader.u8(), subtype: reader.u8(), value: reader.u16() * 2 ** 32 + reader.u32() }));
}

/** Encodes the communities of one kind, in the given order. Other kinds are left out. */
export function encodeCommunities(kind: Community['kind'], communities: readonly Community[]): Uint8Array {
  return concat(communities.filter((community) => community.kind === kind).map(encodeCommunity));
}

function encodeCommunity(community: Community): Uint8Array {
  switch (community.kind) {
    case 'standard':
      return octets(u32(community.value));
    case 'large':
      return octets(u32(community.globalAdministrator), u32(community.localData1), u32(community.localData2));
    case 'extended':
      return octets(community.type, community.subtype, u16(Math.floor(community.value / 2 ** 32)), u32(community.value % 2 ** 32));
  }
}

/** The type bit for "not transitive across ASes" (RFC 4360 3). */
const nonTransitive = 0x40;
/** Type "two-octet AS specific" (RFC 4360 3.1) with the subtype of draft-ietf-idr-link-bandwidth. */
const linkBandwidthSubtype = 0x04;

export interface LinkBandwidth {
  /** The AS that attached the community; AS_TRANS if its number needs four octets. */
  readonly asn: number;
  /** In octets per second. On the wire it is an IEEE single-precision float. */
  readonly bytesPerSecond: number;
}

/** Decodes a link bandwidth community, transitive or not. Returns undefined for any other community. */
export function linkBandwidthOf(community: Community): LinkBandwidth | undefined {
  if (community.kind !== 'extended' || (community.type & ~nonTransitive) !== 0 || community.subtype !== linkBandwidthSubtype) {
    return undefined;
  }
  const bits = new DataView(new ArrayBuffer(4));
  bits.setUint32(0, community.value % 2 ** 32);
  return { asn: Math.floor(community.value / 2 ** 32), bytesPerSecond: bits.getFloat32(0) };
}

/** Encodes the non-transitive form, as the draft requires. `asn` has two octets. */
export function linkBandwidthCommunity({ asn, bytesPerSecond }: LinkBandwidth): ExtendedCommunity {
  const bits = new DataView(new ArrayBuffer(4));
  bits.setFloat32(0, bytesPerSecond);
  return { kind: 'extended', type: nonTransitive, subtype: linkBandwidthSubtype, value: asn * 2 ** 32 + bits.getUint32(0) };
}
