import { defined } from '../../lang/defined.ts';
import { addressFromBytes, type Address, type Family } from '../../net/address.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { AttributeSet, ExtendedCommunity } from './attribute-set.ts';
import type { UpdateFormat } from './update-format.ts';
import type { Community } from '../route.ts';

/** A route as the peer was sent it in this session. */
export interface AdvertisedRoute {
  readonly prefix: Prefix;
  /** One; behind a global IPv6 address the link-local one, where that is told too (RFC 2545 3). */
  readonly nextHops: readonly Address[];
  /** The nearest first; empty to a peer of the same AS. */
  readonly asPath: readonly number[];
  /** To a peer of the same AS. */
  readonly localPref?: number;
  readonly med?: number;
  /** In order of their kinds and values, without duplicates. */
  readonly communities: readonly Community[];
  /** Octets per second. */
  readonly linkBandwidth?: number;
  /** Its withdrawal, or another form of it, waits for the peer to read. */
  readonly isChanging: boolean;
  /** Where `Peer.advertised` goes on behind this one. */
  readonly at: number;
}

/** A prefix that was sent, where the rib of its family has it. */
export interface AdvertisedPrefix {
  readonly slot: number;
  readonly prefix: Prefix;
  readonly set: AttributeSet;
  readonly isChanging: boolean;
}

export function advertisedRoute(
  { slot, prefix, set, isChanging }: AdvertisedPrefix,
  { internal, localAsn, nextHops }: UpdateFormat,
): AdvertisedRoute {
  return {
    prefix,
    nextHops: nextHopsOf(nextHops, prefix.address.family),
    asPath: internal ? [] : Array<number>(1 + set.prepend).fill(localAsn),
    ...(internal ? { localPref: set.localPref } : {}),
    ...defined({ med: set.med }),
    communities: communitiesOf(set),
    ...defined({ linkBandwidth: set.linkBandwidth }),
    isChanging,
    at: slot + 1,
  };
}

function nextHopsOf(nextHops: UpdateFormat['nextHops'], family: Family): Address[] {
  const encoding = nextHops[family];
  // What was sent before the session could not carry it any more: it is about to be withdrawn.
  if (encoding.kind === 'impossible') return [];
  const { nextHop } = encoding;
  return nextHop.length === 32
    ? [addressFromBytes(nextHop.subarray(0, 16)), addressFromBytes(nextHop.subarray(16))]
    : [addressFromBytes(nextHop)];
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

/** The opposite of `halvesOf`. */
function extendedCommunityFromWords([high, low]: ExtendedCommunity): Community {
  return { kind: 'extended', type: high >>> 24, subtype: (high >>> 16) & 0xff, value: (high & 0xffff) * 0x1_0000_0000 + low };
}
