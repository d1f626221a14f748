import type { IPAddressPool } from '../../model/kinds/types.ts';
import { compareAddresses, type Address } from '../../net/address.ts';
import { rangeContains } from '../../net/range.ts';

/** Returns a function that finds the pool of an address. It searches the sorted ranges, because there may be 50,000 addresses. */
export function poolLookup(pools: Iterable<IPAddressPool>): (address: Address) => string | undefined {
  const ranges = [...pools]
    .flatMap(({ metadata, addresses }) => addresses.map((range) => ({ range, pool: metadata.name })))
    .toSorted((a, b) => compareAddresses(a.range.first, b.range.first));
  return (address) => {
    let [low, high] = [0, ranges.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const one = ranges[middle];
      if (one !== undefined && compareAddresses(one.range.first, address) <= 0) low = middle + 1;
      else high = middle;
    }
    const found = ranges[low - 1];
    return found !== undefined && rangeContains(found.range, address) ? found.pool : undefined;
  };
}
