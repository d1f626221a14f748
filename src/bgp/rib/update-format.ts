import { addressBytes, isLinkLocal, type Address, type Family } from '../../net/address.ts';
import { maximumExtendedMessageLength, maximumMessageLength } from '../limits.ts';
import type { Negotiated } from '../negotiation/negotiate.ts';

/** How an UPDATE of this session carries the routes of one family: the next hop and its place, or why it cannot. */
type NextHopEncoding =
  | { readonly kind: 'classic'; readonly nextHop: Uint8Array } // NLRI field and NEXT_HOP: 4 octets
  | { readonly kind: 'multiprotocol'; readonly nextHop: Uint8Array } // MP_REACH_NLRI: 16 octets, or 32 with the link-local address
  | { readonly kind: 'impossible'; readonly why: string };

export interface NextHops {
  readonly ipv4?: Address;
  readonly ipv6?: Address;
  /**
   * The link-local address sent with the IPv6 next hop when the peer is on the same link (RFC 2545 3). The peer must know the link: FRR 8.4
   * without zebra does not, and ends the session.
   */
  readonly ipv6LinkLocal?: Address;
}

export interface UpdateFormat {
  readonly internal: boolean;
  readonly localAsn: number;
  readonly fourOctetAsn: boolean;
  /** Largest length of a message, in octets. */
  readonly maximumLength: number;
  readonly nextHops: Readonly<Record<Family, NextHopEncoding>>;
  /** Families whose prefixes have a path identifier (RFC 7911 3). */
  readonly pathIds: readonly Family[];
  readonly families: readonly Family[];
  /** The peer takes IPv4 routes with an IPv6 next hop (RFC 8950). */
  readonly extendedNextHop: boolean;
  readonly peerAddress: Address | undefined;
}

/**
 * Derives the update format of a session. The next hop of each family is the configured one, else the local address of the session if it
 * has the right family. In a family without a certain next hop only routes are announced that bring their own.
 */
export function updateFormatOf(
  negotiated: Negotiated,
  localAsn: number,
  localAddress: Address | undefined,
  nextHops: NextHops,
  peerAddress?: Address,
): UpdateFormat {
  const { internal, fourOctetAsn, families, extendedMessages, extendedNextHop, addPathSend: pathIds } = negotiated;
  const encodingOf = (family: Family): NextHopEncoding => {
    if (!families.includes(family)) return { kind: 'impossible', why: notNegotiated(family) };
    return family === 4 ? ipv4Encoding(negotiated, localAddress, nextHops) : ipv6Encoding(localAddress, nextHops);
  };
  const maximumLength = extendedMessages ? maximumExtendedMessageLength : maximumMessageLength;
  const encodings = { 4: encodingOf(4), 6: encodingOf(6) };
  return { internal, localAsn, fourOctetAsn, maximumLength, nextHops: encodings, pathIds, families, extendedNextHop, peerAddress };
}

/** The encoding of a next hop that a route brings. */
export const ownEncoding = (nextHop: Address, family: Family): NextHopEncoding => ({
  kind: family === 4 && nextHop.family === 4 ? 'classic' : 'multiprotocol',
  nextHop: addressBytes(nextHop),
});

export const noIpv6NextHop = 'the peer does not take IPv4 routes with an IPv6 next hop (RFC 8950)';

export const notNegotiated = (family: Family): string =>
  `the session does not carry IPv${family} unicast: the peer did not offer it, or it is not configured`;

function ipv4Encoding(negotiated: Negotiated, localAddress: Address | undefined, nextHops: NextHops): NextHopEncoding {
  const classic = nextHops.ipv4 ?? localAddress;
  if (classic === undefined) return { kind: 'impossible', why: 'the local address of the session is unknown' };
  if (classic.family === 4) return { kind: 'classic', nextHop: addressBytes(classic) };
  const nextHop = ipv6NextHop(localAddress, nextHops);
  if (negotiated.extendedNextHop && nextHop !== undefined) return { kind: 'multiprotocol', nextHop };
  return {
    kind: 'impossible',
    why: `the session runs over IPv6 and ${noIpv6NextHop}: configure an IPv4 next hop`,
  };
}

function ipv6Encoding(localAddress: Address | undefined, nextHops: NextHops): NextHopEncoding {
  const nextHop = ipv6NextHop(localAddress, nextHops);
  if (nextHop !== undefined) return { kind: 'multiprotocol', nextHop };
  return { kind: 'impossible', why: 'the session has no global IPv6 address to use as next hop: configure an IPv6 next hop' };
}

/**
 * Returns a global address, followed by its link-local one if that is known. On a session between link-local addresses (unnumbered peering)
 * it returns the link-local address alone, because the peer is certainly on the same link.
 */
function ipv6NextHop(localAddress: Address | undefined, { ipv6, ipv6LinkLocal }: NextHops): Uint8Array | undefined {
  const address = ipv6 ?? localAddress;
  if (address?.family !== 6) return undefined;
  if (isLinkLocal(address)) {
    const unnumbered = localAddress !== undefined && isLinkLocal(localAddress);
    return unnumbered ? addressBytes(ipv6 ?? ipv6LinkLocal ?? localAddress) : undefined;
  }
  return ipv6LinkLocal === undefined ? addressBytes(address) : Uint8Array.of(...addressBytes(address), ...addressBytes(ipv6LinkLocal));
}
