import type { Cancel, Clock } from '../../system/clock.ts';
import { KubeError } from '../error.ts';

/** A signal that aborts when no progress was reported for a time, or when the outer signal aborts. Its creator must end it. */
export class StallTimeout {
  readonly #clock: Clock;
  readonly #milliseconds: number;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  #last: number;
  #cancel: Cancel | undefined;

  constructor(clock: Clock, milliseconds: number, outer?: AbortSignal) {
    this.#clock = clock;
    this.#milliseconds = milliseconds;
    this.#outer = outer;
    this.#last = clock.now();
    outer?.addEventListener('abort', this.#follow, { once: true });
    if (outer?.aborted === true) this.#follow();
    else this.#arm(milliseconds);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Costs almost nothing: the timer computes the elapsed time when it fires. */
  progress(): void {
    this.#last = this.#clock.now();
  }

  /** Ends the timer; the signal will not abort any more. */
  end(): void {
    this.#cancel?.();
    this.#outer?.removeEventListener('abort', this.#follow);
  }

  #arm(milliseconds: number): void {
    this.#cancel = this.#clock.after(milliseconds, () => {
      const left = this.#last + this.#milliseconds - this.#clock.now();
      if (left > 0) return this.#arm(left);
      this.end();
      this.#controller.abort(new KubeError('stalled', `the API server has said nothing for ${Math.round(this.#milliseconds / 1000)} s`));
    });
  }

  readonly #follow = (): void => {
    this.end();
    this.#controller.abort(this.#outer?.reason);
  };
}
