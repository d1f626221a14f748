import { compareAddresses } from '../../net/address.ts';
import { rangesOverlap, type AddressRange } from '../../net/range.ts';
import type { IPAddressPool } from '../../model/kinds/types.ts';
import { limits } from '../../model/limits.ts';

interface Owned {
  readonly range: AddressRange;
  readonly pool: string;
}

/**
 * Finds pools whose address ranges overlap. Returns for each such pool the sorted names of the pools that it overlaps, at most
 * `limits.names`. Both pools of an overlap are listed: the refused one and the one that causes the refusal. Visits the ranges once, in the
 * order of their first addresses.
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
