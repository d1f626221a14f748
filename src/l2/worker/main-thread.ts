import type { ThreadActivity } from '../../system/processes.ts';
import { heartbeatPatience, maximumBlockedTime } from '../limits.ts';

/**
 * Judges from its heartbeat whether the main thread lives. A thread that is busy gives no sign of life either, so the kernel is asked: while
 * it uses or waits for a processor it lives, for half a minute at most. A thread that sleeps without a sign of life hangs.
 */
export class MainThread {
  #beat = -1;
  #beatAt: number;
  #activity: ThreadActivity | undefined;
  #activeAt: number;
  readonly #activityOf: () => ThreadActivity | undefined;

  constructor(now: number, activityOf: () => ThreadActivity | undefined) {
    this.#beatAt = now;
    this.#activeAt = now;
    this.#activityOf = activityOf;
  }

  isAlive(now: number, beat: number): boolean {
    if (beat !== this.#beat) {
      this.#beat = beat;
      this.#beatAt = now;
      this.#activeAt = now;
      this.#activity = undefined;
      return true;
    }
    // Not asked while the beats come in time.
    if (now - this.#beatAt < heartbeatPatience / 2) return true;
    if (now - this.#beatAt > maximumBlockedTime) return false;
    const activity = this.#activityOf();
    if (activity === undefined || activity.state === 'Z' || activity.state === 'X') return false;
    if (activity.state === 'R' || activity.ticks !== (this.#activity?.ticks ?? activity.ticks)) this.#activeAt = now;
    this.#activity = activity;
    return now - Math.max(this.#activeAt, this.#beatAt) < heartbeatPatience;
  }

  /** The whole process did not run, so the missing beats mean nothing. */
  stalled(now: number): void {
    this.#beatAt = now;
    this.#activeAt = now;
  }
}
