import { Heap, type HeapItem } from '../lang/heap.ts';
import type { Cancel, Clock } from './clock.ts';

interface Timer extends HeapItem {
  readonly due: number;
  /** The number of its creation. */
  readonly id: number;
  readonly callback: () => void;
}

/** A clock that moves only when it is advanced. Tests and the simulator use it. */
export class VirtualClock implements Clock {
  #now = 0;
  #sequence = 0;
  /** By due time and then by creation. Tests run thousands of timers. */
  readonly #timers = new Heap<Timer>((a, b) => a.due < b.due || (a.due === b.due && a.id < b.id));

  now(): number {
    return this.#now;
  }

  date(): Date {
    return new Date(Date.UTC(2026, 0, 1) + this.#now);
  }

  after(milliseconds: number, callback: () => void): Cancel {
    const timer: Timer = { due: this.#now + Math.max(0, milliseconds), id: this.#sequence++, callback, place: -1 };
    this.#timers.put(timer);
    return () => this.#timers.remove(timer);
  }

  /** Number of timers that have neither fired nor been cancelled. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Moves time forward, firing due timers in order of their time, then of their creation. */
  advance(milliseconds: number): void {
    const target = this.#now + milliseconds;
    for (let first = this.#timers.first; first !== undefined && first.due <= target; first = this.#timers.first) {
      this.#timers.remove(first);
      this.#now = first.due;
      first.callback();
    }
    this.#now = target;
  }
}
