import process from 'node:process';
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
 * A time slice for many short pieces of work, each of which begins without knowing of the others. All pieces of one turn of the event loop share
 * it. Call `if (slice.isUsedUp()) await slice.yield();` before each piece. The turns are those of Node, whatever the clock.
 */
export class TurnSlice {
  readonly #clock: Clock;
  /** Undefined: no work has begun in this turn. */
  #began: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The first question in a turn begins the slice. */
  isUsedUp(): boolean {
    const began = this.#began ?? this.#begin();
    return this.#clock.now() - began >= timeSliceMilliseconds;
  }

  /** Lets other work run, then begins the slice of the next turn. */
  async yield(): Promise<void> {
    await nextTurn();
    this.#begin();
  }

  /** Returns when the slice began. */
  #begin(): number {
    const now = this.#clock.now();
    this.#began = now;
    setImmediate(() => (this.#began = undefined));
    return now;
  }
}

/** Resolves when all work has gone as far as it can without an answer from outside: Node runs ticks when no microtask is left. */
export function allWithoutWaiting(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
