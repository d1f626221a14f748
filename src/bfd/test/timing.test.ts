import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../src/system/random.ts';
import { detectionTime, endOfSlot, jittered, transmissionTime, transmitInterval } from '../../../src/bfd/timing.ts';

describe('the arithmetic of intervals', () => {
  test.each([
    ['the peer accepts our interval', 300_000, 50_000, 300_000],
    ['the peer accepts only a slower interval', 50_000, 300_000, 300_000],
    ['BFD-018 the peer has not sent a packet yet', 1_000_000, 1, 1_000_000],
    ['BFD-017 the peer accepts no packets', 300_000, 0, undefined],
  ])('BFD-010 the transmit interval is right when %s', (_, desired, remote, interval) => {
    expect(transmitInterval(desired, remote)).toBe(interval);
  });

  test.each([
    [3, 300_000, 50_000, 900_000],
    [3, 50_000, 1_000_000, 3_000_000],
    [1, 10_000, 10_000, 10_000],
  ])(
    "BFD-016 the detection time is %i times the slower of our interval (%i) and the peer's (%i)",
    (multiplier, requiredMinRx, remote, time) => {
      expect(detectionTime(multiplier, requiredMinRx, remote)).toBe(time);
    },
  );

  test('BFD-013 jitter shortens an interval by up to a quarter, and by at least a tenth with multiplier 1', () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(random, fc.integer({ min: 1, max: 255 }), (value, multiplier) => {
        const share = jittered(1_000_000, multiplier, () => value) / 1_000_000;
        expect(share).toBeGreaterThanOrEqual(0.75);
        expect(share).toBeLessThanOrEqual(multiplier === 1 ? 0.9 : 1);
      }),
    );
    expect(jittered(1_000, 3, () => 0)).toBe(750);
    expect(jittered(1_000, 3, () => 0.999_999)).toBeCloseTo(1_000, 1);
    expect(jittered(1_000, 1, () => 0.999_999)).toBeCloseTo(900, 1);
  });

  test('BFD-013 a packet is sent at the beginning of a slot, within the limits of jitter', () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    const sent = fc.double({ min: 0, max: 1e9, noNaN: true });
    fc.assert(
      fc.property(random, sent, fc.integer({ min: 10, max: 60_000 }), fc.integer({ min: 1, max: 3 }), (value, at, interval, multiplier) => {
        const due = transmissionTime(at, interval * 1_000, multiplier, () => value);
        expect(due - at).toBeGreaterThanOrEqual(0.75 * interval - 1e-6);
        expect(due - at).toBeLessThanOrEqual((multiplier === 1 ? 0.9 : 1) * interval + 1e-6);
        const slots = due / Math.min(7.5, interval / 40);
        expect(Math.abs(slots - Math.round(slots))).toBeLessThan(1e-3);
      }),
    );
  });

  test('packets of many sessions are due in few slots', () => {
    const random = seededRandom(1);
    const due = Array.from({ length: 1_000 }, () => transmissionTime(1_000 + 300 * random(), 300_000, 3, random));
    expect(new Set(due).size).toBeLessThanOrEqual(80);
  });

  test.each([
    [1_900.1, 900, 1_905],
    [1_905, 900, 1_905],
    [130.2, 30, 130.5],
  ])('a deadline at %d ms after waiting for %d ms is checked at %d ms, the end of its slot', (due, period, expected) => {
    expect(endOfSlot(due, period)).toBe(expected);
  });
});
