import { formatAddress, type Address, type Family } from '../../net/address.ts';
import { AttributeSets } from './interned/attribute-set.ts';
import type { FeedLimits } from './delta.ts';
import { longDelta, retainedChanges } from '../limits.ts';
import { PrefixTable } from './interned/prefix-table.ts';
import { RouteTable } from './route-table.ts';
import { UpdateGroups } from './update-groups.ts';

/** The storage that the RIBs of all peers of one speaker share. It has every prefix and every attribute set once. */
export class RibStore {
  readonly tables: Readonly<Record<Family, PrefixTable>> = { 4: new PrefixTable(4), 6: new PrefixTable(6) };
  readonly sets = new AttributeSets((nextHop) => {
    for (const watcher of this.#watchers.get(formatAddress(nextHop)) ?? []) watcher();
  });
  readonly groups = new UpdateGroups(this.sets);
  /** The routes for all peers. */
  readonly shared: Readonly<Record<Family, RouteTable>>;
  readonly #watchers = new Map<string, Set<() => void>>();

  constructor(feedLimits: FeedLimits = { retainedChanges, longDelta }) {
    const tableOf = (family: Family): RouteTable => new RouteTable(this.tables[family], this.sets, feedLimits);
    this.shared = { 4: tableOf(4), 6: tableOf(6) };
  }
  /** Calls the watcher before the address becomes the next hop of a route, until the returned function is called. */
  watchNextHop(address: Address, watcher: () => void): () => void {
    const key = formatAddress(address);
    const watchers = this.#watchers.get(key) ?? new Set();
    this.#watchers.set(key, watchers.add(watcher));
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0) this.#watchers.delete(key);
    };
  }
}
