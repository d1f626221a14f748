import { describe, expect, test } from 'vitest';
import { limits } from '../../../../src/controller/limits.ts';
import { holdCondition, conditionHoldOf, type ConditionHold } from '../../../../src/controller/services/condition-hysteresis.ts';
import type { Condition } from '../../../../src/model/objects/condition.ts';

const hold = limits.conditionHoldMilliseconds;
const type = 'herald.dev/Announced';
const yes: Condition = { type, status: 'True', reason: 'Announced', message: '' };
const no: Condition = { type, status: 'False', reason: 'SessionDown', message: '' };
const silent: Condition = { type, status: 'False', reason: 'AgentSilent', message: '' };
const unknown: Condition = { type, status: 'Unknown', reason: 'NoNodes', message: '' };

/** What happens at which second; returns what is on record after each, and which were told. */
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
  test('brings good news at once and once', () => {
    expect(
      play([
        [0, no],
        [1, yes],
        [2, yes],
      ]),
    ).toEqual({ written: ['SessionDown', 'Announced', 'Announced'], told: ['Announced'], again: undefined });
  });

  test('keeps its word for as long as bad news may pass, and asks to be looked at again', () => {
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

  test('says nothing at all of a session that flaps', () => {
    const flaps = Array.from({ length: 600 }, (_, second) => [second, second % 2 === 0 ? no : yes] as const);
    const { written, told } = play(flaps, conditionHoldOf(yes));
    expect(new Set(written)).toEqual(new Set(['Announced']));
    expect(told).toEqual([]);
  });

  test('is first written as it is, and told when it has lasted', () => {
    expect(play([[0, no]])).toEqual({ written: ['SessionDown'], told: [], again: hold });
    expect(
      play([
        [0, no],
        [30, no],
        [60, no],
      ]),
    ).toEqual({ written: ['SessionDown', 'SessionDown', 'SessionDown'], told: ['SessionDown'], again: undefined });
  });

  test('that nobody was told of says what is so by now, and is told when it has not been good for long enough', () => {
    expect(
      play([
        [0, silent],
        [1, no],
        [29, no],
        [30, no],
      ]),
    ).toEqual({ written: ['AgentSilent', 'SessionDown', 'SessionDown', 'SessionDown'], told: ['SessionDown'], again: undefined });
  });

  test('is not told while it is not so any more', () => {
    const { told } = play([
      [0, no],
      [29, unknown],
      [30, unknown],
    ]);
    expect(told).toEqual([]);
  });

  test('changes its reason when that has lasted', () => {
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

  test('that was Unknown is written as soon as anything is known', () => {
    expect(play([[0, no]], conditionHoldOf(unknown))).toMatchObject({ written: ['SessionDown'], told: [], again: hold });
  });

  test('is written at once where the Service itself has changed, and told when it has lasted', () => {
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

  test('that an earlier controller wrote was told by that one', () => {
    expect(play([[0, yes]], conditionHoldOf(yes)).told).toEqual([]);
    expect(play([[100, no]], conditionHoldOf(no)).told).toEqual([]);
  });
});
