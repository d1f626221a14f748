import { expect, test } from 'vitest';
import { timeSliceMilliseconds } from '../../../src/system/limits.ts';
import { TimeSlice } from '../../../src/system/time-slice.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

test('a time slice is used up after its time and is fresh again after yield', async () => {
  const clock = new VirtualClock();
  const turn = new TimeSlice(clock);
  expect(turn.isUsedUp).toBe(false);
  clock.advance(timeSliceMilliseconds);
  expect(turn.isUsedUp).toBe(true);
  const order: string[] = [];
  clock.after(0, () => order.push('timer'));
  const ended = turn.yield().then(() => order.push('work'));
  clock.advance(0);
  await ended;
  expect(order).toEqual(['timer', 'work']);
  expect(turn.isUsedUp).toBe(false);
});
