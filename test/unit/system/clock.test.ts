import { expect, test } from 'vitest';
import { systemClock } from '../../../src/system/clock.ts';

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
