import assert from 'node:assert';
import { compareAddresses, type Address } from '../../../net/address.ts';
import type { AddressRange } from '../../../net/range.ts';

/**
 * The free addresses of one range, as disjoint intervals that do not touch. Finding and taking the lowest address costs two steps, whether
 * none or a million are taken. Taking another one, or returning one, costs a binary search over the gaps.
 */
export interface FreeIntervals {
  /** Returns the lowest free address. */
  lowest(): Address | undefined;
  /** Returns false when the address was not free or is outside the range. */
  markHeld(address: Address): boolean;
  /** Frees an address of the range. */
  markFree(address: Address): void;
  has(address: Address): boolean;
  /** Counts the intervals that were searched. Measures work in tests and benchmarks. */
  steps(): number;
}

/** `holes`: parts of the range that are never free, ascending and disjoint. */
export function createFreeIntervals(range: AddressRange, holes: readonly AddressRange[] = []): FreeIntervals {
  const { family } = range.first;
  // In descending order: the lowest interval, which callers ask for most, is the last and is removed without moving the others. Removing
  // one in the middle shifts those behind it, which costs far less than the rest of an allocation: there are at most as many gaps as held
  // addresses.
  const intervals = between(range, holes).toReversed();
  let steps = 0;

  /** Returns the index of the lowest interval that ends at or above the value, -1 when all are below. */
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
    markHeld(address) {
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
    markFree(address) {
      assert(inRange(address) && !has(address), 'only a held address of the range can be freed');
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

/** Returns what is left of the range, ascending. */
function between(range: AddressRange, holes: readonly AddressRange[]): { first: bigint; last: bigint }[] {
  const starts = [range.first.value, ...holes.map(({ last }) => last.value + 1n)];
  const ends = [...holes.map(({ first }) => first.value - 1n), range.last.value];
  return starts.map((first, at) => ({ first, last: ends[at] ?? range.last.value })).filter(({ first, last }) => first <= last);
}
