import { describe, expect, test } from 'vitest';
import { heartbeatPatience, maximumBlockedTime } from '../../../../src/l2/limits.ts';
import { MainThread } from '../../../../src/l2/worker/main-thread.ts';
import { threadActivity, threadCpuMilliseconds } from '../../../../src/system/processes.ts';

/** Asks every 100 ms without a beat, and returns the time at which the thread counts as dead. */
function deadAt(
  activityAt: (now: number) => { readonly state: string; readonly ticks: number } | undefined,
  until = 60_000,
): number | undefined {
  let now = 0;
  const main = new MainThread(0, () => activityAt(now));
  for (; now < until; now += 100) if (!main.isAlive(now, 1)) return now;
  return undefined;
}

describe('the heartbeat of the main thread', () => {
  test('rule 9: a thread that sleeps without a sign of life is dead after 2 s', () => {
    expect(deadAt(() => ({ state: 'S', ticks: 5 }))).toBe(heartbeatPatience);
  });

  test('rule 9: a thread that works lives, for half a minute at most', () => {
    expect(deadAt((now) => ({ state: 'R', ticks: now }))).toBe(maximumBlockedTime + 100);
  });

  test('rule 9: a thread that now and then works lives', () => {
    expect(deadAt((now) => ({ state: 'S', ticks: Math.floor(now / 1000) }), 20_000)).toBeUndefined();
  });

  test('rule 9: a thread that has ended is dead at once', () => {
    expect(deadAt(() => undefined)).toBe(heartbeatPatience / 2);
    expect(deadAt(() => ({ state: 'Z', ticks: 5 }))).toBe(heartbeatPatience / 2);
  });

  test('rule 9: a beat brings it back, and a stall of the process does not count', () => {
    const main = new MainThread(0, () => ({ state: 'S', ticks: 5 }));
    expect(main.isAlive(0, 1)).toBe(true);
    main.isAlive(1_500, 1);
    expect(main.isAlive(2_000, 1)).toBe(false);
    expect(main.isAlive(2_100, 2)).toBe(true);
    main.stalled(10_000);
    expect(main.isAlive(10_500, 2)).toBe(true);
  });

  test('the kernel tells the state and the processor time of a thread', () => {
    expect(threadActivity()?.ticks).toBeGreaterThan(0);
    expect(threadActivity()?.state).toMatch(/[RSD]/);
    expect(threadActivity(1 << 30)).toBeUndefined();
    const before = threadCpuMilliseconds();
    for (const end = performance.now() + 20; performance.now() < end;);
    expect(threadCpuMilliseconds()).toBeGreaterThan(before);
  });
});
