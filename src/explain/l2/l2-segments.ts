import type { L2Decision } from '../../decisions/l2/candidates.ts';
import { l2DecisionsOf } from '../../decisions/l2/decisions-of.ts';
import { ownerOf } from '../../decisions/verdict/l2-view.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { type Address } from '../../net/address.ts';
import { formatPrefix, prefixContains } from '../../net/prefix.ts';
import { balancedAddresses } from './l2-overview.ts';

/** A network on which nodes answer ARP or NDP, and which of them does for which addresses. Plain data. */
export interface L2Segment {
  /** "192.0.2.0/24", or the name of the interface when no network of it contains the addresses. "": no node has a link to it. */
  readonly segment: string;
  /** Sorted by name. An owner "" stands for addresses for which no node answers. */
  readonly owners: readonly { readonly node: string; readonly addresses: readonly string[] }[];
}

/** `now` is in milliseconds since the epoch. Empty: no L2Advertisement announces an address. */
export function l2Segments(snapshot: Snapshot, now: number): L2Segment[] {
  const decisions = l2DecisionsOf(snapshot);
  if (decisions === undefined) return [];
  const owned = [...balancedAddresses(snapshot)].flatMap(([text, address]) => {
    const decision = decisions.decide(address);
    if ('reason' in decision) return decision.reason.code === 'NoAdvertisement' ? [] : [{ text, segment: '', node: '' }];
    const node = ownerOf(snapshot, decision, address, now) ?? '';
    return [{ text, segment: segmentOf(decision, address, node), node }];
  });
  return [...Map.groupBy(owned, ({ segment }) => segment)].toSorted(byName).map(([segment, inside]) => ({
    segment,
    owners: [...Map.groupBy(inside, ({ node }) => node)]
      .toSorted(byName)
      .map(([node, some]) => ({ node, addresses: some.map(({ text }) => text).toSorted() })),
  }));
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1);

function segmentOf({ candidates }: Exclude<L2Decision, { readonly reason: unknown }>, address: Address, owner: string): string {
  const { links = [] } = candidates.find(({ node }) => node === owner) ?? candidates[0] ?? {};
  const network = links.flatMap(({ networks }) => networks).find((one) => prefixContains(one, address));
  return network === undefined ? links.map(({ name }) => name).join(', ') : formatPrefix(network);
}
