import { defined } from '../../lang/defined.ts';
import type { Address, Family } from '../../net/address.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { AttributeSet, ExtendedCommunity } from './interned/attribute-set.ts';
import type { UpdateFormat } from './update-format.ts';
import type { Community } from '../route.ts';
import { nextHopsOf } from '../wire/nlri.ts';

/** A route as it was sent to the peer in this session. */
export interface AdvertisedRoute {
  readonly prefix: Prefix;
  /** The path identifier. Present on a session with ADD-PATH (RFC 7911). */
  readonly pathId?: number;
  /** The next hop. A global IPv6 address may be followed by the link-local one (RFC 2545 3). */
  readonly nextHops: readonly Address[];
  /** The nearest AS first. Empty for a peer of the same AS. */
  readonly asPath: readonly number[];
  /** Present only for a peer of the same AS. */
  readonly localPref?: number;
  readonly med?: number;
  /** Sorted by kind and value, without duplicates. */
  readonly communities: readonly Community[];
  /** In octets per second. */
  readonly linkBandwidth?: number;
  /** A withdrawal or a changed announcement of this prefix has not been sent yet. */
  readonly isChanging: boolean;
  /** The position from which `Peer.advertised` continues after this route. */
  readonly at: number;
}

/** A path of a prefix that was sent, with its slot and attribute set in the Adj-RIB-Out of its family. */
export interface AdvertisedPrefix {
  readonly slot: number;
  readonly prefix: Prefix;
  readonly pathId: number;
  readonly set: AttributeSet;
  readonly isChanging: boolean;
}

export function advertisedRoute(
  { slot, prefix, pathId, set, isChanging }: AdvertisedPrefix,
  { internal, localAsn, nextHops, pathIds }: UpdateFormat,
): AdvertisedRoute {
  return {
    prefix,
    ...(pathIds.includes(prefix.address.family) ? { pathId } : {}),
    nextHops: set.nextHop === undefined ? sentNextHops(nextHops, prefix.address.family) : [set.nextHop],
    asPath: internal ? [] : Array<number>(1 + set.prepend).fill(localAsn),
    ...(internal ? { localPref: set.localPref } : {}),
    ...defined({ med: set.med }),
    communities: communitiesOf(set),
    ...defined({ linkBandwidth: set.linkBandwidth }),
    isChanging,
    at: slot + 1,
  };
}

function sentNextHops(nextHops: UpdateFormat['nextHops'], family: Family): Address[] {
  const encoding = nextHops[family];
  // The route was sent while the session could carry the family. It is about to be withdrawn.
  return encoding.kind === 'impossible' ? [] : nextHopsOf(encoding.nextHop);
}

function communitiesOf({ standard, large, extended }: AttributeSet): Community[] {
  return [
    ...standard.map((value) => ({ kind: 'standard', value }) as const),
    ...large.map(
      ([globalAdministrator, localData1, localData2]) => ({ kind: 'large', globalAdministrator, localData1, localData2 }) as const,
    ),
    ...extended.map(extendedCommunityFromWords),
  ];
}

/** Inverse of `extendedCommunityWords`. */
function extendedCommunityFromWords([high, low]: ExtendedCommunity): Community {
  return { kind: 'extended', type: high >>> 24, subtype: (high >>> 16) & 0xff, value: (high & 0xffff) * 0x1_0000_0000 + low };
}
