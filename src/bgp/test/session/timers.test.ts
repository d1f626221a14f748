import { beforeEach, expect, test } from 'vitest';
import { Timers } from '../../../../src/bgp/session/timers.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

let clock: VirtualClock;
let expired: string[];
let timers: Timers;

beforeEach(() => {
  clock = new VirtualClock();
  expired = [];
  timers = new Timers(clock, (timer) => expired.push(`${timer} ${clock.now()}`));
});

test('a timer expires once at its time, a cancelled timer never', () => {
  timers.arm('connect', 100);
  timers.arm('keepalive', 50);
  timers.cancel('keepalive');
  clock.advance(1_000);
  expect(expired).toEqual(['connect 100']);
  expect(clock.pending).toBe(0);
});

test('BGP-042 postponing a deadline creates no new timer, and the last deadline counts', () => {
  for (let i = 0; i < 1_000; i++) {
    timers.arm('hold', 9_000);
    clock.advance(1);
  }
  expect(clock.pending).toBe(1);
  clock.advance(8_998);
  expect(expired).toEqual([]);
  clock.advance(1);
  expect(expired).toEqual(['hold 9999']);
});

test('BGP-042 a stalled process reads its socket before the hold timer expires', () => {
  timers.arm('hold', 9_000);
  // After a stall the timer runs first; the event loop then reads the socket in the same turn, and the packet it finds postpones the
  // deadline.
  clock.after(9_000, () => timers.arm('hold', 9_000));
  clock.advance(17_999);
  expect(expired).toEqual([]);
  clock.advance(1);
  expect(expired).toEqual(['hold 18000']);
});

test('an earlier deadline replaces a later one', () => {
  timers.arm('hold', 240_000);
  timers.arm('hold', 9_000);
  clock.advance(9_000);
  expect(expired).toEqual(['hold 9000']);
  expect(clock.pending).toBe(0);
});

test('prolong() only moves a deadline back, and starts a timer that is not running', () => {
  timers.arm('connectRetry', 5_000);
  timers.prolong('connectRetry', 1_000);
  clock.advance(4_999);
  expect(expired).toEqual([]);
  timers.prolong('connectRetry', 1_001);
  clock.advance(1_001);
  expect(expired).toEqual(['connectRetry 6000']);
  timers.prolong('connectRetry', 10);
  clock.advance(10);
  expect(expired).toEqual(['connectRetry 6000', 'connectRetry 6010']);
});
