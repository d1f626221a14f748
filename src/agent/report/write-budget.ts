import type { Clock } from '../../system/clock.ts';
import { limits } from '../limits.ts';

/**
 * Bounds the writes of one agent: a burst at once, then one each interval. A whole cluster of agents sees the same router fail, and the API
 * server must take all of their reports.
 */
export class WriteBudget {
  readonly #clock: Clock;
  #tokens: number = limits.reportBurst;
  #countedAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#countedAt = clock.now();
  }

  /** When the next write may begin. */
  get dueAt(): number {
    return this.#availableAt(1);
  }

  /** The same for a write that can wait: it leaves half of the burst to the others. */
  get patientDueAt(): number {
    return this.#availableAt(1 + limits.reportBurst / 2);
  }

  /** Counts a write. */
  spend(): void {
    this.#tokens = Math.max(0, this.#count() - 1);
  }

  #availableAt(tokens: number): number {
    const missing = tokens - this.#count();
    return missing <= 0 ? this.#clock.now() : this.#clock.now() + missing * limits.reportRefillMilliseconds;
  }

  #count(): number {
    const now = this.#clock.now();
    this.#tokens = Math.min(limits.reportBurst, this.#tokens + (now - this.#countedAt) / limits.reportRefillMilliseconds);
    this.#countedAt = now;
    return this.#tokens;
  }
}
