import { systemClock, type Cancel, type Clock } from '../../system/clock.ts';

/** A clock whose timers ring when the loop of the thread calls `run`. Few timers are set at a time: the schedule needs one. */
export class LoopClock implements Clock {
  readonly #timers = new Map<symbol, { readonly due: number; readonly callback: () => void }>();

  now(): number {
    return systemClock.now();
  }

  date(): Date {
    return systemClock.date();
  }

  after(milliseconds: number, callback: () => void): Cancel {
    const id = Symbol('timer');
    this.#timers.set(id, { due: this.now() + milliseconds, callback });
    return () => void this.#timers.delete(id);
  }

  /** Milliseconds until the next timer, at most `longest`. */
  wait(longest: number): number {
    let wait = longest;
    for (const { due } of this.#timers.values()) wait = Math.min(wait, due - this.now());
    return Math.max(0, Math.ceil(wait));
  }

  run(): void {
    const now = this.now();
    for (const [id, { due, callback }] of this.#timers) {
      if (due > now) continue;
      this.#timers.delete(id);
      callback();
    }
  }
}
