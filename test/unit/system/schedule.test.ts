import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Alarm, Schedule } from '../../../src/system/schedule.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

describe('the schedule', () => {
  test('alarms ring in order of time after any sequence of set, move and clear', () => {
    const step = fc.record({ alarm: fc.nat({ max: 9 }), due: fc.option(fc.nat({ max: 50 }), { nil: undefined }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.nat({ max: 20 }), (steps, pause) => {
        const clock = new VirtualClock();
        const schedule = new Schedule(clock);
        const rung: { readonly at: number; readonly which: number }[] = [];
        const alarms = Array.from({ length: 10 }, (_, which) => new Alarm((at) => rung.push({ at, which })));
        const expected = new Map<number, number>();
        for (const { alarm, due } of steps) {
          const one = alarms[alarm];
          if (one === undefined) continue;
          if (due === undefined) {
            schedule.clearAlarm(one);
            expected.delete(alarm);
          } else {
            schedule.setAlarm(one, due);
            expected.set(alarm, due);
          }
        }
        expect(schedule.size).toBe(expected.size);
        clock.advance(pause);
        clock.advance(100);
        expect(new Set(rung.map(({ which }) => which))).toEqual(new Set(expected.keys()));
        expect(rung).toHaveLength(expected.size);
        for (const { at, which } of rung) expect(at).toBe(expected.get(which));
        expect(rung.map(({ at }) => at)).toEqual(rung.map(({ at }) => at).toSorted((a, b) => a - b));
      }),
    );
  });

  test('a thousand alarms share one timer of the clock', () => {
    const clock = new VirtualClock();
    const schedule = new Schedule(clock);
    for (let due = 1000; due > 0; due--) schedule.setAlarm(new Alarm(() => undefined), due);
    expect(clock.pending).toBe(1);
  });

  test('alarms of the same time that are set again need one timer of the clock for all', () => {
    const clock = new VirtualClock();
    let timers = 0;
    const after = (milliseconds: number, callback: () => void) => {
      timers++;
      return clock.after(milliseconds, callback);
    };
    const schedule = new Schedule({ now: () => clock.now(), date: () => clock.date(), after });
    const alarms = Array.from({ length: 10 }, (): Alarm => {
      const alarm: Alarm = new Alarm((now) => schedule.setAlarm(alarm, now + 10));
      return alarm;
    });
    for (const alarm of alarms) schedule.setAlarm(alarm, 10);
    clock.advance(35);
    expect(timers).toBe(4);
  });

  test('an alarm may be set again while it rings, and none rings after stop()', () => {
    const clock = new VirtualClock();
    const schedule = new Schedule(clock);
    const rung: number[] = [];
    const alarm: Alarm = new Alarm((now) => {
      rung.push(now);
      schedule.setAlarm(alarm, now + 10);
    });
    schedule.setAlarm(alarm, 5);
    clock.advance(30);
    schedule.stop();
    clock.advance(30);
    expect(rung).toEqual([5, 15, 25]);
    expect(clock.pending).toBe(0);
  });
});
