import { compareAddresses } from '../../net/address.ts';
import { rangesOverlap, type AddressRange } from '../../net/range.ts';
import type { IPAddressPool } from '../../model/kinds/types.ts';
import { limits } from '../../model/limits.ts';

interface Owned {
  readonly range: AddressRange;
  readonly pool: string;
}

/**
 * Returns overlapping pools by name, each with the sorted names of the others. Both pools of an overlap are listed: the refused one and the
 * one that causes it. Walks the ranges once, sorted by first address.
 */
export function conflictsOf(pools: Iterable<IPAddressPool>): ReadonlyMap<string, readonly string[]> {
  const conflicts = new Map<string, Set<string>>();
  const note = (of: string, other: string): void => {
    const names = conflicts.get(of) ?? new Set<string>();
    conflicts.set(of, names);
    if (names.size < limits.names) names.add(other);
  };
  const all = [...pools].flatMap(({ metadata, addresses }) => addresses.map((range): Owned => ({ range, pool: metadata.name })));
  let open: Owned[] = [];
  for (const owned of all.toSorted((a, b) => compareAddresses(a.range.first, b.range.first))) {
    open = open.filter(({ range }) => rangesOverlap(range, owned.range));
    for (const { pool } of open) {
      if (pool === owned.pool) continue;
      note(pool, owned.pool);
      note(owned.pool, pool);
    }
    open.push(owned);
  }
  return new Map([...conflicts].map(([pool, names]) => [pool, [...names].toSorted()]));
}
