import type { Cancel, Clock } from '../../system/clock.ts';

/** Calls with keys when their times have come, to the second: ten thousand for the same second are one timer. */
export class DelayedRequeue<K extends string> {
  readonly #clock: Clock;
  readonly #requeue: (key: K) => void;
  readonly #seconds = new Map<number, { readonly keys: Set<K>; readonly cancel: Cancel }>();

  constructor(clock: Clock, remind: (key: K) => void) {
    this.#clock = clock;
    this.#requeue = remind;
  }

  /** `at` on the scale of the clock's `now`; a time that has passed is the next second. */
  requeueAt(key: K, at: number): void {
    const now = this.#clock.now();
    const second = Math.ceil(Math.max(at, now + 1) / 1000);
    const slot = this.#seconds.get(second);
    if (slot !== undefined) return void slot.keys.add(key);
    const keys = new Set([key]);
    const cancel = this.#clock.after(second * 1000 - now, () => {
      this.#seconds.delete(second);
      for (const one of keys) this.#requeue(one);
    });
    this.#seconds.set(second, { keys, cancel });
  }

  stop(): void {
    for (const { cancel } of this.#seconds.values()) cancel();
    this.#seconds.clear();
  }
}
