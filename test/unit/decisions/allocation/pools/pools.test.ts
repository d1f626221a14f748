import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rangeContains, type AddressRange } from '../../../../../src/net/range.ts';
import type { Address, Family } from '../../../../../src/net/address.ts';
import { reasonText } from '../../../../../src/model/reasons.ts';
import { createAddressSpace, type AddressSpace } from '../../../../../src/decisions/allocation/pools/address-space.ts';
import { decideAllocationClaim } from '../../../../../src/decisions/allocation/claim.ts';
import { createFreeIntervals } from '../../../../../src/decisions/allocation/pools/free-intervals.ts';
import { effectivePools } from '../../../../../src/decisions/allocation/pools/pools.ts';
import { config, pool, service, type PoolLiteral, type ServiceLiteral } from '../../fixtures.ts';

const effective = (pools: readonly PoolLiteral[]) => effectivePools(new Map(pools.map((literal) => [literal.name, pool(literal)])));
const names = (pools: readonly PoolLiteral[]): string[] => effective(pools).pools.map(({ metadata }) => metadata.name);

describe('overlapping pools', () => {
  test.each<[string, PoolLiteral[], string[]]>([
    [
      'disjoint pools are all effective, sorted by name',
      [
        { name: 'b', addresses: ['192.0.2.0/25'] },
        { name: 'a', addresses: ['192.0.2.128/25', '2001:db8::/64'] },
      ],
      ['a', 'b'],
    ],
    [
      'the later by name is refused',
      [
        { name: 'b', addresses: ['192.0.2.0/24'] },
        { name: 'a', addresses: ['192.0.2.9-192.0.2.9'] },
      ],
      ['a'],
    ],
    [
      'a pool inside another is refused',
      [
        { name: 'a', addresses: ['10.0.0.0/8'] },
        { name: 'b', addresses: ['10.1.0.0/16'] },
        { name: 'c', addresses: ['11.0.0.0/8'] },
      ],
      ['a', 'c'],
    ],
    [
      'an overlap in one of two families is enough',
      [
        { name: 'a', addresses: ['2001:db8::/64'] },
        { name: 'b', addresses: ['192.0.2.0/24', '2001:db8::-2001:db8::1'] },
      ],
      ['a'],
    ],
    [
      'a refused pool does not refuse others',
      [
        { name: 'a', addresses: ['192.0.2.0/28'] },
        { name: 'b', addresses: ['192.0.2.0/24'] },
        { name: 'c', addresses: ['192.0.2.128/25'] },
      ],
      ['a', 'c'],
    ],
    ['a pool that overlaps itself is refused', [{ name: 'a', addresses: ['192.0.2.0/24', '192.0.2.7-192.0.2.9'] }], []],
  ])('%s', (_, pools, expected) => {
    expect(names(pools)).toEqual(expected);
    expect(names(pools.toReversed())).toEqual(expected);
  });

  test('the pool created later is refused whatever its name, and no creation time counts as later', () => {
    const created = (name: string, creationTimestamp: string) => {
      const literal = pool({ name, addresses: ['192.0.2.0/24'] });
      return { ...literal, metadata: { ...literal.metadata, creationTimestamp } };
    };
    const first = (...pools: readonly ReturnType<typeof created>[]): string[] =>
      effectivePools(new Map(pools.map((pool) => [pool.metadata.name, pool]))).pools.map(({ metadata }) => metadata.name);
    expect(first(created('a', '2026-02-01T00:00:00Z'), created('b', '2026-01-01T00:00:00Z'))).toEqual(['b']);
    expect(first(created('a', ''), created('b', '2026-01-01T00:00:00Z'))).toEqual(['b']);
    expect(first(created('b', '2026-01-01T00:00:00Z'), created('a', '2026-01-01T00:00:00Z'))).toEqual(['a']);
  });

  test('the reason names both ranges', () => {
    const { refused } = effective([
      { name: 'a', addresses: ['192.0.2.0/25'] },
      { name: 'b', addresses: ['192.0.2.100-192.0.2.200'] },
    ]);
    const why = refused.get('b')?.reason;
    expect(why === undefined ? '' : reasonText(why)).toBe(
      'pool "b" gives no addresses: 192.0.2.100-192.0.2.200 overlaps 192.0.2.0/25 of IPAddressPool "a", which came first',
    );
  });

  test('the cached result follows a changed map', () => {
    const pools = new Map([['a', pool({ name: 'a', addresses: ['192.0.2.0/24'] })]]);
    expect(effectivePools(pools)).toBe(effectivePools(pools));
    pools.set('a', pool({ name: 'a', addresses: ['198.51.100.0/24'] }));
    pools.set('b', pool({ name: 'b', addresses: ['192.0.2.0/24'] }));
    expect(effectivePools(pools).pools).toHaveLength(2);
  });
});

