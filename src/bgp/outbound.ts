import { addressBytes, isLinkLocal, type Address, type Family } from '../net/address.ts';
import type { Negotiated } from './negotiate.ts';

/** How this session carries the routes of one family: the next hop and its place in the UPDATE. */
export type Carriage =
  | { readonly kind: 'classic'; readonly nextHop: Uint8Array } // NLRI field and NEXT_HOP
  | { readonly kind: 'multiprotocol'; readonly nextHop: Uint8Array } // MP_REACH_NLRI
  | { readonly kind: 'impossible'; readonly why: string };

export interface NextHops {
  readonly ipv4?: Address;
  readonly ipv6?: Address;
}

export interface Outbound {
  readonly internal: boolean;
  readonly localAsn: number;
  readonly fourOctetAsn: boolean;
  readonly carriage: Readonly<Record<Family, Carriage>>;
}

/**
 * Decides the next hop of each family: the configured one, else the session's own address where it is of the right
 * family. A family without a next hop that is certainly right is not announced at all.
 */
export function outboundOf(negotiated: Negotiated, localAsn: number, localAddress: Address | undefined, nextHops: NextHops): Outbound {
  const { internal, fourOctetAsn, families } = negotiated;
  const carriage = (family: Family): Carriage => {
    if (!families.includes(family)) return { kind: 'impossible', why: notNegotiated(family) };
    return family === 4 ? carryIpv4(negotiated, nextHops.ipv4 ?? localAddress) : carryIpv6(nextHops.ipv6 ?? localAddress);
  };
  return { internal, localAsn, fourOctetAsn, carriage: { 4: carriage(4), 6: carriage(6) } };
}

const notNegotiated = (family: Family): string =>
  `the session does not carry IPv${family} unicast: the peer did not offer it, or it is not configured`;

function carryIpv4(negotiated: Negotiated, nextHop: Address | undefined): Carriage {
  if (nextHop === undefined) return { kind: 'impossible', why: 'the local address of the session is unknown' };
  if (nextHop.family === 4) return { kind: 'classic', nextHop: addressBytes(nextHop) };
  if (negotiated.extendedNextHop) return { kind: 'multiprotocol', nextHop: addressBytes(nextHop) };
  return {
    kind: 'impossible',
    why: 'the session runs over IPv6 and the peer does not take IPv4 routes with an IPv6 next hop (RFC 8950): configure an IPv4 next hop',
  };
}

function carryIpv6(nextHop: Address | undefined): Carriage {
  if (nextHop?.family === 6 && !isLinkLocal(nextHop)) return { kind: 'multiprotocol', nextHop: addressBytes(nextHop) };
  return { kind: 'impossible', why: 'the session has no global IPv6 address to use as next hop: configure an IPv6 next hop' };
}
