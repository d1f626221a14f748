import { describe, expect, test } from 'vitest';
import { answersClients, claimEvents, claimStates, step, type ClaimEvent, type ClaimState } from '../../../../src/l2/claim/fsm.ts';

/** Every state and event, in the order of `claimEvents`: the next state and the effects. A dot: nothing happens. */
const matrix: Readonly<Record<ClaimState, readonly string[]>> = {
  standby: ['owner announce', 'probing probe', '.', '.', '.', '.', '.', '.', '.', '.', '.', '.', '.', '.'],
  probing: [
    'owner announce',
    '.',
    'standby',
    'standby',
    'standby',
    'owner announce',
    'conflict report',
    'conflict report',
    'conflict report',
    'owner announce',
    'standby',
    '.',
    '.',
    'standby',
  ],
  owner: [
    '.',
    '.',
    'keeping',
    'leaving',
    'standby checkLater',
    'owner defend',
    'owner defendForeign report',
    'conflict report',
    '.',
    '.',
    'doubtful',
    '.',
    'owner lookAgain',
    'leaving',
  ],
  keeping: [
    'owner announce',
    'owner announce',
    '.',
    'leaving',
    'standby checkLater',
    'keeping defend',
    'keeping defendForeign report',
    'conflict report',
    '.',
    '.',
    'doubtful',
    '.',
    'keeping lookAgain',
    'leaving',
  ],
  leaving: [
    'owner announce',
    'owner announce',
    'keeping',
    '.',
    'standby',
    'standby',
    'standby report',
    'standby report',
    '.',
    '.',
    'standby',
    '.',
    'standby',
    '.',
  ],
  doubtful: [
    '.',
    '.',
    '.',
    'standby',
    'standby checkLater',
    'standby',
    'doubtful report',
    'conflict report',
    '.',
    '.',
    '.',
    'owner announce',
    '.',
    'standby',
  ],
  conflict: [
    '.',
    '.',
    'standby',
    'standby',
    'standby',
    '.',
    'conflict report',
    'conflict report',
    'conflict report',
    '.',
    '.',
    '.',
    'probing probe',
    'standby',
  ],
};

const cells = claimStates.flatMap((state) => claimEvents.map((event, at) => [state, event, matrix[state][at] ?? ''] as const));

describe('the state machine of an address', () => {
  test('the table has every state and event', () => {
    expect(cells.length).toBe(claimStates.length * claimEvents.length);
    expect(Object.values(matrix).map((row) => row.length)).toEqual(claimStates.map(() => claimEvents.length));
  });

  test.each(cells)('L2-6 L2-12 L2-13 %s and %s: %s', (state, event, expected) => {
    const { state: next, effects } = step(state, event);
    expect(next === state && effects.length === 0 ? '.' : [next, ...effects].join(' ')).toBe(expected);
  });

  test('L2-5 only an owner, and a node that hands over, answers clients', () => {
    expect(claimStates.filter((state) => answersClients(state))).toEqual(['owner', 'keeping', 'leaving']);
  });

  test('L2-30 no event but silence makes a doubtful node an owner', () => {
    const makesOwner = (event: ClaimEvent): boolean => step('doubtful', event).state === 'owner';
    expect(claimEvents.filter((event) => makesOwner(event))).toEqual(['confirmed']);
  });

  test('rule 4: an owner goes on answering while a better candidate lives but was not heard', () => {
    expect(answersClients(step('owner', 'deferred').state)).toBe(true);
    expect(answersClients(step('keeping', 'heardBetter').state)).toBe(false);
  });
});
