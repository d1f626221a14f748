import { describe, expect, test } from 'vitest';
import { isLoss, mayEstablish } from '../../../src/bfd/client-advice.ts';
import type { Transition } from '../../../src/bfd/session-status.ts';
import type { SessionState } from '../../../src/bfd/wire/codes.ts';

const transition = (from: SessionState, to: SessionState, remoteState: SessionState): Transition => ({
  at: new Date(0),
  from,
  to,
  diagnostic: 0,
  remoteState,
  remoteDiagnostic: 0,
});

describe('advice of BFD to BGP', () => {
  test.each([
    ['BFD-021 a silent peer is lost', 'Up', 'Down', 'Up', true],
    ['BFD-021 a peer that signals Down is lost', 'Up', 'Down', 'Down', true],
    ['BFD-020 a peer in AdminDown is not lost', 'Up', 'Down', 'AdminDown', false],
    ['BFD-020 a session that we shut down is not lost', 'Up', 'AdminDown', 'Up', false],
    ['BFD-022 a session that never came up is not lost', 'Init', 'Down', 'Down', false],
    ['a session that comes up is not lost', 'Init', 'Up', 'Up', false],
  ] as const)('%s', (_, from, to, remote, lost) => {
    expect(isLoss(transition(from, to, remote))).toBe(lost);
  });

  test.each([
    ['BGP waits for BFD that never came up', 'Down', 'Down', 0, 30_000, false],
    ['BGP waits until the hold time is over', 'Down', 'Init', 29_999, 30_000, false],
    ['BGP may establish without BFD after the hold time', 'Down', 'Init', 30_000, 30_000, true],
    ['BGP waits in strict mode without end', 'Down', 'Down', 1_000_000, Infinity, false],
    ['BGP waits while BFD comes up', 'Init', 'Init', 100, 30_000, false],
    ['BGP may establish when BFD is up', 'Up', 'Up', 0, Infinity, true],
    ['BGP may establish while the peer has BFD in AdminDown', 'Down', 'AdminDown', 0, Infinity, true],
    ['BGP may establish while we have BFD in AdminDown', 'AdminDown', 'Down', 0, Infinity, true],
  ] as const)('BFD-022 %s', (_, state, remoteState, waited, holdTime, may) => {
    expect(mayEstablish({ state, remoteState }, waited, holdTime)).toBe(may);
  });
});
