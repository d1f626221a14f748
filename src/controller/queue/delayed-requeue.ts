import type { Cancel, Clock } from '../../system/clock.ts';

/** Requeues keys at given times, rounded up to a step: ten thousand keys of one step share one timer. */
export class DelayedRequeue<K extends string> {
  readonly #clock: Clock;
  readonly #requeue: (key: K) => void;
  readonly #step: number;
  readonly #steps = new Map<number, { readonly keys: Set<K>; readonly cancel: Cancel }>();

  constructor(clock: Clock, requeue: (key: K) => void, stepMilliseconds = 1000) {
    this.#clock = clock;
    this.#requeue = requeue;
    this.#step = stepMilliseconds;
  }

  /** `at` is on the scale of the clock's `now`. A time in the past means the next step. */
  requeueAt(key: K, at: number): void {
    const now = this.#clock.now();
    const step = Math.ceil(Math.max(at, now + 1) / this.#step);
    const slot = this.#steps.get(step);
    if (slot !== undefined) return void slot.keys.add(key);
    const keys = new Set([key]);
    const cancel = this.#clock.after(step * this.#step - now, () => {
      this.#steps.delete(step);
      for (const one of keys) this.#requeue(one);
    });
    this.#steps.set(step, { keys, cancel });
  }

  stop(): void {
    for (const { cancel } of this.#steps.values()) cancel();
    this.#steps.clear();
  }
}
