import { describe, expect, test } from 'vitest';
import { Damper } from '../../../../src/bgp/session/damper.ts';
import type { Clock } from '../../../../src/system/clock.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

/** A clock whose wall time (`date`) can be set and whose monotonic time (`now`) has fractions of a millisecond. */
function machineClock(): { clock: Clock; passes: (milliseconds: number) => void; isSet: (milliseconds: number) => void } {
  const virtual = new VirtualClock();
  let [now, wall] = [1_000.25, Date.UTC(2026, 0, 1) + 0.75];
  return {
    clock: { now: () => now, date: () => new Date(wall), after: (milliseconds, callback) => virtual.after(milliseconds, callback) },
    passes: (milliseconds) => {
      now += milliseconds;
      wall += milliseconds;
    },
    isSet: (milliseconds) => void (wall += milliseconds),
  };
}

describe('BGP-107 the end time of a hold', () => {
  test('the end time stays the same as time passes and when the wall clock is set', () => {
    const { clock, passes, isSet } = machineClock();
    const damper = new Damper({ clock, random: () => 0.3, isOn: () => true });
    for (let i = 0; i < 4; i++) damper.recordFlap();
    const { until } = damper.status();
    const expected = clock.date().getTime() + damper.remainingHold;
    expect(Math.abs((until?.getTime() ?? 0) - expected)).toBeLessThanOrEqual(1);
    const reported = new Set<string | undefined>();
    for (let i = 0; i < 50; i++) {
      passes(7.3);
      reported.add(damper.status().until?.toISOString());
    }
    isSet(250);
    reported.add(damper.status().until?.toISOString());
    expect([...reported]).toEqual([until?.toISOString()]);
  });

  test('the end time moves with the next flap, and is absent after the hold or after clear()', () => {
    const { clock, passes } = machineClock();
    const damper = new Damper({ clock, random: () => 0.3, isOn: () => true });
    for (let i = 0; i < 4; i++) damper.recordFlap();
    const first = damper.status().until?.getTime() ?? 0;
    passes(1_000);
    damper.recordFlap();
    expect(damper.status().until?.getTime()).toBeGreaterThan(first);
    passes(damper.remainingHold);
    expect(damper.status().until).toBeUndefined();
    damper.recordFlap();
    expect(damper.status().until).toBeDefined();
    damper.clearFlaps();
    expect(damper.status().until).toBeUndefined();
  });

  test('the end time is present when damping is switched on after the flaps', () => {
    const { clock } = machineClock();
    let isOn = false;
    const damper = new Damper({ clock, random: () => 0.3, isOn: () => isOn });
    for (let i = 0; i < 4; i++) expect(damper.recordFlap()).toBe(0);
    expect(damper.status().until).toBeUndefined();
    isOn = true;
    expect(damper.status().until).toBeDefined();
  });
});
