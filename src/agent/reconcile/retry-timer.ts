import { BackOff } from '../../system/back-off.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import type { Random } from '../../system/random.ts';
import { limits } from '../limits.ts';

const delays = {
  minimumMilliseconds: limits.retryMinimumMilliseconds,
  maximumMilliseconds: limits.retryMaximumMilliseconds,
  jitter: 0.25,
};

/** Calls `retry` after a failure, with back-off. */
export class RetryTimer {
  readonly #clock: Clock;
  readonly #backOff: BackOff;
  readonly #retry: () => void;
  #cancel: Cancel | undefined;

  constructor({ clock, random }: { readonly clock: Clock; readonly random: Random }, retry: () => void) {
    this.#clock = clock;
    this.#backOff = new BackOff(random, delays);
    this.#retry = retry;
  }

  /** True while a retry is scheduled. */
  get waiting(): boolean {
    return this.#cancel !== undefined;
  }

  /** Schedules one retry, in place of one that is already scheduled. Returns the delay in milliseconds. */
  failed(): number {
    const milliseconds = this.#backOff.failed();
    this.#cancel?.();
    this.#cancel = this.#clock.after(milliseconds, () => {
      this.#cancel = undefined;
      this.#retry();
    });
    return Math.round(milliseconds);
  }

  /** Makes the next delay the shortest one again. A retry that is already scheduled stays. */
  succeeded(): void {
    this.#backOff.succeeded();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
