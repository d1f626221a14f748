import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fillSlots, slotCapacities, type SlotCandidate } from '../../../../src/decisions/forwarding/slot-table.ts';
import { slotTableSizes } from '../../../../src/net/frontend.ts';

const even = (count: number): SlotCandidate[] =>
  Array.from({ length: count }, (_, index) => ({ name: `10.1.${index >> 8}.${index & 255}`, weight: 1 }));

const candidates = fc
  .uniqueArray(fc.record({ name: fc.ipV4(), weight: fc.integer({ min: 1, max: 100 }) }), {
    selector: ({ name }) => name,
    minLength: 1,
    maxLength: 40,
  })
  .chain((list) => fc.boolean().map((weighted) => (weighted ? list : list.map(({ name }) => ({ name, weight: 1 })))));
const size = fc.constantFrom(...slotTableSizes.slice(0, 2));
const salt = fc.uuid();

/** Returns the name of the candidate for each slot. */
const owners = (salt: string, of: readonly SlotCandidate[], size: number): string[] =>
  [...fillSlots(salt, of, size)].map((index) => of[index]?.name ?? 'nobody');

const loads = (table: Uint16Array, count: number): number[] => {
  const loads = Array.from({ length: count }, () => 0);
  for (const index of table) loads[index] = (loads[index] ?? 0) + 1;
  return loads;
};

/** Counts slots that changed hands although their old candidate stayed and their new one was there before. */
function unrelated(salt: string, before: readonly SlotCandidate[], after: readonly SlotCandidate[], size: number): number {
  const [old, now] = [owners(salt, before, size), owners(salt, after, size)];
  const [was, is] = [new Set(before.map(({ name }) => name)), new Set(after.map(({ name }) => name))];
  return old.filter((owner, slot) => owner !== now[slot] && is.has(owner) && was.has(now[slot] ?? '')).length;
}

describe('a slot table', () => {
  test('every slot has a candidate, and no candidate exceeds its share by more than 5 %', () => {
    fc.assert(
      fc.property(salt, candidates, size, (salt, list, size) => {
        const table = fillSlots(salt, list, size);
        const bounds = slotCapacities(list, size);
        const total = list.reduce((sum, { weight }) => sum + weight, 0);
        for (const [index, load] of loads(table, list.length).entries()) {
          expect(load).toBeLessThanOrEqual(bounds[index] ?? 0);
          expect(bounds[index]).toBe(Math.ceil((size * 1.05 * (list[index]?.weight ?? 0)) / total));
        }
        expect(table.length).toBe(size);
        expect(Math.max(...table)).toBeLessThan(list.length);
      }),
    );
  });

  test('the table depends only on its input', () => {
    // A change of the hash or of the order of preferences would move every connection while an update rolls over the nodes.
    expect(fillSlots('a-uid', even(4), 251).slice(0, 32).join('')).toBe('33312323023111202231232003031213');
    const weighted = even(4).map((each, index) => ({ ...each, weight: index + 1 }));
    expect(fillSlots('a-uid', weighted, 251).slice(0, 32).join('')).toBe('33312323023111202231232203131213');
  });

  test('equal weights give the same table, whatever their value', () => {
    fc.assert(
      fc.property(salt, candidates, size, fc.integer({ min: 2, max: 100 }), (salt, list, size, weight) => {
        const [ones, equals] = [1, weight].map((weight) =>
          fillSlots(
            salt,
            list.map(({ name }) => ({ name, weight })),
            size,
          ),
        );
        expect(equals).toEqual(ones);
      }),
    );
  });

  test('another Service gets another table', () => {
    const [one, other] = ['one', 'other'].map((salt) => fillSlots(salt, even(10), 1021));
    const same = (one ?? []).filter((owner, slot) => owner === other?.[slot]).length;
    // By chance a tenth of the slots agree. The bound is five standard deviations of the binomial distribution.
    expect(Math.abs(same - 102)).toBeLessThan(48);
  });

  test('candidates get slots by weight', () => {
    const list = [1, 1, 2, 4].map((weight, index) => ({ name: `10.1.0.${index}`, weight }));
    const counted = loads(fillSlots('a-uid', list, 4093), 4);
    for (const [index, { weight }] of list.entries()) {
      const share = (4093 * weight) / 8;
      // The bound is four standard deviations of the binomial distribution.
      expect(Math.abs((counted[index] ?? 0) - share)).toBeLessThan(4 * Math.sqrt(share));
    }
  });
});

describe('slots after a candidate left', () => {
  test('the last candidate gets all slots, and nothing moves without a change', () => {
    expect(unrelated('a-uid', even(2), even(1), 251)).toBe(0);
    expect(unrelated('a-uid', even(9), even(9), 251)).toBe(0);
  });

  test.each(
    [251, 1021, 4093].flatMap((size) =>
      [2, 3, 5, 10, 25, 50, 100, 250].filter((count) => 4 * count <= size).map((count) => ({ size, count })),
    ),
  )('other candidates swap only slots without their first choice: $count in $size slots', ({ size, count }) => {
    const services = 12;
    let moved = 0;
    for (let service = 0; service < services; service++) {
      const before = even(count);
      const after = before.filter((_, index) => index !== (service * 7) % count);
      moved += unrelated(`uid-${service}`, before, after, size) + unrelated(`uid-${service}`, after, before, size);
    }
    const bound = overflow(count, size) + overflow(count - 1, size);
    // The average of leaving and coming back. It is bounded by the slots without their first choice before and after, and by 3 % of all.
    expect(moved / services / 2).toBeLessThanOrEqual(Math.min(bound, 0.03 * size) + 1);
  });

  test('weighted candidates that stay swap fewer than 5 % of the slots', () => {
    const list = Array.from({ length: 10 }, (_, index) => ({ name: `10.1.0.${index}`, weight: 1 + (index % 4) }));
    for (let service = 0; service < 10; service++) {
      const after = list.filter((_, index) => index !== service);
      expect(unrelated(`uid-${service}`, list, after, 1021)).toBeLessThan(0.05 * 1021);
    }
  });
});

/**
 * Returns how many slots on average cannot have their first choice because it is full. First choices fall on each of `count` candidates in
 * a binomial distribution; those above the capacity go elsewhere.
 */
function overflow(count: number, size: number): number {
  if (count < 2) return 0;
  const [capacity = 0] = slotCapacities(even(count), size);
  const chance = 1 / count;
  let logarithm = size * Math.log1p(-chance);
  let above = 0;
  for (let choices = 0; choices <= size; choices++) {
    if (choices > capacity) above += (choices - capacity) * Math.exp(logarithm);
    logarithm += Math.log((size - choices) / (choices + 1)) + Math.log(chance) - Math.log1p(-chance);
  }
  return above * count;
}
