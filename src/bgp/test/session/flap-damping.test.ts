import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  countsAsFlap,
  recordFlap,
  holdSeconds,
  noFlaps,
  penaltyAt,
  recentFlaps,
  type FlapRecord,
} from '../../../../src/bgp/session/flap-damping.ts';
import { damping, maximumFlapTimes } from '../../../../src/bgp/limits.ts';
import type { Problem } from '../../../../src/bgp/diagnosis/problem.ts';
import { cease } from '../../../../src/bgp/wire/codes.ts';
import { noData } from '../../../../src/bgp/wire/fault.ts';
import { ceaseNotification, hardReset } from '../../../../src/bgp/wire/notification.ts';

const hour = 3_600_000;
const held = (record: FlapRecord, now: number): number => Math.max(0, record.heldUntil - now) / 1000;

/**
 * Returns the hold after each of several flaps, in seconds. Each flap comes one second after the previous hold; the default is the longest
 * jitter.
 */
function holds(count: number, random = 1): number[] {
  let record = noFlaps;
  let now = 0;
  return Array.from({ length: count }, () => {
    now += 1_000;
    record = recordFlap(record, now, random);
    const seconds = held(record, now);
    now += seconds * 1000;
    return Math.round(seconds);
  });
}

describe('BGP-107 the hold time of a flapping session', () => {
  test('the first three flaps cause no hold, then the hold roughly doubles up to its bound', () => {
    const [first, second, third, ...later] = holds(12);
    expect([first, second, third]).toEqual([0, 0, 0]);
    // The penalty decays meanwhile, so that each hold is a little less than twice the one before.
    expect(later.slice(0, 4)).toEqual([20, 38, 69, 112]);
    expect(Math.max(...later)).toBeLessThanOrEqual(damping.longestHold);
  });

  test('up to a quarter of the hold is random', () => {
    expect(holds(4, 0)[3]).toBe(15);
    expect(holds(4, 1)[3]).toBe(20);
  });

  test('the hold is bounded however fast the session flaps', () => {
    let record = noFlaps;
    for (let flap = 0; flap < 1_000; flap++) record = recordFlap(record, flap, 1);
    expect(record.penalty).toBe(damping.maximumPenalty);
    expect(held(record, 999)).toBe(damping.longestHold);
    expect(holdSeconds(damping.maximumPenalty)).toBe(damping.longestHold);
  });

  test('after an hour without flaps, two more flaps cause no hold', () => {
    let record = noFlaps;
    for (let flap = 0; flap < 100; flap++) record = recordFlap(record, flap, 1);
    const later = hour + 100;
    expect(recentFlaps(record, later)).toEqual([]);
    expect(penaltyAt(record, later)).toBeLessThan(damping.penaltyOfFlap);
    record = recordFlap(recordFlap(record, later, 1), later + 1_000, 1);
    expect(held(record, later + 1_000)).toBe(0);
  });

  test('a flap every half hour never causes a hold', () => {
    let record = noFlaps;
    for (let flap = 1; flap < 200; flap++) {
      record = recordFlap(record, (flap * hour) / 2, 1);
      expect(held(record, (flap * hour) / 2)).toBe(0);
    }
  });

  test('any flaps keep the bounds: penalties only decay, and the list of flaps does not grow', () => {
    const gap = fc.integer({ min: 0, max: 2 * hour });
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.array(fc.tuple(gap, random), { maxLength: 200 }), (flaps) => {
        let record = noFlaps;
        let now = 0;
        for (const [pause, luck] of flaps) {
          const before = penaltyAt(record, now);
          now += pause;
          expect(penaltyAt(record, now)).toBeLessThanOrEqual(before);
          const faded = penaltyAt(record, now);
          record = recordFlap(record, now, luck);
          expect(record.penalty).toBeLessThanOrEqual(damping.maximumPenalty);
          expect(record.penalty).toBeGreaterThan(faded - 1);
          const seconds = held(record, now);
          expect(seconds).toBeLessThanOrEqual(damping.longestHold);
          const longest = holdSeconds(record.penalty);
          if (longest > 0) expect(seconds).toBeGreaterThanOrEqual(longest * 0.75 - 0.001);
          expect(record.flaps.length).toBeLessThanOrEqual(maximumFlapTimes);
          expect(record.flaps.every((at) => now - at < hour)).toBe(true);
        }
      }),
    );
  });
});

describe('BGP-107 problems that count as flaps', () => {
  const received = (subcode: number): Problem => ({ kind: 'received', notification: ceaseNotification(subcode) });
  const stopped = (subcode: number): Problem => ({ kind: 'stopped', notification: ceaseNotification(subcode) });
  const reset = { kind: 'lost', failure: { kind: 'reset', detail: '' }, handshake: false } as const;

  test.each<[string, Problem, boolean]>([
    ['Administrative Shutdown of the peer', received(cease.administrativeShutdown), false],
    ['Administrative Reset of the peer', received(cease.administrativeReset), false],
    [
      'Administrative Reset in a Hard Reset',
      { kind: 'received', notification: hardReset(ceaseNotification(cease.administrativeReset)) },
      false,
    ],
    ['Peer De-configured', received(cease.peerDeconfigured), false],
    ['a changed configuration of the peer', received(cease.configurationChange), false],
    ['our own shutdown', stopped(cease.administrativeShutdown), false],
    ['our own changed options', stopped(cease.configurationChange), false],
    ['our own restart', { kind: 'suspended' }, false],
    ['a restart announced by the peer', { kind: 'peerRestarted' }, false],
    ['BFD Down', stopped(cease.bfdDown), true],
    ['BFD Down of the peer', received(cease.bfdDown), true],
    ['Out of Resources of the peer', received(cease.outOfResources), true],
    ['too many prefixes', received(cease.maximumPrefixes), true],
    ['an expired hold timer', { kind: 'holdTimerExpired', seconds: 9, handshake: false }, true],
    ['a peer that does not read', { kind: 'sendHoldTimerExpired' }, true],
    ['an error of the peer', { kind: 'sent', notification: { code: 3, subcode: 1, data: noData }, detail: '' }, true],
    ['an error that the peer finds in our message', { kind: 'received', notification: { code: 3, subcode: 1, data: noData } }, true],
    ['a reset', reset, true],
  ])('%s (%j) counts as a flap: %s', (_, problem, counts) => {
    expect(countsAsFlap(problem, false)).toBe(counts);
  });

  test('a closed connection does not count with graceful restart, but an expired hold timer does', () => {
    expect(countsAsFlap(reset, true)).toBe(false);
    expect(countsAsFlap({ kind: 'holdTimerExpired', seconds: 9, handshake: false }, true)).toBe(true);
  });
});
