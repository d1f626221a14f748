import { describe, expect, test } from 'vitest';
import { Damper } from '../../../../src/bgp/session/damper.ts';
import type { Clock } from '../../../../src/system/clock.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

/** The wall clock has whole milliseconds and is set now and then; the other has fractions and is not. */
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

describe('BGP-107 the end of a hold', () => {
  test('is the same in each report, whatever fraction of a millisecond has passed and wherever the wall clock was set', () => {
    const { clock, passes, isSet } = machineClock();
    const damper = new Damper({ clock, random: () => 0.3, isOn: () => true });
    for (let i = 0; i < 4; i++) damper.flapped();
    const { until } = damper.status();
    const expected = clock.date().getTime() + damper.left;
    expect(Math.abs((until?.getTime() ?? 0) - expected)).toBeLessThanOrEqual(1);
    const told = new Set<string | undefined>();
    for (let i = 0; i < 50; i++) {
      passes(7.3);
      told.add(damper.status().until?.toISOString());
    }
    isSet(250);
    told.add(damper.status().until?.toISOString());
    expect([...told]).toEqual([until?.toISOString()]);
  });

  test('is another one after the next flap, and none once it is over or forgotten', () => {
    const { clock, passes } = machineClock();
    const damper = new Damper({ clock, random: () => 0.3, isOn: () => true });
    for (let i = 0; i < 4; i++) damper.flapped();
    const first = damper.status().until?.getTime() ?? 0;
    passes(1_000);
    damper.flapped();
    expect(damper.status().until?.getTime()).toBeGreaterThan(first);
    passes(damper.left);
    expect(damper.status().until).toBeUndefined();
    damper.flapped();
    expect(damper.status().until).toBeDefined();
    damper.forget();
    expect(damper.status().until).toBeUndefined();
  });

  test('is known when damping is switched on after the flaps', () => {
    const { clock } = machineClock();
    let isOn = false;
    const damper = new Damper({ clock, random: () => 0.3, isOn: () => isOn });
    for (let i = 0; i < 4; i++) expect(damper.flapped()).toBe(0);
    expect(damper.status().until).toBeUndefined();
    isOn = true;
    expect(damper.status().until).toBeDefined();
  });
});
