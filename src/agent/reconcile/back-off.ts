import type { Cancel, Clock } from '../../system/clock.ts';
import type { Random } from '../../system/random.ts';
import { limits } from '../limits.ts';

/** When to try again what failed: after a pause that doubles with each failure in a row, with jitter. */
export class BackOff {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #again: () => void;
  #failures = 0;
  #cancel: Cancel | undefined;

  constructor({ clock, random }: { readonly clock: Clock; readonly random: Random }, again: () => void) {
    this.#clock = clock;
    this.#random = random;
    this.#again = again;
  }

  get waiting(): boolean {
    return this.#cancel !== undefined;
  }

  /** Calls `again` once, after the milliseconds that it returns; a call before is replaced. */
  failed(): number {
    const longest = Math.min(limits.retryMaximumMilliseconds, limits.retryMinimumMilliseconds * 2 ** this.#failures++);
    const milliseconds = longest * (0.75 + 0.25 * this.#random());
    this.#cancel?.();
    this.#cancel = this.#clock.after(milliseconds, () => {
      this.#cancel = undefined;
      this.#again();
    });
    return Math.round(milliseconds);
  }

  /** The next pause is the shortest again. One that runs goes on. */
  succeeded(): void {
    this.#failures = 0;
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
