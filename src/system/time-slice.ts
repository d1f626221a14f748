import { setImmediate as nextTurn } from 'node:timers/promises';
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

/**
 * A time slice that many pieces of work share which do not know of each other. It begins with the first piece in a turn of the event loop, and
 * ends with the turn. Use it like a TimeSlice. The turns are those of Node, whatever the clock.
 */
export class TurnSlice {
  readonly #clock: Clock;
  /** Undefined: no work has begun in this turn. */
  #began: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isUsedUp(): boolean {
    if (this.#began !== undefined) return this.#clock.now() - this.#began >= timeSliceMilliseconds;
    this.#began = this.#clock.now();
    setImmediate(() => (this.#began = undefined));
    return false;
  }

  /** Lets other work run. */
  async yield(): Promise<void> {
    await nextTurn();
  }
}
