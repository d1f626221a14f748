import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { ServicesView } from '../../../src/console/contract.ts';
import { limits } from '../../../src/console/limits.ts';
import type { Facts, Picture } from '../../../src/console/picture.ts';
import { Pictures } from '../../../src/console/pictures.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { pictureOf } from './picture-of.ts';

const one = pictureOf({ services: [{ name: 'shop/web' }] });
const two = pictureOf({ services: [{ name: 'shop/web' }, { name: 'shop/api' }] });

/** A loop over facts that a test changes. */
function following(first: Picture, { intervalMilliseconds = 1000, changed }: Partial<Facts> = {}) {
  const clock = new VirtualClock();
  const ending = new AbortController();
  const state = { picture: first, failure: undefined as Error | undefined, reads: 0 };
  const facts: Facts = {
    intervalMilliseconds,
    ...(changed === undefined ? {} : { changed }),
    async read() {
      state.reads++;
      if (state.failure !== undefined) throw state.failure;
      return state.picture;
    },
    explain: async () => undefined,
    whyUnexplained: () => [],
    check: async () => undefined,
    plan: () => Promise.reject(new Error('nothing is planned here')),
    history: async () => ({ entries: [], told: [], unasked: [] }),
    outside: async () => ({ services: [], notes: [] }),
    redact: (value) => (typeof value === 'string' ? value.replaceAll('hunter2', 'REMOVED') : value),
  };
  const pictures = new Pictures(facts, { clock, stopped: ending.signal });
  const ended = pictures.follow();
  return { clock, state, pictures, stop: async () => (ending.abort('SIGINT'), ended) };
}

/** Moves the clock in steps, and lets each read finish. */
async function pass(clock: VirtualClock, milliseconds: number): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 500) {
    clock.advance(500);
    await setImmediate();
  }
}

describe('the pictures', () => {
  test('a list has another version when its content changes, and the same while only ages do', async () => {
    const { clock, state, pictures, stop } = following(one);
    const before = await pictures.list('services');
    state.picture = { ...one, now: one.now + 60_000 };
    await pass(clock, 1000);
    expect(pictures.pulse().versions.services).toBe(before?.version);
    state.picture = two;
    await pass(clock, 1000);
    expect(pictures.pulse().versions.services).not.toBe(before?.version);
    expect((JSON.parse((await pictures.list('services'))?.json ?? '') as ServicesView).rows).toHaveLength(2);
    await stop();
  });

  test('a page hears of a change at once, and otherwise a sign of life', async () => {
    const { clock, state, pictures, stop } = following(one);
    await pictures.list('services');
    const pulses = pictures.pulses();
    const first = (await pulses.next()).value;
    let next = pulses.next();
    state.picture = two;
    await pass(clock, 1000);
    const second = (await next).value;
    expect(second?.versions.services).not.toBe(first?.versions.services);
    next = pulses.next();
    await pass(clock, limits.aliveMilliseconds);
    expect((await next).value?.versions).toEqual(second?.versions);
    await stop();
  });

  test('after a read that failed the last picture stays, with the reason and without its secrets', async () => {
    const { clock, state, pictures, stop } = following(one);
    await pictures.list('services');
    const { at } = pictures.pulse();
    state.failure = new Error('the API server refuses hunter2');
    await pass(clock, 1000);
    expect(pictures.pulse()).toMatchObject({ at, from: 'a test', trouble: { message: 'the API server refuses REMOVED' } });
    expect(await pictures.list('services')).toBeDefined();
    state.failure = undefined;
    await pass(clock, 1000);
    expect(pictures.pulse().trouble).toBeUndefined();
    await stop();
  });

  test('a change is read before the next regular read, within the bound, and does not delay that read', async () => {
    let heard = Promise.withResolvers<void>();
    const { clock, state, stop } = following(one, { intervalMilliseconds: 5000, changed: () => heard.promise });
    await pass(clock, 2000);
    expect(state.reads).toBe(1);
    heard.resolve();
    await pass(clock, limits.soonestMilliseconds);
    expect(state.reads).toBe(2);
    heard = Promise.withResolvers();
    await pass(clock, 2000);
    expect(state.reads).toBe(2);
    await pass(clock, 1000);
    expect(state.reads).toBe(3);
    heard.resolve();
    const before = state.reads;
    await pass(clock, 4000);
    expect(state.reads - before).toBeGreaterThan(3);
    expect(state.reads - before).toBeLessThanOrEqual(4000 / limits.soonestMilliseconds);
    await stop();
  });

  test('nothing is read while no page asks', async () => {
    const { clock, state, pictures, stop } = following(one);
    await pictures.list('services');
    await pass(clock, limits.unusedMilliseconds + 2000);
    const idle = state.reads;
    await pass(clock, 60_000);
    expect(state.reads).toBe(idle);
    await pictures.list('services');
    await pass(clock, 2000);
    expect(state.reads).toBeGreaterThan(idle);
    await stop();
  });
});
