import { defined } from '../../lang/defined.ts';
import type { Allocator } from '../../decisions/allocation/allocator.ts';
import { effectivePools } from '../../decisions/allocation/pools/pools.ts';
import { allocationRequest } from '../../decisions/allocation/request.ts';
import { clusterAddressesIn } from '../../decisions/configuration/cluster-addresses.ts';
import { conflictsOf } from '../../decisions/configuration/pool-conflicts.ts';
import { poolStatus } from '../../decisions/configuration/pool-status.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatRange } from '../../net/range.ts';
import { allocatorOf } from './allocation.ts';
import { announcedBy, type AnnouncedBy } from './announced-by.ts';
import { whyGivesNothing } from './gives-nothing.ts';
import { waitingServices } from './pool.ts';
import { countsOf } from '../text/table-text.ts';

interface PoolUsageRow {
  readonly family: string;
  readonly given: number;
  /** Addresses that no Service has, and that the pool keeps for the Services that released them (keepReleasedSeconds). */
  readonly kept: number;
  readonly free: string;
  readonly total: string;
}

/** How many addresses of an IPAddressPool are given, and how many are free. Plain data. */
export interface PoolRow extends AnnouncedBy {
  readonly pool: string;
  readonly addresses: readonly string[];
  /** One entry for each family of the pool. Counts are text, because IPv6 pools exceed the range of numbers. */
  readonly usage: readonly PoolUsageRow[];
  /** Services without an address that this pool refuses, counted by reason. One that asks for another pool does not wait for this one. */
  readonly pending: readonly { readonly code: string; readonly count: number }[];
  /** Why the pool is not as it should be. It may give addresses nevertheless. */
  readonly reason?: Reason;
  /** Why no Service of any namespace would get an address from the pool. */
  readonly givesNothing?: Reason;
}

export interface PoolReport {
  /** Sorted by name. */
  readonly pools: readonly PoolRow[];
  /** Services that wait for an address from any pool. */
  readonly waiting: number;
}

interface PoolReportOptions {
  /** Only this pool. Absent: all. */
  readonly pool?: string;
  /** With the addresses of this snapshot. Absent: one is made. */
  readonly allocator?: Allocator;
}

export function poolReport(snapshot: Snapshot, { pool, allocator = allocatorOf(snapshot) }: PoolReportOptions = {}): PoolReport {
  const { refused } = effectivePools(snapshot.pools);
  const conflicts = conflictsOf(snapshot.pools.values());
  const clusterAddresses = clusterAddressesIn(snapshot);
  const kept = allocator.releasedAddresses();
  const usages = Map.groupBy(allocator.usage(), (usage) => usage.pool);
  const waiting = waitingServices(snapshot).flatMap((key) => snapshot.services.get(key) ?? []);
  const surveys = waiting.flatMap((service) => allocator.survey(allocationRequest(service, snapshot)));
  const refusals = Map.groupBy(surveys, (refusal) => refusal.pool);
  const names = [...snapshot.pools.keys()].filter((name) => pool === undefined || name === pool).toSorted();
  const pools = names.flatMap((name): PoolRow[] => {
    const object = snapshot.pools.get(name);
    if (object === undefined) return [];
    const usage = usages.get(name) ?? [];
    const no = refused.get(name);
    const { unready } = poolStatus(object, {
      refused: no?.reason,
      usage,
      conflicts: conflicts.get(name) ?? [],
      clusterAddress: clusterAddresses.get(name),
      released: [],
    });
    return [
      {
        pool: name,
        addresses: object.addresses.map(formatRange),
        usage: usage.map(({ family, assigned, free, total }) => ({
          family: `IPv${family}`,
          given: assigned,
          kept: kept.filter(({ pool: of, address }) => of === name && address.family === family).length,
          free: String(free),
          total: String(total),
        })),
        pending: countsOf((refusals.get(name) ?? []).flatMap(({ reason }) => waitingCode(reason))),
        ...announcedBy(snapshot, object),
        ...defined({ reason: unready, givesNothing: whyGivesNothing(object, { snapshot, allocator, refused: no }) }),
      },
    ];
  });
  return { pools, waiting: waiting.length };
}

function waitingCode(because: Reason | undefined): readonly string[] {
  return because === undefined || because.code === 'PoolNotRequested' ? [] : [because.code];
}
