import type { Cancel, Clock } from './clock.ts';

/** An alarm of a Schedule. It can be set many times. */
export class Alarm {
  /** Due time in milliseconds of the clock. Undefined: not set. Changed by the schedule only. */
  due: number | undefined;
  /** Place in the heap. Changed by the schedule only. */
  place = -1;
  readonly ring: (now: number) => void;

  constructor(ring: (now: number) => void) {
    this.ring = ring;
  }
}

/**
 * Runs many alarms on one timer of the clock. It is a binary heap: setting an alarm costs log N, and thousands of sessions or addresses
 * need one timer.
 */
export class Schedule {
  readonly #clock: Clock;
  readonly #heap: Alarm[] = [];
  #cancel: Cancel | undefined;
  /** When the timer of the clock fires. */
  #wakes = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#heap.length;
  }

  /** When the next alarm rings, in milliseconds of the clock. */
  get next(): number {
    return this.#heap[0]?.due ?? Infinity;
  }

  /** Sets or moves an alarm. */
  setAlarm(alarm: Alarm, due: number): void {
    alarm.due = due;
    if (alarm.place < 0) {
      alarm.place = this.#heap.length;
      this.#heap.push(alarm);
    }
    this.#sink(this.#rise(alarm.place));
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
    if (alarm.place < 0) return;
    this.#remove(alarm);
    // The timer of the clock then fires once without effect, which is cheaper than setting it again.
  }

  stop(): void {
    this.#cancel?.();
    this.#wakes = Infinity;
    for (const alarm of this.#heap.splice(0)) {
      alarm.place = -1;
      alarm.due = undefined;
    }
  }

  #wake(): void {
    const next = this.#heap[0]?.due;
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
      const first = this.#heap[0];
      if (first?.due === undefined || first.due > now) break;
      this.#remove(first);
      first.ring(now);
    }
    this.#wakes = Infinity;
    this.#wake();
  };

  #remove(alarm: Alarm): void {
    const last = this.#heap.pop();
    if (last !== undefined && last !== alarm) {
      this.#heap[alarm.place] = last;
      last.place = alarm.place;
      this.#sink(this.#rise(last.place));
    }
    alarm.place = -1;
    alarm.due = undefined;
  }

  /** Moves an alarm towards the root. Returns its new place. */
  #rise(place: number): number {
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!this.#before(place, parent)) break;
      this.#swap(place, parent);
      place = parent;
    }
    return place;
  }

  #sink(place: number): void {
    for (;;) {
      const left = 2 * place + 1;
      const child = left + 1 < this.#heap.length && this.#before(left + 1, left) ? left + 1 : left;
      if (child >= this.#heap.length || !this.#before(child, place)) return;
      this.#swap(place, child);
      place = child;
    }
  }

  #before(a: number, b: number): boolean {
    return (this.#heap[a]?.due ?? Infinity) < (this.#heap[b]?.due ?? Infinity);
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#heap[a], this.#heap[b]];
    if (first === undefined || second === undefined) return;
    this.#heap[a] = second;
    this.#heap[b] = first;
    second.place = a;
    first.place = b;
  }
}
