import { expect, test } from 'vitest';
import { BackOff } from '../../../src/system/back-off.ts';
import { retryDelays } from '../../../src/kube/reflector/retry-delays.ts';
import { StallTimeout } from '../../../src/kube/client/stall-timeout.ts';
import { answerError } from '../../../src/kube/error.ts';
import { limits } from '../../../src/kube/limits.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

test('pauses double up to their bound, half of each at random', () => {
  const least = new BackOff(() => 0, retryDelays);
  const most = new BackOff(() => 1, retryDelays);
  const pauses = Array.from({ length: 8 }, () => [least.failed(), most.failed()]);
  expect(pauses.slice(0, 3)).toEqual([
    [400, 800],
    [800, 1600],
    [1600, 3200],
  ]);
  expect(pauses.at(-1)).toEqual([limits.retryMaximumMilliseconds / 2, limits.retryMaximumMilliseconds]);
  least.succeeded();
  expect(least.failed()).toBe(400);
});

test("the API server's pause is the minimum, and clients do not all return at once", () => {
  expect(new BackOff(() => 0, retryDelays).failed(7_000)).toBe(7_000);
  expect(new BackOff(() => 0.5, retryDelays).failed(7_000)).toBe(7_200);
  expect(answerError(429, '', '9999999').retryAfterMilliseconds).toBe(limits.retryAfterMaximumMilliseconds);
  expect(answerError(429, '', 'Wed, 21 Oct 2026 07:28:00 GMT').retryAfterMilliseconds).toBeUndefined();
});

test('a deadline is put off by progress, and passed on from outside', () => {
  const clock = new VirtualClock();
  const outer = new AbortController();
  const deadline = new StallTimeout(clock, 100, outer.signal);
  clock.advance(99);
  deadline.progress();
  clock.advance(99);
  expect(deadline.signal.aborted).toBe(false);
  clock.advance(1);
  expect(deadline.signal.reason).toMatchObject({ code: 'stalled' });
  const other = new StallTimeout(clock, 100, outer.signal);
  outer.abort('SIGTERM');
  expect(other.signal.reason).toBe('SIGTERM');
  expect(new StallTimeout(clock, 100, outer.signal).signal.aborted).toBe(true);
  expect(clock.pending).toBe(0);
});
