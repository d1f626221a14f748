import type { Clock } from '../system/clock.ts';
import { limits } from './limits.ts';

/** Keeps long work from holding up timers: `turn` is to be awaited between two pieces of it, and waits only when it is time. */
export class Breather {
  readonly #clock: Clock;
  #since: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.now();
  }

  get due(): boolean {
    return this.#clock.now() - this.#since >= limits.sliceMilliseconds;
  }

  /** Resolves after what has arrived and what is due had their turn. */
  async turn(): Promise<void> {
    await new Promise<void>((resolve) => void this.#clock.after(0, resolve));
    this.#since = this.#clock.now();
  }
}
