import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rangeContains, type AddressRange } from '../../../../src/net/range.ts';
import type { Address } from '../../../../src/net/address.ts';
import { says } from '../../../../src/model/reasons.ts';
import { decideAllocationClaim } from '../../../../src/decisions/allocation/claim.ts';
import { createFreeIntervals } from '../../../../src/decisions/allocation/free-intervals.ts';
import { effectivePools } from '../../../../src/decisions/allocation/pools.ts';
import { config, pool, service, type PoolLiteral, type ServiceLiteral } from '../fixtures.ts';

const effective = (pools: readonly PoolLiteral[]) => effectivePools(new Map(pools.map((literal) => [literal.name, pool(literal)])));
const names = (pools: readonly PoolLiteral[]): string[] => effective(pools).pools.map(({ metadata }) => metadata.name);

describe('pools that overlap', () => {
  test.each<[string, PoolLiteral[], string[]]>([
    [
      'disjoint ones all count, by name',
      [
        { name: 'b', addresses: ['192.0.2.0/25'] },
        { name: 'a', addresses: ['192.0.2.128/25', '2001:db8::/64'] },
      ],
      ['a', 'b'],
    ],
    [
      'the later by name loses',
      [
        { name: 'b', addresses: ['192.0.2.0/24'] },
        { name: 'a', addresses: ['192.0.2.9-192.0.2.9'] },
      ],
      ['a'],
    ],
    [
      'one inside another',
      [
        { name: 'a', addresses: ['10.0.0.0/8'] },
        { name: 'b', addresses: ['10.1.0.0/16'] },
        { name: 'c', addresses: ['11.0.0.0/8'] },
      ],
      ['a', 'c'],
    ],
    [
      'in one of two families',
      [
        { name: 'a', addresses: ['2001:db8::/64'] },
        { name: 'b', addresses: ['192.0.2.0/24', '2001:db8::-2001:db8::1'] },
      ],
      ['a'],
    ],
    [
      'a pool that was left out does not push out others',
      [
        { name: 'a', addresses: ['192.0.2.0/28'] },
        { name: 'b', addresses: ['192.0.2.0/24'] },
        { name: 'c', addresses: ['192.0.2.128/25'] },
      ],
      ['a', 'c'],
    ],
    ['with itself', [{ name: 'a', addresses: ['192.0.2.0/24', '192.0.2.7-192.0.2.9'] }], []],
  ])('%s', (_, pools, expected) => {
    expect(names(pools)).toEqual(expected);
    expect(names(pools.toReversed())).toEqual(expected);
  });

  test('the one that was created later loses, whatever its name; one that does not say when counts as later', () => {
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
    expect(why === undefined ? '' : says(why)).toBe('192.0.2.100-192.0.2.200 overlaps 192.0.2.0/25 of IPAddressPool "a", which came first');
  });

  test('an answer that is remembered follows the map', () => {
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

  test('behave as a set of addresses', () => {
    const operation = fc.record({ op: fc.constantFrom('take', 'give'), value: fc.integer({ min: 8, max: 27 }) });
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
        const intervals = createFreeIntervals(range);
        const free = new Set(Array.from({ length: 16 }, (_, index) => 10 + index));
        for (const { op, value } of operations) {
          const gives = op === 'give' && rangeContains(range, at(value)) && !free.has(value);
          if (gives) intervals.give(at(value));
          if (gives) free.add(value);
          const taken = op === 'take' && intervals.take(at(value));
          expect(taken).toBe(op === 'take' && free.delete(value));
          expect(intervals.has(at(value))).toBe(free.has(value));
          expect(intervals.lowest()).toEqual(free.size === 0 ? undefined : at(Math.min(...free)));
        }
      }),
    );
  });

  test('giving back what is free is a bug', () => {
    expect(() => createFreeIntervals(range).give(at(10))).toThrow(/taken/);
  });
});

describe('which Services take an address from a pool', () => {
  test.each<[string, Omit<ServiceLiteral, 'name'>, Parameters<typeof config>[0], string]>([
    ['without class, where that is ours', {}, {}, 'mine'],
    ['without class, where it is not', {}, { defaultClass: false }, 'OtherLoadBalancerClass'],
    ['of our class', { loadBalancerClass: 'herald.dev/herald' }, { defaultClass: false }, 'mine'],
    ['of another class', { loadBalancerClass: 'example.com/lb' }, {}, 'OtherLoadBalancerClass'],
    ['ClusterIP', { type: 'ClusterIP' }, {}, 'NotLoadBalancer'],
    ['NodePort', { type: 'NodePort' }, {}, 'NotLoadBalancer'],
    ['ExternalName', { type: 'ExternalName' }, {}, 'ExternalName'],
    ['headless', { headless: true }, {}, 'Headless'],
  ])('%s', (_, literal, settings, expected) => {
    const claim = decideAllocationClaim(service({ name: 'web', ...literal }), config(settings));
    expect(claim.mine ? 'mine' : claim.reason.code).toBe(expected);
  });
});
