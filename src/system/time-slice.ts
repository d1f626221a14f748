import { sleep, type Clock } from './clock.ts';
import { timeSliceMilliseconds } from './limits.ts';

/**
 * Lets timers run during long work, because BGP's timers share the thread. Call `if (slice.isUsedUp) await slice.yield();` between steps.
 */
export class TimeSlice {
  readonly #clock: Clock;
  #began: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#began = clock.now();
  }

  get isUsedUp(): boolean {
    return this.#clock.now() - this.#began >= timeSliceMilliseconds;
  }

  /** Lets other work run, then begins the next slice. */
  async yield(): Promise<void> {
    await sleep(this.#clock, 0);
    this.#began = this.#clock.now();
  }
}
