import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sleep } from '../../../src/system/clock.ts';
import { seededRandom } from '../../../src/system/random.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

describe('virtual clock', () => {
  test('fires timers by due time, then by creation, including timers created by callbacks', () => {
    const clock = new VirtualClock();
    const fired: string[] = [];
    clock.after(20, () => fired.push(`late ${clock.now()}`));
    clock.after(10, () => {
      fired.push(`first ${clock.now()}`);
      clock.after(5, () => fired.push(`nested ${clock.now()}`));
    });
    clock.after(10, () => fired.push(`second ${clock.now()}`));
    const cancel = clock.after(10, () => fired.push('cancelled'));
    cancel();
    clock.advance(30);
    expect(fired).toEqual(['first 10', 'second 10', 'nested 15', 'late 20']);
    expect(clock.now()).toBe(30);
    expect(clock.pending).toBe(0);
  });

  test('sleep ends after its time, or with the signal and leaves no timer behind', async () => {
    const clock = new VirtualClock();
    const done = sleep(clock, 100);
    clock.advance(100);
    await expect(done).resolves.toBeUndefined();
    const stop = new AbortController();
    const cut = sleep(clock, 100, stop.signal);
    stop.abort(new Error('enough'));
    await expect(cut).rejects.toThrow('enough');
    expect(clock.pending).toBe(0);
  });
});

test('a seed gives the same numbers in [0, 1) every time', () => {
  const draw = (seed: number): number[] => {
    const random = seededRandom(seed);
    return Array.from({ length: 100 }, () => random());
  };
  expect(draw(7)).toEqual(draw(7));
  expect(draw(7)).not.toEqual(draw(8));
  expect(draw(7).every((number) => number >= 0 && number < 1)).toBe(true);
});

test('the virtual clock fires what a list of all timers would, whatever is set and cancelled', () => {
  // Few times, so that some are equal, and long waits, so that many timers are cancelled before they are due.
  const command = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('after' as const), milliseconds: fc.nat(40).map((ten) => ten * 10) }) },
    fc.record({ do: fc.constant('cancel' as const), first: fc.nat(150) }),
    fc.record({ do: fc.constant('advance' as const), milliseconds: fc.nat(3).map((ten) => ten * 10) }),
  );
  fc.assert(
    fc.property(fc.array(command, { maxLength: 300, size: 'max' }), (commands) => {
      const clock = new VirtualClock();
      const cancels: (() => void)[] = [];
      const fired: number[] = [];
      let model: { readonly id: number; readonly due: number }[] = [];
      for (const each of commands) {
        switch (each.do) {
          case 'after': {
            const id = cancels.length;
            model.push({ id, due: clock.now() + each.milliseconds });
            cancels.push(clock.after(each.milliseconds, () => fired.push(id)));
            break;
          }
          case 'cancel':
            for (const cancel of cancels.slice(each.first, each.first + 30)) cancel();
            model = model.filter(({ id }) => id < each.first || id >= each.first + 30);
            break;
          case 'advance': {
            fired.length = 0;
            clock.advance(each.milliseconds);
            const due = model.filter((timer) => timer.due <= clock.now()).toSorted((a, b) => a.due - b.due || a.id - b.id);
            expect(fired).toEqual(due.map(({ id }) => id));
            model = model.filter((timer) => !due.includes(timer));
            break;
          }
        }
        expect(clock.pending).toBe(model.length);
      }
    }),
  );
});