describe('free intervals', () => {
  const at = (value: number): Address => ({ family: 6, value: BigInt(value) });
  const range: AddressRange = { first: at(10), last: at(25) };

  test('free intervals behave like a set of addresses', () => {
    const operation = fc.record({ op: fc.constantFrom('take', 'give'), value: fc.integer({ min: 8, max: 27 }) });
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
        const intervals = createFreeIntervals(range);
        const free = new Set(Array.from({ length: 16 }, (_, index) => 10 + index));
        for (const { op, value } of operations) {
          const gives = op === 'give' && rangeContains(range, at(value)) && !free.has(value);
          if (gives) intervals.markFree(at(value));
          if (gives) free.add(value);
          const taken = op === 'take' && intervals.markHeld(at(value));
          expect(taken).toBe(op === 'take' && free.delete(value));
          expect(intervals.has(at(value))).toBe(free.has(value));
          expect(intervals.lowest()).toEqual(free.size === 0 ? undefined : at(Math.min(...free)));
        }
      }),
    );
  });

  test('marking a free address as free throws', () => {
    expect(() => createFreeIntervals(range).markFree(at(10))).toThrow(/held/);
  });
});

describe('the steps to the lowest free address', () => {
  const million = 1_000_000;

  /** Takes the lowest free address and returns the number of steps that this costs. */
  function stepsToNext(space: AddressSpace, family: Family): number {
    const before = space.steps();
    const found = space.lowestFree('p', family);
    if (found === undefined) throw new Error('nothing is free');
    space.markHeld(found);
    return space.steps() - before;
  }

  test.each<[string, string, Family, 1 | 2]>([
    ['a /8, from its beginning', '10.0.0.0/8', 4, 1],
    ['a /8, every second address', '10.0.0.0/8', 4, 2],
    ['a /64, from its beginning', '2001:db8::/64', 6, 1],
    ['a /64, every second address', '2001:db8::/64', 6, 2],
  ])('the number of steps is the same with a million assignments as with none: %s', (_, range, family, stride) => {
    const pools = [pool({ name: 'p', addresses: [range] })];
    const alone = stepsToNext(createAddressSpace(pools, []), family);
    const crowded = createAddressSpace(pools, []);
    const first = pools[0]?.addresses[0]?.first.value ?? 0n;
    // In descending order, so that the gaps are made at the end of the list and the test is quick.
    for (let index = million - 1; index >= 0; index--) crowded.markHeld({ family, value: first + BigInt(index * stride) });
    expect(crowded.usage('p', family)).toMatchObject({ free: crowded.usage('p', family).total - BigInt(million) });
    expect(crowded.lowestFree('p', family)).toEqual({ family, value: first + (stride === 1 ? BigInt(million) : 1n) });
    for (let next = 0; next < 1000; next++) expect(stepsToNext(crowded, family)).toBe(alone);
    expect(alone).toBe(2);
  });
});

describe('Services that pools serve', () => {
  test.each<[string, Omit<ServiceLiteral, 'name'>, Parameters<typeof config>[0], string]>([
    ['without a class while Herald is the default', {}, {}, 'mine'],
    ['without a class while Herald is not the default', {}, { defaultClass: false }, 'ClassNotSet'],
    ['of our class', { loadBalancerClass: 'herald.dev/herald' }, { defaultClass: false }, 'mine'],
    ['of another class', { loadBalancerClass: 'example.com/lb' }, {}, 'OtherLoadBalancerClass'],
    ['of type ClusterIP', { type: 'ClusterIP' }, {}, 'NotLoadBalancer'],
    ['of type NodePort', { type: 'NodePort' }, {}, 'NotLoadBalancer'],
    ['of type ExternalName', { type: 'ExternalName' }, {}, 'ExternalName'],
    ['that is headless', { headless: true }, {}, 'Headless'],
  ])('a Service %s', (_, literal, settings, expected) => {
    const claim = decideAllocationClaim(service({ name: 'web', ...literal }), config(settings));
    expect(claim.mine ? 'mine' : claim.reason.code).toBe(expected);
  });
});
