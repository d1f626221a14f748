import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PriorityQueue, turnsPerOldest } from '../../../src/lang/priority-queue.ts';

function takeAll(line: PriorityQueue<string>): string[] {
  const taken: string[] = [];
  for (let next = line.take(); next !== undefined; next = line.take()) taken.push(next.item);
  return taken;
}

describe('a ranked line', () => {
  test('gives turns by rank, and by arrival within a rank', () => {
    const line = new PriorityQueue<string>();
    for (const [item, rank] of [
      ['c', 2],
      ['a1', 0],
      ['b', 1],
      ['a2', 0],
    ] as const)
      line.add(item, rank);
    expect([line.size, line.rankOf('b'), [...line].toSorted()]).toEqual([4, 1, ['a1', 'a2', 'b', 'c']]);
    expect(takeAll(line)).toEqual(['a1', 'a2', 'b', 'c']);
    expect([line.size, line.next()]).toEqual([0, undefined]);
  });

  test('gives every eighth turn to the item that has waited longest', () => {
    const line = new PriorityQueue<string>();
    for (const item of ['old', 'older']) line.add(item, 3);
    for (let index = 0; index < 20; index++) line.add(`new ${index}`, 0);
    const taken = takeAll(line);
    expect([taken[7], taken[15]]).toEqual(['old', 'older']);
  });

  test('passes over ranks that may not have a turn', () => {
    const line = new PriorityQueue<string>();
    for (const [item, rank] of [
      ['a', 0],
      ['b', 1],
    ] as const)
      line.add(item, rank);
    expect(line.take((rank) => rank > 0)?.item).toBe('b');
    expect(line.take((rank) => rank > 0)).toBeUndefined();
    expect(line.take()?.item).toBe('a');
  });

  test('lets no item wait for more than eight turns for itself and each that it found, whatever comes later', () => {
    const rank = fc.nat(3);
    // Each turn is preceded by up to three arrivals.
    const rounds = fc.array(fc.array(rank, { maxLength: 3 }), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(rounds, (all) => {
        const line = new PriorityQueue<number>();
        const limit = new Map<number, number>();
        let [items, turns] = [0, 0];
        for (const arrivals of all) {
          for (const one of arrivals) {
            limit.set(items, turns + turnsPerOldest * (line.size + 1));
            line.add(items++, one);
          }
          const taken = line.take();
          if (taken === undefined) continue;
          turns++;
          expect(turns).toBeLessThanOrEqual(limit.get(taken.item) ?? 0);
          for (const waiting of line) expect(turns).toBeLessThan(limit.get(waiting) ?? 0);
        }
      }),
    );
  });
});
