import { describe, expect, test } from 'vitest';
import { limits } from '../../../../src/controller/limits.ts';
import { holdCondition, conditionHoldOf, type ConditionHold } from '../../../../src/controller/services/condition-hold.ts';
import type { Condition } from '../../../../src/model/objects/condition.ts';

const hold = limits.conditionHoldMilliseconds;
const type = 'herald.dev/Announced';
const yes: Condition = { type, status: 'True', reason: 'Announced', message: '' };
const no: Condition = { type, status: 'False', reason: 'SessionDown', message: '' };
const silent: Condition = { type, status: 'False', reason: 'AgentSilent', message: '' };
const unknown: Condition = { type, status: 'Unknown', reason: 'NoNodes', message: '' };

/** Plays the actual values second by second; returns the recorded value after each step, and those that were reported. */
function play(steps: readonly (readonly [second: number, wanted: Condition, anew?: boolean])[], from?: ConditionHold) {
  let standing = from;
  const written: string[] = [];
  const told: string[] = [];
  let again: number | undefined;
  for (const [second, wanted, anew = false] of steps) {
    const settled = holdCondition(standing, wanted, second * 1000, anew);
    standing = settled.hold;
    written.push(standing.recorded.reason);
    if (settled.isReportDue) told.push(standing.recorded.reason);
    again = settled.requeueAt;
  }
  return { written, told, again };
}

describe('a condition of a Service', () => {
  test('good news is recorded and reported at once, and once', () => {
    expect(
      play([
        [0, no],
        [1, yes],
        [2, yes],
      ]),
    ).toEqual({ written: ['SessionDown', 'Announced', 'Announced'], told: ['Announced'], again: undefined });
  });

  test('bad news is recorded after the hold time, and a requeue is requested for then', () => {
    const from = conditionHoldOf(yes);
    expect(
      play(
        [
          [0, no],
          [29, no],
        ],
        from,
      ),
    ).toEqual({ written: ['Announced', 'Announced'], told: [], again: hold });
    expect(
      play(
        [
          [0, no],
          [15, silent],
          [30, no],
        ],
        from,
      ),
    ).toEqual({ written: ['Announced', 'Announced', 'SessionDown'], told: ['SessionDown'], again: undefined });
  });

  test('a flapping session is never reported', () => {
    const flaps = Array.from({ length: 600 }, (_, second) => [second, second % 2 === 0 ? no : yes] as const);
    const { written, told } = play(flaps, conditionHoldOf(yes));
    expect(new Set(written)).toEqual(new Set(['Announced']));
    expect(told).toEqual([]);
  });

  test('a first value is recorded at once, and reported after the hold time', () => {
    expect(play([[0, no]])).toEqual({ written: ['SessionDown'], told: [], again: hold });
    expect(
      play([
        [0, no],
        [30, no],
        [60, no],
      ]),
    ).toEqual({ written: ['SessionDown', 'SessionDown', 'SessionDown'], told: ['SessionDown'], again: undefined });
  });

  test('an unreported value is replaced at once, and reported after it was bad for the hold time', () => {
    expect(
      play([
        [0, silent],
        [1, no],
        [29, no],
        [30, no],
      ]),
    ).toEqual({ written: ['AgentSilent', 'SessionDown', 'SessionDown', 'SessionDown'], told: ['SessionDown'], again: undefined });
  });

  test('a value that has changed meanwhile is not reported', () => {
    const { told } = play([
      [0, no],
      [29, unknown],
      [30, unknown],
    ]);
    expect(told).toEqual([]);
  });

  test('a changed reason is recorded after the hold time', () => {
    expect(
      play(
        [
          [0, silent],
          [29, silent],
          [30, silent],
        ],
        conditionHoldOf(no),
      ),
    ).toMatchObject({ written: ['SessionDown', 'SessionDown', 'AgentSilent'], told: ['AgentSilent'] });
  });

  test('Unknown is replaced at once', () => {
    expect(play([[0, no]], conditionHoldOf(unknown))).toMatchObject({ written: ['SessionDown'], told: [], again: hold });
  });

  test('a changed Service is recorded at once, and reported after the hold time', () => {
    expect(
      play(
        [
          [0, no, true],
          [30, no],
        ],
        conditionHoldOf(yes),
      ),
    ).toMatchObject({ written: ['SessionDown', 'SessionDown'], told: ['SessionDown'] });
  });

  test('a condition that an earlier controller recorded is not reported again', () => {
    expect(play([[0, yes]], conditionHoldOf(yes)).told).toEqual([]);
    expect(play([[100, no]], conditionHoldOf(no)).told).toEqual([]);
  });
});

describe('the text of a condition', () => {
  const refused: Condition = { ...no, message: 'refused' };
  const expired: Condition = { ...no, message: 'hold timer expired' };
  const texts = (steps: readonly (readonly [second: number, wanted: Condition, anew?: boolean])[]): string[] => {
    let standing: ConditionHold | undefined = conditionHoldOf(refused);
    return steps.map(([second, wanted, anew = false]) => {
      standing = holdCondition(standing, wanted, second * 1000, anew).hold;
      return standing.recorded.message;
    });
  };

  test('stays while two causes with one reason take turns', () => {
    const turns = Array.from({ length: 40 }, (_, index) => [index * 5, index % 2 === 0 ? expired : refused] as const);
    expect(new Set(texts(turns))).toEqual(new Set(['refused']));
  });

  test('is replaced when another one has lasted, or the Service itself changed', () => {
    expect(
      texts([
        [0, expired],
        [29, expired],
        [30, expired],
      ]),
    ).toEqual(['refused', 'refused', 'hold timer expired']);
    expect(texts([[0, expired, true]])).toEqual(['hold timer expired']);
  });

  test('is the present one when an Event reports it', () => {
    const first = holdCondition(undefined, refused, 0, false);
    const second = holdCondition(first.hold, expired, 500, false);
    expect([second.hold.recorded.message, second.isReportDue]).toEqual(['refused', false]);
    const due = holdCondition(second.hold, expired, hold, false);
    expect([due.hold.recorded.message, due.isReportDue, due.requeueAt]).toEqual(['hold timer expired', true, undefined]);
  });
});
