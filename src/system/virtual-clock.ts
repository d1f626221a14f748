import type { Cancel, Clock } from './clock.ts';

interface Timer {
  readonly due: number;
  /** The number of its creation. */
  readonly id: number;
  /** Undefined: it has fired or was cancelled. */
  callback: (() => void) | undefined;
}

/** A clock that moves only when it is advanced. Tests and the simulator use it. */
export class VirtualClock implements Clock {
  #now = 0;
  #sequence = 0;
  #pending = 0;
  /** A binary heap, by due time and then by creation. Tests run thousands of timers. */
  #timers: Timer[] = [];

  now(): number {
    return this.#now;
  }

  date(): Date {
    return new Date(Date.UTC(2026, 0, 1) + this.#now);
  }

  after(milliseconds: number, callback: () => void): Cancel {
    const timer: Timer = { due: this.#now + Math.max(0, milliseconds), id: this.#sequence++, callback };
    this.#pending++;
    this.#add(timer);
    return () => {
      if (timer.callback === undefined) return;
      timer.callback = undefined;
      this.#pending--;
      this.#dropCancelled();
    };
  }

  /** Number of timers that have neither fired nor been cancelled. */
  get pending(): number {
    return this.#pending;
  }

  /** Moves time forward, firing due timers in order of their time, then of their creation. */
  advance(milliseconds: number): void {
    const target = this.#now + milliseconds;
    for (let first = this.#timers[0]; first !== undefined && first.due <= target; first = this.#timers[0]) {
      this.#removeFirst();
      const { callback } = first;
      if (callback === undefined) continue;
      first.callback = undefined;
      this.#pending--;
      this.#now = first.due;
      callback();
    }
    this.#now = target;
  }

  /** A cancelled timer stays in the heap until its time, or until such timers are the greater part of it. */
  #dropCancelled(): void {
    if (this.#timers.length < 2 * this.#pending + 16) return;
    this.#timers = this.#timers.filter(({ callback }) => callback !== undefined).sort((a, b) => (isBefore(a, b) ? -1 : 1));
  }

  #add(timer: Timer): void {
    const timers = this.#timers;
    let place = timers.length;
    while (place > 0) {
      const parent = timers[(place - 1) >> 1];
      if (parent === undefined || isBefore(parent, timer)) break;
      timers[place] = parent;
      place = (place - 1) >> 1;
    }
    timers[place] = timer;
  }

  #removeFirst(): void {
    const timers = this.#timers;
    const last = timers.pop();
    if (last === undefined || timers.length === 0) return;
    let place = 0;
    for (;;) {
      const [left, right] = [timers[2 * place + 1], timers[2 * place + 2]];
      const isRight = left !== undefined && right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (child === undefined || isBefore(last, child)) break;
      timers[place] = child;
      place = 2 * place + (isRight ? 2 : 1);
    }
    timers[place] = last;
  }
}

const isBefore = (a: Timer, b: Timer): boolean => a.due < b.due || (a.due === b.due && a.id < b.id);
