import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planRegistration, type Registered } from '../../../../providers/aws/plan/steps/registration.ts';
import { runs } from '../../../../test/support/property.ts';

interface Group {
  readonly registered: Map<string, Registered<string>['state']>;
  /** By target: the number of reconciles until AWS forgets it. */
  readonly draining: Map<string, number>;
}

interface Wish {
  readonly desired: readonly string[];
  readonly departing?: readonly string[];
  readonly quota?: number;
}

/** "a1" is in zone a. */
const zoneOf = (target: string): string => target.slice(0, 1);

function plan({ registered, draining }: Group, { desired, departing = [], quota = 1000 }: Wish) {
  return planRegistration<string>({
    desired,
    registered: [...registered].map(([target, state]) => ({ target, state })),
    draining: [...draining.keys()],
    keyOf: (target) => target,
    zoneOf,
    isDeparting: (target) => departing.includes(target),
    quota,
  });
}

const group = (states: Readonly<Record<string, Registered<string>['state']>>): Group => ({
  registered: new Map(Object.entries(states)),
  draining: new Map(),
});

describe('a departing target', () => {
  test.each<[string, Group, readonly string[]]>([
    ['leaves when another target in its zone is healthy', group({ a1: 'healthy', a2: 'healthy', b2: 'initial' }), ['a1']],
    [
      'waits for a pending target in its zone, even if others elsewhere are healthy',
      group({ a1: 'healthy', a2: 'initial', b2: 'healthy' }),
      [],
    ],
    ['waits for a target in its zone that is being registered', group({ a1: 'healthy', b2: 'healthy' }), []],
    ['does not wait for an unhealthy target in its zone', group({ a1: 'healthy', a2: 'unhealthy', b2: 'healthy', b3: 'initial' }), ['a1']],
  ])('%s', (_, there, leave) => {
    expect(plan(there, { desired: ['a2', 'b2', 'b3'], departing: ['a1'] }).deregister).toEqual(leave);
  });

  test('does not wait when no new target is desired in its zone', () => {
    const there = group({ a1: 'healthy', b2: 'healthy' });
    expect(plan(there, { desired: ['b2', 'b3'], departing: ['a1'] }).deregister).toEqual(['a1']);
  });
});

/** Plans repeatedly, with AWS' changes in between, until nothing is left to do. Returns the number of healthy targets at each step. */
function run(there: Group, wish: Required<Pick<Wish, 'desired' | 'quota'>>, fail: ReadonlySet<string>): number[] {
  const healthy: number[] = [];
  const count = (): void => void healthy.push([...there.registered.values()].filter((state) => state === 'healthy').length);
  for (let pass = 0; pass < 500; pass++) {
    const { register, deregister, waiting, withoutRoom } = plan(there, wish);
    for (const target of register) {
      there.draining.delete(target);
      there.registered.set(target, 'initial');
    }
    expect(there.registered.size + there.draining.size).toBeLessThanOrEqual(wish.quota);
    for (const target of deregister) {
      there.registered.delete(target);
      there.draining.set(target, 3);
    }
    count();
    if (register.length + deregister.length === 0 && !waiting && withoutRoom === 0) return healthy;
    for (const [target, passes] of there.draining)
      if (passes === 1) there.draining.delete(target);
      else there.draining.set(target, passes - 1);
    for (const target of register)
      if (!deregister.includes(target)) there.registered.set(target, fail.has(target) ? 'unhealthy' : 'healthy');
  }
  expect.fail(`no end: ${JSON.stringify([[...there.registered], [...there.draining]])}`);
}

describe('a target group without room for old and new targets', () => {
  const targets = (prefix: string, length: number): string[] => Array.from({ length }, (_, index) => `${prefix}${index}`);

  test('new targets are registered as far as they fit, and old ones make room by a fifth of the quota', () => {
    const there = group(Object.fromEntries(targets('a', 1000).map((target) => [target, 'healthy'])));
    const healthy = run(there, { desired: targets('b', 1000), quota: 1000 }, new Set());
    expect(Math.min(...healthy)).toBe(800);
    expect([...there.registered.keys()]).toEqual(targets('b', 1000));
  });

  test('any exchange stays within the quota, keeps four fifths serving and ends', () => {
    const some = (prefix: string): fc.Arbitrary<string[]> => fc.subarray(targets(prefix, 10));
    fc.assert(
      fc.property(
        some('a'),
        some('a'),
        some('b'),
        fc.subarray(targets('b', 10)),
        fc.integer({ min: 2, max: 20 }),
        (old, kept, fresh, bad, more) => {
          const desired = [...kept, ...fresh];
          const quota = Math.max(old.length, desired.length, more);
          const there = group(Object.fromEntries(old.map((target) => [target, 'healthy'])));
          const failing = new Set(bad);
          const good = desired.filter((target) => old.includes(target) || !failing.has(target)).length;
          const healthy = run(there, { desired, quota }, failing);
          expect([...there.registered.keys()].toSorted()).toEqual(desired.toSorted());
          if (bad.some((target) => fresh.includes(target))) return;
          expect(Math.min(...healthy)).toBeGreaterThanOrEqual(Math.min(old.length, good) - Math.ceil(quota / 5));
          if (old.length > 0 && desired.length > 0) expect(Math.min(...healthy)).toBeGreaterThan(0);
        },
      ),
      { numRuns: runs(300), seed: 7 },
    );
  });

  test('more targets than the quota are registered if desired, because AWS may have raised it', () => {
    const { register, withoutRoom } = plan(group({}), { desired: targets('a', 30), quota: 20 });
    expect([register.length, withoutRoom]).toEqual([30, 0]);
  });
});
