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

  const lenient = { strict: false, holdTime: 30_000 };
  const strict = { strict: true, holdTime: Infinity };
  const limited = { strict: true, holdTime: 30_000 };
  test.each([
    ['BGP may establish while BFD never came up', 'Down', 'Down', false, lenient, 0, true],
    ['BGP waits for BFD that never came up in strict mode', 'Down', 'Down', false, strict, 1_000_000, false],
    ['BGP waits in strict mode until its hold time is over', 'Down', 'Init', false, limited, 29_999, false],
    ['BGP may establish without BFD after the hold time of strict mode', 'Down', 'Init', false, limited, 30_000, true],
    ['BGP waits while BFD comes up again after a loss', 'Init', 'Init', true, lenient, 100, false],
    ['BGP stops waiting after the hold time when BFD does not come back', 'Down', 'Down', true, lenient, 30_000, true],
    ['BGP may establish when BFD is up', 'Up', 'Up', false, strict, 0, true],
    ['BGP may establish while the peer has BFD in AdminDown', 'Down', 'AdminDown', true, strict, 0, true],
    ['BGP may establish while we have BFD in AdminDown', 'AdminDown', 'Down', true, strict, 0, true],
  ] as const)('BFD-022 %s', (_, state, remoteState, failed, options, waited, may) => {
    expect(mayEstablish({ state, remoteState, failed }, options, waited)).toBe(may);
  });
});
