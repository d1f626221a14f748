import { damping, maximumFlapTimes } from '../limits.ts';
import { isCease, isPathLoss, type Problem } from '../diagnosis/problem.ts';
import { cease } from '../wire/codes.ts';

/**
 * The flap record of a session. A session that flaps repeatedly is held in Idle (RFC 4271 8.1.1, DampPeerOscillations and IdleHoldTime).
 * Each flap moves the traffic of the node twice, so a flapping session is worse than one that stays down. Times are milliseconds of the
 * clock; the functions here do not read the clock.
 */
export interface FlapRecord {
  /** The penalty at time `at`. Each flap adds to it, and it halves with time. */
  readonly penalty: number;
  readonly at: number;
  /** Times of the latest flaps, oldest first. */
  readonly flaps: readonly number[];
  /** Neither side can begin a session before this time. */
  readonly heldUntil: number;
}

export const noFlaps: FlapRecord = { penalty: 0, at: 0, flaps: [], heldUntil: -Infinity };

/** Adds a flap. `random` (0 to 1) spreads the end of the hold, so that sessions that went down together do not return together. */
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

/** Returns the flaps of the last hour. */
export function recentFlaps({ flaps }: FlapRecord, now: number): readonly number[] {
  return flaps.filter((at) => now - at < 3_600_000);
}

/** Returns the longest hold for a penalty: 0 up to the threshold, then twice as long for each further flap. */
export function holdSeconds(penalty: number): number {
  if (penalty <= damping.threshold) return 0;
  return Math.min(damping.firstHold * 2 ** ((penalty - damping.threshold) / damping.penaltyOfFlap), damping.longestHold);
}

/**
 * Tells whether the end of an established session counts as a flap. It does not if an operator of either side asked for it, or if both
 * sides keep the routes during a restart (`peerRestartsGracefully`). A path lost according to BFD does count.
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

/** Cease subcodes that a router sends after a command of its operator (RFC 4486 4). */
const deliberateSubcodes: readonly number[] = [
  cease.administrativeShutdown,
  cease.peerDeconfigured,
  cease.administrativeReset,
  cease.configurationChange,
];
