import { sleep, type Clock } from './clock.ts';
import { timeSliceMilliseconds } from './limits.ts';

/** Long work goes in turns: the timers of BGP run in the same thread. `if (turn.isOver) await turn.end();` between its steps. */
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

  /** Whoever waits has its turn, and then the next one begins. */
  async yield(): Promise<void> {
    await sleep(this.#clock, 0);
    this.#began = this.#clock.now();
  }
}
