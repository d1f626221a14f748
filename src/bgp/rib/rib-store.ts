import type { Family } from '../../net/address.ts';
import { AttributeSets } from './attribute-set.ts';
import type { FeedLimits } from './delta.ts';
import { longDelta, retainedChanges } from '../limits.ts';
import { PrefixTable } from './prefix-table.ts';
import { RouteTable } from './route-table.ts';
import { UpdateGroups } from './update-groups.ts';

/** The storage that the RIBs of all peers of one speaker share. It has every prefix and every attribute set once. */
export class RibStore {
  readonly tables: Readonly<Record<Family, PrefixTable>> = { 4: new PrefixTable(4), 6: new PrefixTable(6) };
  readonly sets = new AttributeSets();
  readonly groups = new UpdateGroups(this.sets);
  /** The routes for all peers. */
  readonly shared: Readonly<Record<Family, RouteTable>>;

  constructor(feedLimits: FeedLimits = { retainedChanges, longDelta }) {
    const tableOf = (family: Family): RouteTable => new RouteTable(this.tables[family], this.sets, feedLimits);
    this.shared = { 4: tableOf(4), 6: tableOf(6) };
  }
}
