import { expect, test } from 'vitest';
import { DelayedRequeue } from '../../../../src/controller/queue/delayed-requeue.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

test('a requeue comes at most one step after its time', () => {
  const clock = new VirtualClock();
  const came: string[] = [];
  const requeues = new DelayedRequeue<string>(clock, (key) => came.push(key), 250);
  requeues.requeueAt('a', 1100);
  clock.advance(1249);
  expect(came).toEqual([]);
  clock.advance(1);
  expect(came).toEqual(['a']);
});

test('ten thousand requeues in the same second share one timer, and each key comes once', () => {
  const clock = new VirtualClock();
  const came: string[] = [];
  const reminders = new DelayedRequeue<string>(clock, (key) => came.push(key));
  for (let index = 0; index < 10_000; index++) reminders.requeueAt(`k${index % 5000}`, 30_000 - (index % 900));
  expect(clock.pending).toBe(1);
  clock.advance(29_999);
  expect(came).toEqual([]);
  clock.advance(1);
  expect(came).toHaveLength(5000);
  reminders.requeueAt('past', 1);
  clock.advance(1000);
  expect(came.at(-1)).toBe('past');
  reminders.requeueAt('never', 60_000);
  reminders.stop();
  expect(clock.pending).toBe(0);
});
