import type { Random } from '../../system/random.ts';
import { limits } from '../limits.ts';

/** Pauses after failures in a row: each up to twice as long as the one before, with half of it at random. */
export class BackOff {
  readonly #random: Random;
  #failures = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Milliseconds to wait. What the API server asks for is the least; the random part comes on top, so that not all return at once. */
  failed(retryAfterMilliseconds = 0): number {
    const longest = Math.min(limits.retryMaximumMilliseconds, limits.retryMinimumMilliseconds * 2 ** this.#failures++);
    return Math.max(longest / 2, retryAfterMilliseconds) + (longest / 2) * this.#random();
  }

  succeeded(): void {
    this.#failures = 0;
  }
}
