import { compareAddresses, type Address } from '../../../net/address.ts';
import { formatRange, rangeContains, rangesOverlap, type AddressRange } from '../../../net/range.ts';
import type { IPAddressPool } from '../../../model/kinds/types.ts';
import { reason, type Reason } from '../../../model/reasons.ts';

interface EffectivePools {
  /** The pools that assign addresses, the oldest first. They are disjoint. */
  readonly pools: readonly IPAddressPool[];
  /** The refused pools by name. Addresses assigned from them stay assigned and announced. */
  readonly refused: ReadonlyMap<string, RefusedPool>;
}

export interface RefusedPool {
  readonly pool: IPAddressPool;
  readonly reason: Reason;
}

/** Why one pool gives a Service no address. */
export interface PoolRefusal {
  readonly pool: string;
  readonly reason: Reason;
}

/**
 * Splits pools into effective and refused ones. Of two overlapping pools only the later one is refused. Pools of a directory that are on
 * record as in force come first, then the pool created first; a pool without a creation time counts as later, and among equals the later
 * name is refused. A pool whose own ranges overlap is refused too.
 */
export function effectivePools(pools: ReadonlyMap<string, IPAddressPool>): EffectivePools {
  const known = memo.get(pools);
  const values = [...pools.values()];
  if (known !== undefined && sameItems(known.values, values)) return known.result;
  const result = withoutOverlaps(values);
  memo.set(pools, { values, result });
  return result;
}

/** Returns all valid pools that contain the address, the effective one first. At most one is effective. */
export function poolsOf(pools: ReadonlyMap<string, IPAddressPool>, address: Address): IPAddressPool[] {
  const { pools: giving, refused } = effectivePools(pools);
  return [...giving, ...[...refused.values()].map(({ pool }) => pool)].filter((pool) => containsAddress(pool, address));
}

export function containsAddress({ addresses }: IPAddressPool, address: Address): boolean {
  return addresses.some((range) => rangeContains(range, address));
}

// Every decision about a Service asks for the effective pools, and pools change rarely, so the result is cached while the map holds the
// same objects.
const memo = new WeakMap<ReadonlyMap<string, IPAddressPool>, { values: readonly IPAddressPool[]; result: EffectivePools }>();

interface OwnedRange {
  readonly range: AddressRange;
  readonly pool: string;
}

function withoutOverlaps(values: readonly IPAddressPool[]): EffectivePools {
  const pools: IPAddressPool[] = [];
  const refused = new Map<string, RefusedPool>();
  // Disjoint and ascending, so that only a neighbour can overlap.
  const accepted: OwnedRange[] = [];
  for (const pool of values.toSorted(byAge)) {
    const { name } = pool.metadata;
    const own: OwnedRange[] = [];
    let overlap: Reason | undefined;
    for (const range of pool.addresses) {
      const other = overlapping(accepted, range) ?? overlapping(own, range);
      if (other === undefined) {
        own.splice(insertionPoint(own, range), 0, { range, pool: name });
      } else {
        overlap ??= reason('PoolOverlaps', {
          pool: name,
          range: formatRange(range),
          other: other.pool,
          otherRange: formatRange(other.range),
        });
      }
    }
    if (overlap !== undefined) {
      refused.set(name, { pool, reason: overlap });
      continue;
    }
    pools.push(pool);
    for (const owned of own) accepted.splice(insertionPoint(accepted, owned.range), 0, owned);
  }
  return { pools, refused };
}

/** The API server writes RFC 3339 in UTC without fractions, which sorts as text. */
function byAge(a: IPAddressPool, b: IPAddressPool): number {
  const age = ({ metadata: { inForceSince = '~', creationTimestamp, name } }: IPAddressPool): string =>
    `${inForceSince} ${creationTimestamp === '' ? '~' : creationTimestamp} ${name}`;
  return age(a) < age(b) ? -1 : 1;
}

function overlapping(disjoint: readonly OwnedRange[], range: AddressRange): OwnedRange | undefined {
  const at = insertionPoint(disjoint, range);
  return [disjoint[at - 1], disjoint[at]].find((owned) => owned !== undefined && rangesOverlap(owned.range, range));
}

/** Returns the index of the first range that does not begin before this one. */
function insertionPoint(ranges: readonly OwnedRange[], { first }: AddressRange): number {
  return lowerBound(ranges, ({ range }) => compareAddresses(range.first, first) < 0);
}

/** Returns the index of the first item for which `isBefore` does not hold. The items for which it holds must come first. */
export function lowerBound<T>(items: readonly T[], isBefore: (item: T) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(items[middle] as T)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function sameItems<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}
