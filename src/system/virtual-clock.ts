import type { Cancel, Clock } from './clock.ts';

/** A clock that moves only when it is advanced. Tests and the simulator use it. */
export class VirtualClock implements Clock {
  #now = 0;
  #sequence = 0;
  readonly #timers = new Map<number, { readonly due: number; readonly callback: () => void }>();

  now(): number {
    return this.#now;
  }

  date(): Date {
    return new Date(Date.UTC(2026, 0, 1) + this.#now);
  }

  after(milliseconds: number, callback: () => void): Cancel {
    const id = this.#sequence++;
    this.#timers.set(id, { due: this.#now + Math.max(0, milliseconds), callback });
    return () => void this.#timers.delete(id);
  }

  /** Number of timers that have neither fired nor been cancelled. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Moves time forward, firing due timers in order of their time, then of their creation. */
  advance(milliseconds: number): void {
    const target = this.#now + milliseconds;
    for (;;) {
      let next: { id: number; due: number; callback: () => void } | undefined;
      for (const [id, timer] of this.#timers) {
        if (timer.due <= target && (next === undefined || timer.due < next.due)) next = { id, ...timer };
      }
      if (next === undefined) break;
      this.#timers.delete(next.id);
      this.#now = next.due;
      next.callback();
    }
    this.#now = target;
  }
}
