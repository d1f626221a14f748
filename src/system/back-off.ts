import type { Random } from './random.ts';

export interface BackOffOptions {
  /** Longest delay after the first failure. */
  readonly minimumMilliseconds: number;
  /** Longest delay after any number of failures. */
  readonly maximumMilliseconds: number;
  /** The share of a delay that is chosen at random, 0 to 1. */
  readonly jitter: number;
}

/** Returns the delay after so many failures in a row: it doubles with every failure, up to a maximum, and part of it is random. */
export function backOffDelay(failures: number, options: BackOffOptions, random: Random, leastMilliseconds = 0): number {
  const { minimumMilliseconds, maximumMilliseconds, jitter } = options;
  const longest = Math.min(maximumMilliseconds, minimumMilliseconds * 2 ** (failures - 1));
  return Math.max(longest * (1 - jitter), leastMilliseconds) + longest * jitter * random();
}

/** Counts the failures in a row, and computes the delay before each retry. */
export class BackOff {
  readonly #random: Random;
  readonly #options: BackOffOptions;
  #failures = 0;

  constructor(random: Random, options: BackOffOptions) {
    this.#random = random;
    this.#options = options;
  }

  /**
   * Records a failure and returns the milliseconds to wait before the next attempt. The fixed part is at least `leastMilliseconds`, for a
   * server that asks for a longer wait; the random part is added to it, so that clients do not all return at once.
   */
  failed(leastMilliseconds = 0): number {
    return backOffDelay(++this.#failures, this.#options, this.#random, leastMilliseconds);
  }

  /** Makes the next delay the shortest one again. */
  succeeded(): void {
    this.#failures = 0;
  }
}
