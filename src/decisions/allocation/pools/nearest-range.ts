import type { IPAddressPool } from '../../../model/kinds/types.ts';
import type { Address } from '../../../net/address.ts';
import { formatRange, type AddressRange } from '../../../net/range.ts';

/** Finds the range nearest to the address; the first by name among equals. Both texts are "" when no pool has its family. */
export function nearestRange(pools: Iterable<IPAddressPool>, address: Address): { readonly pool: string; readonly range: string } {
  const ranges = [...pools]
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .flatMap(({ metadata, addresses }) => addresses.map((range) => ({ pool: metadata.name, range })))
    .filter(({ range }) => range.first.family === address.family)
    .map((one) => ({ ...one, distance: distanceOf(one.range, address) }));
  const [nearest] = ranges.toSorted((a, b) => (a.distance < b.distance ? -1 : a.distance > b.distance ? 1 : 0));
  return nearest === undefined ? { pool: '', range: '' } : { pool: nearest.pool, range: formatRange(nearest.range) };
}

function distanceOf({ first, last }: AddressRange, { value }: Address): bigint {
  if (value < first.value) return first.value - value;
  return value > last.value ? value - last.value : 0n;
}
