import type { Clock } from '../system/clock.ts';

interface BudgetSize {
  /** Pieces of work that may begin at once after a quiet time. */
  readonly burst: number;
  /** The interval at which one more is allowed, in milliseconds. */
  readonly refillMilliseconds: number;
}

/** Bounds how often work begins: a burst at once, then one piece each interval. */
export class Budget {
  readonly #clock: Clock;
  readonly #size: BudgetSize;
  #tokens: number;
  #countedAt: number;

  constructor(clock: Clock, size: BudgetSize) {
    this.#clock = clock;
    this.#size = size;
    this.#tokens = size.burst;
    this.#countedAt = clock.now();
  }

  /** Returns when the next piece of work may begin, by the clock. `spared` pieces of the burst are left to other work. */
  dueAt(spared = 0): number {
    const missing = 1 + spared - this.#count();
    return this.#clock.now() + Math.max(0, missing) * this.#size.refillMilliseconds;
  }

  /** Counts a piece of work that begins now. */
  spend(): void {
    this.#tokens = Math.max(0, this.#count() - 1);
  }

  #count(): number {
    const now = this.#clock.now();
    this.#tokens = Math.min(this.#size.burst, this.#tokens + (now - this.#countedAt) / this.#size.refillMilliseconds);
    this.#countedAt = now;
    return this.#tokens;
  }
}
