import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { timeSliceMilliseconds } from '../../../src/system/limits.ts';
import { TimeSlice, TurnSlice } from '../../../src/system/time-slice.ts';
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

test('pieces of work in one turn of the event loop share a slice, and the next turn has its own', async () => {
  const clock = new VirtualClock();
  const slice = new TurnSlice(clock);
  expect(slice.isUsedUp()).toBe(false);
  clock.advance(timeSliceMilliseconds - 1);
  await Promise.resolve();
  expect(slice.isUsedUp()).toBe(false);
  clock.advance(1);
  expect(slice.isUsedUp()).toBe(true);
  await nextTurn();
  expect(slice.isUsedUp()).toBe(false);
});

test('work that goes on after yield counts for the slice of its turn', async () => {
  const clock = new VirtualClock();
  const slice = new TurnSlice(clock);
  await slice.yield();
  clock.advance(timeSliceMilliseconds);
  expect(slice.isUsedUp()).toBe(true);
});
