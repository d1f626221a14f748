import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { detectionTime, jittered, transmitInterval } from '../../../src/bfd/timing.ts';

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
});
