import { Heap, type HeapItem } from '../lang/heap.ts';
import type { Cancel, Clock } from './clock.ts';

/** An alarm of a Schedule. It can be set many times. */
export class Alarm implements HeapItem {
  /** Due time in milliseconds of the clock. Undefined: not set. Changed by the schedule only. */
  due: number | undefined;
  place = -1;
  readonly ring: (now: number) => void;

  constructor(ring: (now: number) => void) {
    this.ring = ring;
  }
}

/**
 * Runs many alarms on one timer of the clock. Setting an alarm costs log N, and thousands of sessions or addresses need one timer.
 */
export class Schedule {
  readonly #clock: Clock;
  readonly #heap = new Heap<Alarm>(isBefore);
  #cancel: Cancel | undefined;
  /** When the timer of the clock fires. */
  #wakes = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#heap.size;
  }

  /** When the next alarm rings, in milliseconds of the clock. */
  get next(): number {
    return this.#heap.first?.due ?? Infinity;
  }

  /** Sets or moves an alarm. */
  setAlarm(alarm: Alarm, due: number): void {
    alarm.due = due;
    this.#heap.put(alarm);
    this.#wake();
  }

  /** Calls back at intervals until the schedule stops, the first time after `first` milliseconds. */
  every(interval: number, first: number, callback: () => void): void {
    const alarm = new Alarm(() => {
      callback();
      this.setAlarm(alarm, this.#clock.now() + interval);
    });
    this.setAlarm(alarm, this.#clock.now() + first);
  }

  clearAlarm(alarm: Alarm): void {
    this.#remove(alarm);
    // The timer of the clock then fires once without effect, which is cheaper than setting it again.
  }

  stop(): void {
    this.#cancel?.();
    this.#wakes = Infinity;
    for (let alarm = this.#heap.first; alarm !== undefined; alarm = this.#heap.first) this.#remove(alarm);
  }

  #wake(): void {
    const next = this.#heap.first?.due;
    if (next === undefined || next >= this.#wakes) return;
    this.#cancel?.();
    this.#wakes = next;
    this.#cancel = this.#clock.after(Math.max(0, next - this.#clock.now()), this.#ring);
  }

  readonly #ring = (): void => {
    // Alarms that are set in the loop need no timer yet: most often the next alarm rings in the same loop.
    this.#wakes = -Infinity;
    const now = this.#clock.now();
    // An alarm that is set while it rings must be due later, or this loop would not end.
    for (;;) {
      const { first } = this.#heap;
      if (first?.due === undefined || first.due > now) break;
      this.#remove(first);
      first.ring(now);
    }
    this.#wakes = Infinity;
    this.#wake();
  };

  #remove(alarm: Alarm): void {
    this.#heap.remove(alarm);
    alarm.due = undefined;
  }
}

function isBefore(a: Alarm, b: Alarm): boolean {
  return (a.due ?? Infinity) < (b.due ?? Infinity);
}
