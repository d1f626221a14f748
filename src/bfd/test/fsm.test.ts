import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fsmEvents, receivedState, step, type FsmEvent } from '../../../src/bfd/fsm.ts';
import { sessionStates, type SessionState } from '../../../src/bfd/wire/codes.ts';

/**
 * Returns the outcome of a step, such as "Down 1 forgets": next state, diagnostic if it is set, "forgets" if the remote state is cleared.
 */
function outcome(state: SessionState, event: FsmEvent): string {
  const { state: next, diagnostic, forgetsPeer = false } = step(state, event);
  return [next, ...(diagnostic === undefined ? [] : [diagnostic]), ...(forgetsPeer ? ['forgets'] : [])].join(' ');
}

/** RFC 5880 6.8.6 and 6.8.4: the expected outcome for each event in each state. */
const matrix: Readonly<Record<FsmEvent, Readonly<Record<SessionState, string>>>> = {
  receivedAdminDown: { AdminDown: 'AdminDown', Down: 'Down', Init: 'Down 3', Up: 'Down 3' },
  receivedDown: { AdminDown: 'AdminDown', Down: 'Init', Init: 'Init', Up: 'Down 3' },
  receivedInit: { AdminDown: 'AdminDown', Down: 'Up 0', Init: 'Up 0', Up: 'Up' },
  receivedUp: { AdminDown: 'AdminDown', Down: 'Down', Init: 'Up 0', Up: 'Up' },
  detectionTimeExpired: { AdminDown: 'AdminDown forgets', Down: 'Down forgets', Init: 'Down 1 forgets', Up: 'Down 1 forgets' },
  disabled: { AdminDown: 'AdminDown', Down: 'AdminDown 7', Init: 'AdminDown 7', Up: 'AdminDown 7' },
  enabled: { AdminDown: 'Down 0', Down: 'Down', Init: 'Init', Up: 'Up' },
};

describe('the BFD state machine', () => {
  test.each(fsmEvents.flatMap((event) => sessionStates.map((state) => [event, state] as const)))(
    'BFD-006 event %s in state %s has its expected outcome',
    (event, state) => {
      expect(outcome(state, event)).toBe(matrix[event][state]);
    },
  );

  test('BFD-006 two ends that receive each other come up from any states, whichever end sends first', () => {
    fc.assert(
      fc.property(fc.constantFrom('Down', 'Init', 'Up'), fc.constantFrom('Down', 'Init', 'Up'), fc.boolean(), (a, b, first) => {
        const states: [SessionState, SessionState] = [a, b];
        // The ends take turns in sending. Two ends that are already Up stay Up.
        for (let turn = 0; turn < 8; turn++) {
          const [from, to] = (turn % 2 === 0) === first ? ([0, 1] as const) : ([1, 0] as const);
          states[to] = step(states[to], receivedState(states[from])).state;
        }
        expect(states).toEqual(['Up', 'Up']);
      }),
    );
  });

  test('BFD-006 no end stays Up when the other end does not receive it', () => {
    // a receives b and says Up; b receives nothing and its detection time expires.
    const b = step('Up', 'detectionTimeExpired').state;
    expect(step('Up', receivedState(b)).state).toBe('Down');
  });
});
