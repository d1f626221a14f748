import { damping, maximumFlapTimes } from '../limits.ts';
import { isCease, isPathLoss, type Problem } from '../diagnosis/problem.ts';
import { cease } from '../wire/codes.ts';

/**
 * How a session that comes up and goes down again and again is held back (RFC 4271 8.1.1, DampPeerOscillations and IdleHoldTime). Each flap
 * moves the traffic of the node twice, so that a session that is up now and then is worse than one that is down. Times are milliseconds of the
 * clock; nothing here knows what time it is.
 */
export interface FlapRecord {
  /** As it was at `at`: each flap adds to it, and it halves with time. */
  readonly penalty: number;
  readonly at: number;
  /** When the latest flaps were, oldest first. */
  readonly flaps: readonly number[];
  /** Neither side begins a session before. */
  readonly heldUntil: number;
}

export const noFlaps: FlapRecord = { penalty: 0, at: 0, flaps: [], heldUntil: -Infinity };

/** The session went down. `random`: as `Random` gives it, so that sessions that went down together do not come back together. */
export function recordFlap(record: FlapRecord, now: number, random: number): FlapRecord {
  const penalty = Math.min(penaltyAt(record, now) + damping.penaltyOfFlap, damping.maximumPenalty);
  const hold = Math.round(holdSeconds(penalty) * (0.75 + random / 4) * 1000);
  return {
    penalty,
    at: now,
    flaps: [...recentFlaps(record, now), now].slice(-maximumFlapTimes),
    heldUntil: hold === 0 ? record.heldUntil : now + hold,
  };
}

export function penaltyAt({ penalty, at }: FlapRecord, now: number): number {
  return penalty * 2 ** ((at - now) / (damping.halfLife * 1000));
}

/** Of the last hour. */
export function recentFlaps({ flaps }: FlapRecord, now: number): readonly number[] {
  return flaps.filter((at) => now - at < 3_600_000);
}

/** The longest that a penalty can mean: 0 up to the threshold, and from there on the time doubles with each flap. */
export function holdSeconds(penalty: number): number {
  if (penalty <= damping.threshold) return 0;
  return Math.min(damping.firstHold * 2 ** ((penalty - damping.threshold) / damping.penaltyOfFlap), damping.longestHold);
}

/**
 * Whether the end of an established session is one that nobody meant. What we or the people behind the peer have asked for is none, nor is a
 * restart for which both sides keep the routes (`peerRestartsGracefully`). The loss of the path that BFD has seen is.
 */
export function countsAsFlap(problem: Problem, peerRestartsGracefully: boolean): boolean {
  switch (problem.kind) {
    case 'stopped':
      return isPathLoss(problem);
    case 'received':
      return !isCease(problem.notification, deliberateSubcodes);
    case 'lost':
      return !peerRestartsGracefully;
    case 'suspended':
    case 'peerRestarted':
    case 'collision':
      return false;
    case 'connectFailed':
    case 'connectTimeout':
    case 'holdTimerExpired':
    case 'sendHoldTimerExpired':
    case 'sent':
      return true;
  }
}

/** What a router says for somebody who has typed it (RFC 4486 4). */
const deliberateSubcodes: readonly number[] = [
  cease.administrativeShutdown,
  cease.peerDeconfigured,
  cease.administrativeReset,
  cease.configurationChange,
];
