import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { beginningAt, turnOrder } from '../../../../src/decisions/forwarding/turn-order.ts';
import { runs } from '../../../support/property.ts';

const turnsOf = (order: Uint16Array, backends: number): number[] =>
  Array.from({ length: backends }, (_, backend) => order.filter((turn) => turn === backend).length);

describe('turnOrder', () => {
  test.each([
    [[1, 1, 1], '0 1 2'],
    [[7, 7], '0 1'],
    [[5, 1, 1], '0 0 1 0 2 0 0'],
    [[20, 10], '0 1 0'],
    [[100], '0'],
    [[], ''],
  ])('weights %j take turns as %s', (weights, expected) => {
    expect(turnOrder(weights, 1_024).join(' ')).toBe(expected);
  });

  test('each backend has the turns of its weight, spread evenly', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 10 }), (weights) => {
        const order = turnOrder(weights, 1_024);
        const turns = turnsOf(order, weights.length);
        for (const [index, weight] of weights.entries()) expect((turns[index] ?? 0) * (weights[0] ?? 0)).toBe((turns[0] ?? 0) * weight);
        // No part of the order gives a backend a whole round more than its share.
        for (const [backend, own] of turns.entries()) {
          let seen = 0;
          for (const [index, turn] of order.entries()) {
            if (turn === backend) seen++;
            expect(Math.abs(seen - ((index + 1) * own) / order.length)).toBeLessThan(weights.length);
          }
        }
      }),
      { numRuns: runs(200) },
    );
  });

  test('turns have a bound: weights are rounded, and backends beyond it have none', () => {
    const order = turnOrder([...Array.from({ length: 99 }, () => 1), 100, 97], 150);
    expect(order.length).toBeLessThanOrEqual(150);
    const turns = turnsOf(order, 101);
    expect(Math.min(...turns)).toBe(1);
    expect(turns[99]).toBeGreaterThan(15);
    expect(
      turnOrder(
        Array.from({ length: 2_000 }, () => 3),
        1_024,
      ),
    ).toHaveLength(1_024);
    expect(
      turnOrder(
        Array.from({ length: 2_000 }, (_, index) => 1 + (index % 2)),
        1_024,
      ),
    ).toHaveLength(1_024);
  });

  test('an order begins at any turn', () => {
    expect([...beginningAt(Uint16Array.of(0, 1, 2), 4)]).toEqual([1, 2, 0]);
    expect([...beginningAt(new Uint16Array(), 4)]).toEqual([]);
  });
});
