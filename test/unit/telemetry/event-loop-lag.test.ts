import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { measureEventLoopLag } from '../../../src/telemetry/event-loop-lag.ts';
import { limits } from '../../../src/telemetry/limits.ts';
import { sampleOf } from './scrape.ts';

/** A clock whose timers run late by `late` milliseconds. */
class LateClock extends VirtualClock {
  late = 0;

  override after(milliseconds: number, callback: () => void): () => void {
    return super.after(milliseconds + this.late, callback);
  }
}

test('the event loop is as late as its timers, since the last scrape, and at rest not at all', async () => {
  const [clock, registry] = [new LateClock(), new Registry()];
  const end = measureEventLoopLag(registry, clock, () => clock.now());
  clock.advance(50 * limits.lagMilliseconds);
  expect(sampleOf(await registry.metrics(), 'nodejs_eventloop_lag_p99_seconds')).toBeLessThan(0.000_001);
  clock.late = 700;
  clock.advance(5_000);
  const text = await registry.metrics();
  for (const figure of ['max', 'p50', 'p99']) expect(sampleOf(text, `nodejs_eventloop_lag_${figure}_seconds`)).toBeCloseTo(0.7, 2);
  expect(sampleOf(text, 'nodejs_eventloop_lag_seconds')).toBeCloseTo(0.7, 2);
  clock.late = 0;
  clock.advance(1_000);
  await registry.metrics();
  clock.advance(1_000);
  expect(sampleOf(await registry.metrics(), 'nodejs_eventloop_lag_max_seconds')).toBeLessThan(0.000_001);
  end();
  expect(clock.pending).toBe(0);
});

test.each([
  ['once a second while the event loop rests', 0.04, 1],
  ['ten times a second while it works', 0.06, 10],
])('the measurement wakes the process %s', (_, part, timersPerSecond) => {
  const clock = new VirtualClock();
  let timers = 0;
  const after = clock.after.bind(clock);
  clock.after = (milliseconds, callback) => {
    timers++;
    return after(milliseconds, callback);
  };
  measureEventLoopLag(new Registry(), clock, () => part * clock.now());
  clock.advance(1_000);
  timers = 0;
  clock.advance(10_000);
  expect(timers).toBe(10 * timersPerSecond);
});

test('Node.js says for how long the event loop worked', () => {
  const clock = new VirtualClock();
  const waits: number[] = [];
  const after = clock.after.bind(clock);
  clock.after = (milliseconds, callback) => {
    waits.push(milliseconds);
    return after(milliseconds, callback);
  };
  measureEventLoopLag(new Registry(), clock);
  for (const end = performance.now() + 200; performance.now() < end;);
  clock.advance(1_500);
  expect(waits.some((wait) => wait <= 150)).toBe(true);
});
