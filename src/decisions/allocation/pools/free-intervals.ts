import assert from 'node:assert';
import { compareAddresses, type Address } from '../../../net/address.ts';
import type { AddressRange } from '../../../net/range.ts';

/**
 * The free addresses of one range, kept as disjoint intervals that do not touch. Finding the lowest free address and taking it
 * costs two steps, whether none or a million are taken; taking another one or giving one back costs a binary search over the gaps.
 */
export interface FreeIntervals {
  /** The lowest free address. */
  lowest(): Address | undefined;
  /** False where it was not free, or is not of the range. */
  take(address: Address): boolean;
  /** An address of the range that is not free becomes free. */
  give(address: Address): void;
  has(address: Address): boolean;
  /** How many intervals were looked at since the beginning: the measure of work, for tests and benchmarks. */
  steps(): number;
}

interface Interval {
  first: bigint;
  last: bigint;
}

export function createFreeIntervals(range: AddressRange): FreeIntervals {
  const { family } = range.first;
  // Descending: the lowest, which is what is asked for, is the last, and goes without a move of the others. Removing one in the
  // middle shifts the ones behind it, a move of memory that stays far below the cost of everything else that an allocation does:
  // the number of gaps is at most the number of addresses held.
  const intervals: Interval[] = [{ first: range.first.value, last: range.last.value }];
  let steps = 0;

  /** Index of the lowest interval that ends at the value or above it; -1: all are below. */
  const search = (value: bigint): number => {
    let [low, high] = [-1, intervals.length - 1];
    const reaches = (at: number): boolean => {
      const interval = intervals[at];
      steps++;
      return interval !== undefined && interval.last >= value;
    };
    if (high < 0 || reaches(high)) return high;
    high--;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (reaches(middle)) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  const inRange = (address: Address): boolean => compareAddresses(range.first, address) <= 0 && compareAddresses(address, range.last) <= 0;
  const has = (address: Address): boolean => {
    if (!inRange(address)) return false;
    const interval = intervals[search(address.value)];
    return interval !== undefined && interval.first <= address.value;
  };

  return {
    has,
    lowest() {
      steps++;
      const interval = intervals.at(-1);
      return interval === undefined ? undefined : { family, value: interval.first };
    },
    take(address) {
      const { value } = address;
      if (!inRange(address)) return false;
      const at = search(value);
      const interval = intervals[at];
      if (interval === undefined || interval.first > value) return false;
      const { first, last } = interval;
      if (first === last) intervals.splice(at, 1);
      else if (value === first) interval.first = value + 1n;
      else if (value === last) interval.last = value - 1n;
      else intervals.splice(at, 1, { first: value + 1n, last }, { first, last: value - 1n });
      return true;
    },
    give(address) {
      assert(inRange(address) && !has(address), 'only an address of the range that is taken can be given back');
      const { value } = address;
      const at = search(value);
      const [before, after] = [intervals[at + 1], intervals[at]];
      const joinsBefore = before?.last === value - 1n;
      const joinsAfter = after?.first === value + 1n;
      if (before !== undefined && after !== undefined && joinsBefore && joinsAfter) {
        after.first = before.first;
        intervals.splice(at + 1, 1);
      } else if (before !== undefined && joinsBefore) before.last = value;
      else if (after !== undefined && joinsAfter) after.first = value;
      else intervals.splice(at + 1, 0, { first: value, last: value });
    },
    steps: () => steps,
  };
}
