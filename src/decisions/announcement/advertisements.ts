import { bitsOf, type Address } from '../../net/address.ts';
import { maskedPrefix, formatPrefix, prefixContains, type Prefix } from '../../net/prefix.ts';
import { rangeContains, rangeToPrefixes } from '../../net/range.ts';
import type { AddressType, BGPAdvertisement, IPAddressPool, L2Advertisement } from '../../model/kinds/types.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { selects } from '../../model/objects/label-selector.ts';
import type { Metadata } from '../../model/objects/metadata.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { resolveCommunity, uniteCommunities } from './communities.ts';
import type { LinkBandwidth, RouteCommunity } from './route.ts';

/** A pool as advertisements select it. It need not exist any more. */
export interface NamedPool {
  readonly metadata: Pick<Metadata, 'name' | 'labels'>;
}

/** The origin of an address: its pool, or the object that allows it. An aggregate must not cover more than that. */
export interface AddressOrigin {
  readonly type: AddressType;
  /** Present for load balancer addresses. */
  readonly pool?: NamedPool;
  /** The pool contained the address and no longer does. It is announced alone: no aggregate around it is ours. */
  readonly isKept?: true;
  /** The prefix length of a larger block around the address that was of the pool before an edit, by the record of the Service. */
  readonly formerBlock?: number;
  /** Prefixes that contain the address and are entirely ours. */
  readonly prefixes: readonly Prefix[];
  /** For messages: 'IPAddressPool "a"'. */
  readonly name: string;
}

export interface ResolvedAdvertisement {
  readonly advertisement: BGPAdvertisement;
  readonly prefix: Prefix;
  readonly communities: readonly RouteCommunity[];
  /** Absent: not sent. */
  readonly linkBandwidth?: LinkBandwidth;
}

/** True when an advertisement covers addresses of this type and, for load balancer addresses, of this pool. */
export function covers(advertisement: BGPAdvertisement, { type, pool }: AddressOrigin): boolean {
  if (!advertisement.addressTypes.includes(type)) return false;
  return pool === undefined || coversPool(advertisement, pool);
}

/** True when an advertisement of either kind covers the pool. Without names and selectors it covers every pool. */
export function coversPool(
  { ipAddressPools: names, ipAddressPoolSelectors: selectors }: Pick<BGPAdvertisement, 'ipAddressPools' | 'ipAddressPoolSelectors'>,
  { metadata: { name, labels } }: NamedPool,
): boolean {
  if (names.length === 0 && selectors.length === 0) return true;
  return names.includes(name) || selectors.some((selector) => selects(selector, labels));
}

/** Returns the blocks of the pool's ranges that contain the address. */
export function poolPrefixes(pool: IPAddressPool, address: Address): Prefix[] {
  const range = pool.addresses.find((range) => rangeContains(range, address));
  return range === undefined ? [] : rangeToPrefixes(range).filter((prefix) => prefixContains(prefix, address));
}

/**
 * Applies one advertisement to an address: returns its prefix after aggregation and its communities, or why the advertisement is left out.
 * As in MetalLB, an aggregate replaces the host route under externalTrafficPolicy Local too: routers then choose among nodes for the
 * aggregate, not for each address.
 */
export function resolveAdvertisement(
  snapshot: Snapshot,
  advertisement: BGPAdvertisement,
  address: Address,
  { prefixes, name, isKept, formerBlock = Infinity }: AddressOrigin,
): ResolvedAdvertisement | { readonly reason: Reason } {
  const bits = bitsOf(address.family);
  const field = address.family === 4 ? 'aggregationLength' : 'aggregationLengthV6';
  const [widest] = prefixes.toSorted((a, b) => a.length - b.length);
  const asked = advertisement[field];
  // An edit of the pool took the rest of the aggregate away.
  const isAlone = isKept === true || (asked < (widest?.length ?? bits) && formerBlock <= asked);
  const length = isAlone ? bits : asked;
  if (length < (widest?.length ?? bits)) {
    const prefix = formatPrefix(widest ?? maskedPrefix(address, bits));
    return { reason: reason('AggregationTooShort', { advertisement: advertisement.metadata.name, field, length, of: name, prefix }) };
  }
  const communities: RouteCommunity[] = [];
  for (const community of advertisement.communities) {
    const resolved = resolveCommunity(community, snapshot.communities.values());
    // Without the community (such as no-export) the route could spread further than intended, so it is not sent.
    if (!resolved.ok) return { reason: reason('UnknownCommunity', { community, advertisement: advertisement.metadata.name }) };
    communities.push(resolved.value);
  }
  return { advertisement, prefix: maskedPrefix(address, length), communities: uniteCommunities(communities) };
}

/** A reason names no more advertisements than this. */
const mostNames = 3;

/** Returns "BGPAdvertisement a", "BGPAdvertisements a, b" or "BGPAdvertisements a, b, c and others", for each kind. */
export function namesOf(advertisements: readonly Pick<BGPAdvertisement | L2Advertisement, 'kind' | 'metadata'>[]): string {
  const kinds = Map.groupBy(advertisements, ({ kind }) => kind);
  const texts = [...kinds].map(([kind, some]) => {
    const names = some.map(({ metadata }) => metadata.name).toSorted();
    const others = names.length > mostNames ? ' and others' : '';
    return `${kind}${names.length === 1 ? '' : 's'} ${names.slice(0, mostNames).join(', ')}${others}`;
  });
  return texts.join(' and ');
}
