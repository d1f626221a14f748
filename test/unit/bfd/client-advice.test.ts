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

describe('what BFD says to BGP', () => {
  test.each([
    ['BFD-021 a peer that fell silent is lost', 'Up', 'Down', 'Up', true],
    ['BFD-021 a peer that signals Down is lost', 'Up', 'Down', 'Down', true],
    ['BFD-020 a peer that was shut down on purpose is not', 'Up', 'Down', 'AdminDown', false],
    ['BFD-020 nor is one that we shut down', 'Up', 'AdminDown', 'Up', false],
    ['BFD-022 nor one with which it never came up', 'Init', 'Down', 'Down', false],
    ['a session that comes up is no loss', 'Init', 'Up', 'Up', false],
  ] as const)('%s', (_, from, to, remote, lost) => {
    expect(isLoss(transition(from, to, remote))).toBe(lost);
  });

  const lenient = { strict: false, holdTime: 30_000 };
  const strict = { strict: true, holdTime: Infinity };
  const limited = { strict: true, holdTime: 30_000 };
  test.each([
    ['BFD that never came up does not hold BGP back', 'Down', 'Down', false, lenient, 0, true],
    ['unless strict mode asks for it', 'Down', 'Down', false, strict, 1_000_000, false],
    ['strict mode may have a limit', 'Down', 'Init', false, limited, 29_999, false],
    ['after which BGP goes on without', 'Down', 'Init', false, limited, 30_000, true],
    ['while it comes up again after a loss, BGP waits', 'Init', 'Init', true, lenient, 100, false],
    ['a peer whose BFD does not come back is not waited for without end', 'Down', 'Down', true, lenient, 30_000, true],
    ['when it is up, BGP goes on', 'Up', 'Up', false, strict, 0, true],
    ['a peer that has BFD shut down has not said that the path is bad', 'Down', 'AdminDown', true, strict, 0, true],
    ['nor have we', 'AdminDown', 'Down', true, strict, 0, true],
  ] as const)('BFD-022 %s', (_, state, remoteState, failed, options, waited, may) => {
    expect(mayEstablish({ state, remoteState, failed }, options, waited)).toBe(may);
  });
});
