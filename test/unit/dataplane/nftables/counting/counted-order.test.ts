import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countedOrder, type CountedBackends } from '../../../../../src/dataplane/nftables/counting/counted-order.ts';
import { countedTurnsFor, type CountedBy } from '../../../../../src/net/frontend.ts';
import { runs } from '../../../../support/property.ts';

const rules: readonly CountedBy[] = ['connections', 'weighted', 'delay', 'idle'];

const anyBackends: fc.Arbitrary<CountedBackends> = fc
  .record({
    by: fc.constantFrom(...rules),
    first: fc.nat({ max: 0xffff_ffff }),
    each: fc.array(fc.record({ load: fc.nat({ max: 40 }), weight: fc.integer({ min: 1, max: 9 }) }), { minLength: 1, maxLength: 70 }),
  })
  .map(({ by, first, each }) => ({ by, first, loads: each.map(({ load }) => load), weights: each.map(({ weight }) => weight) }));

/** Returns the backends of the next connections. */
const next = (backends: Omit<CountedBackends, 'first'>, count: number, turn = 0): number[] => {
  const order = countedOrder({ first: 0, ...backends }, { turn, expected: 0 });
  return Array.from({ length: count }, (_, index) => order[(turn + index) % order.length] ?? -1);
};

const loadsAfter = ({ loads }: CountedBackends, placed: readonly number[]): number[] => {
  const after = [...loads];
  for (const backend of placed) after[backend] = (after[backend] ?? 0) + 1;
  return after;
};

describe('order of turns by connections', () => {
  test.each<[CountedBy, readonly number[], readonly number[], readonly number[]]>([
    ['connections', [0, 0, 0], [1, 1, 1], [0, 1, 2, 0, 1, 2]],
    ['connections', [2, 2, 0], [1, 1, 1], [2, 2, 2, 0, 1, 2]],
    ['connections', [2, 2, 0], [9, 9, 1], [2, 2, 2, 0, 1, 2]],
    ['weighted', [0, 0], [3, 1], [0, 1, 0, 0, 0, 1, 0, 0]],
    ['weighted', [6, 0], [3, 1], [1, 1, 0, 1, 0, 0]],
    ['delay', [0, 0], [3, 1], [0, 0, 0, 1, 0, 0, 0, 1]],
    ['idle', [0, 0], [3, 1], [0, 1, 0, 0]],
    ['idle', [3, 0, 0], [9, 1, 1], [1, 2, 0, 0]],
  ])('%s with loads %j and weights %j: %j', (by, loads, weights, placed) => {
    expect(next({ by, loads, weights }, placed.length)).toEqual(placed);
  });

  test('connections that end at once are spread: the number of the turn decides among equal backends', () => {
    const backends = { by: 'connections', loads: [0, 0, 0], weights: [1, 1, 1] } as const;
    expect([0, 1, 2, 3].map((turn) => next(backends, 1, turn)[0])).toEqual([0, 1, 2, 0]);
  });

  test('each connection goes to the backend with the lowest number of its rule', () => {
    fc.assert(
      fc.property(anyBackends, fc.nat({ max: 2_000 }), fc.nat({ max: 100 }), (backends, turn, count) => {
        const { by, weights } = backends;
        const placed = Array.from({ length: count }, (_, index) => {
          const order = countedOrder(backends, { turn, expected: 0 });
          return order[(turn + index) % order.length] ?? -1;
        });
        const number = (load: number, backend: number): number => {
          const weight = weights[backend] ?? 1;
          if (by === 'connections') return load;
          if (by === 'weighted') return load / weight;
          return by === 'idle' && load === 0 ? 0 : (load + 1) / weight;
        };
        for (const [index, backend] of placed.entries()) {
          const before = loadsAfter(backends, placed.slice(0, index)).map(number);
          expect(before[backend]).toBe(Math.min(...before));
        }
      }),
      { numRuns: runs(200) },
    );
  });

  test('when a connection came as expected, the new order differs in its turn alone', () => {
    fc.assert(
      fc.property(anyBackends, fc.nat({ max: 2_000 }), (backends, turn) => {
        const order = countedOrder(backends, { turn, expected: 0 });
        const taken = turn % order.length;
        const after = countedOrder({ ...backends, loads: loadsAfter(backends, [order[taken] ?? 0]) }, { turn: turn + 1, expected: 0 });
        const differing = [...order.keys()].filter((each) => order[each] !== after[each]);
        expect(differing.filter((each) => each !== taken)).toEqual([]);
      }),
      { numRuns: runs(200) },
    );
  });

  test('with fewer turns than expected connections, each pod gets turns in proportion to the connections that it lacks', () => {
    const backends: CountedBackends = { by: 'connections', loads: [1_000, 1_000, 0], weights: [1, 1, 1], first: 0 };
    const order = countedOrder(backends, { turn: 0, expected: 2_560 });
    const after = loadsAfter(
      backends,
      Array.from({ length: 2_560 }, (_, index) => order[index % order.length] ?? 0),
    );
    // 4560 connections over three backends, and each turn stands for ten.
    for (const load of after) expect(Math.abs(load - 1_520)).toBeLessThanOrEqual(10);
  });

  test.each([
    [1, 256],
    [64, 256],
    [65, 1_024],
    [5_000, 1_024],
  ])('%i backends have %i turns', (backends, turns) => {
    expect(countedTurnsFor(backends)).toBe(turns);
    const ones = Array.from({ length: backends }, () => 1);
    const order = countedOrder({ by: 'connections', loads: ones, weights: ones, first: 7 }, { turn: 3, expected: 0 });
    expect(order).toHaveLength(turns);
    // No backend has two turns more than another.
    const counts = loadsAfter({ by: 'connections', loads: ones.map(() => 0), weights: ones, first: 0 }, [...order]);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  });
});
