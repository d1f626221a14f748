import { expect, test } from 'vitest';
import { systemClock, untilBeat } from '../../../src/system/clock.ts';

test('a delay of 0 ms runs in the next turn of the event loop and can be cancelled', async () => {
  const order: string[] = [];
  systemClock.after(0, () => order.push('cancelled'))();
  systemClock.after(0, () => order.push('second'));
  await Promise.resolve();
  order.push('first');
  await new Promise<void>((resolve) => systemClock.after(0, resolve));
  order.push('third');
  expect(order).toEqual(['first', 'second', 'third']);
});

test('a delay runs after its time and can be cancelled', async () => {
  const begin = systemClock.now();
  const cancel = systemClock.after(5, () => expect.unreachable());
  cancel();
  cancel();
  await new Promise<void>((resolve) => systemClock.after(10, resolve));
  expect(systemClock.now() - begin).toBeGreaterThanOrEqual(9);
});

test('work of one period meets at the multiples of the period, and never after less than half of it', () => {
  const at = (now: number) => now + untilBeat({ now: () => now }, 100);
  expect([0, 20, 49].map(at)).toEqual([100, 100, 100]);
  expect([50, 99.6, 100, 149].map(at)).toEqual([200, 200, 200, 200]);
});
