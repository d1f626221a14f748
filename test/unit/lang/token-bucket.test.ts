import { expect, test } from 'vitest';
import { TokenBucket } from '../../../src/lang/token-bucket.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

const size = { burst: 4, refillMilliseconds: 100 };

test('allows a burst at once, then one piece of work each interval', () => {
  const clock = new VirtualClock();
  const budget = new TokenBucket(size);
  for (let piece = 0; piece < 4; piece++) {
    expect(budget.dueAt(clock.now())).toBe(clock.now());
    budget.spend(clock.now());
  }
  expect(budget.dueAt(clock.now())).toBe(clock.now() + 100);
  clock.advance(40);
  expect(budget.dueAt(clock.now())).toBe(clock.now() + 60);
  clock.advance(60);
  expect(budget.dueAt(clock.now())).toBe(clock.now());
  budget.spend(clock.now());
  expect(budget.dueAt(clock.now())).toBe(clock.now() + 100);
});

test('a quiet time restores the burst, and not more', () => {
  const clock = new VirtualClock();
  const budget = new TokenBucket(size);
  for (let piece = 0; piece < 4; piece++) budget.spend(clock.now());
  clock.advance(60_000);
  for (let piece = 0; piece < 4; piece++) budget.spend(clock.now());
  expect(budget.dueAt(clock.now())).toBe(clock.now() + 100);
});

test('work that spares a part of the burst waits until more is left', () => {
  const clock = new VirtualClock();
  const budget = new TokenBucket(size);
  expect(budget.dueAt(clock.now(), 2)).toBe(clock.now());
  budget.spend(clock.now());
  budget.spend(clock.now());
  expect(budget.dueAt(clock.now(), 2)).toBe(clock.now() + 100);
  expect(budget.dueAt(clock.now())).toBe(clock.now());
});
