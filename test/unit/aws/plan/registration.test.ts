import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planRegistration, type Registered } from '../../../../providers/aws/plan/steps/registration.ts';

interface Group {
  readonly registered: Map<string, Registered<string>['state']>;
  /** With the number of passes until AWS forgets them. */
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

describe('an old target that is about to go', () => {
  test.each<[string, Group, readonly string[]]>([
    ['leaves when another one of its zone is healthy', group({ a1: 'healthy', a2: 'healthy', b2: 'initial' }), ['a1']],
    [
      'waits for one of its zone that is on its way, whoever is healthy elsewhere',
      group({ a1: 'healthy', a2: 'initial', b2: 'healthy' }),
      [],
    ],
    ['waits for one of its zone that is only being registered', group({ a1: 'healthy', b2: 'healthy' }), []],
    ['does not wait for one of its zone that has failed', group({ a1: 'healthy', a2: 'unhealthy', b2: 'healthy', b3: 'initial' }), ['a1']],
  ])('%s', (_, there, leave) => {
    expect(plan(there, { desired: ['a2', 'b2', 'b3'], departing: ['a1'] }).deregister).toEqual(leave);
  });

  test('does not wait where nobody comes to its zone', () => {
    const there = group({ a1: 'healthy', b2: 'healthy' });
    expect(plan(there, { desired: ['b2', 'b3'], departing: ['a1'] }).deregister).toEqual(['a1']);
  });
});

/** Passes until nothing is left to do, with what AWS does in between. Returns how many were healthy at each. */
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

describe('where AWS has no room for old and new targets', () => {
  const targets = (prefix: string, length: number): string[] => Array.from({ length }, (_, index) => `${prefix}${index}`);

  test('the new ones come as far as they fit, and the old ones make room, a fifth of the quota at a time', () => {
    const there = group(Object.fromEntries(targets('a', 1000).map((target) => [target, 'healthy'])));
    const healthy = run(there, { desired: targets('b', 1000), quota: 1000 }, new Set());
    expect(Math.min(...healthy)).toBe(800);
    expect([...there.registered.keys()]).toEqual(targets('b', 1000));
  });

  test('whatever is exchanged: never more than there is room for, never fewer serve than a fifth below what is asked for, and it comes to an end', () => {
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
      { numRuns: 300, seed: 7 },
    );
  });

  test('more than the quota are registered where they are asked for: AWS may have raised it, and says no where it has not', () => {
    const { register, withoutRoom } = plan(group({}), { desired: targets('a', 30), quota: 20 });
    expect([register.length, withoutRoom]).toEqual([30, 0]);
  });
});
