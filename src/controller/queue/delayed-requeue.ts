import type { Cancel, Clock } from '../../system/clock.ts';

/** Requeues keys at given times, rounded up to the second: ten thousand keys of one second share one timer. */
export class DelayedRequeue<K extends string> {
  readonly #clock: Clock;
  readonly #requeue: (key: K) => void;
  readonly #seconds = new Map<number, { readonly keys: Set<K>; readonly cancel: Cancel }>();

  constructor(clock: Clock, remind: (key: K) => void) {
    this.#clock = clock;
    this.#requeue = remind;
  }

  /** `at` is on the scale of the clock's `now`. A time in the past means the next second. */
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
