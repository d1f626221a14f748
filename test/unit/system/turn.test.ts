import { expect, test } from 'vitest';
import { turnMilliseconds } from '../../../src/system/limits.ts';
import { Turn } from '../../../src/system/time-slice.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

test('long work gives way after its turn, and has another one then', async () => {
  const clock = new VirtualClock();
  const turn = new Turn(clock);
  expect(turn.isOver).toBe(false);
  clock.advance(turnMilliseconds);
  expect(turn.isOver).toBe(true);
  const order: string[] = [];
  clock.after(0, () => order.push('timer'));
  const ended = turn.end().then(() => order.push('work'));
  clock.advance(0);
  await ended;
  expect(order).toEqual(['timer', 'work']);
  expect(turn.isOver).toBe(false);
});
