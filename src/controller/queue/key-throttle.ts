import type { Cancel, Clock } from '../../system/clock.ts';

/** Runs each key at most once per interval: at once if its last run is longer ago than that, else at the end of the interval. */
export class KeyThrottle<K extends string> {
  readonly #clock: Clock;
  readonly #milliseconds: number;
  readonly #run: (key: K) => void;
  readonly #lastRuns = new Map<K, number>();
  readonly #waiting = new Map<K, Cancel>();

  constructor(clock: Clock, milliseconds: number, go: (key: K) => void) {
    this.#clock = clock;
    this.#milliseconds = milliseconds;
    this.#run = go;
  }

  trigger(key: K): void {
    if (this.#waiting.has(key)) return;
    const now = this.#clock.now();
    const due = (this.#lastRuns.get(key) ?? Number.NEGATIVE_INFINITY) + this.#milliseconds;
    if (due <= now) return this.#runNow(key);
    const cancel = this.#clock.after(due - now, () => {
      this.#waiting.delete(key);
      this.#runNow(key);
    });
    this.#waiting.set(key, cancel);
  }

  forgetKey(key: K): void {
    this.#waiting.get(key)?.();
    this.#waiting.delete(key);
    this.#lastRuns.delete(key);
  }

  stop(): void {
    for (const cancel of this.#waiting.values()) cancel();
    this.#waiting.clear();
  }

  #runNow(key: K): void {
    this.#lastRuns.set(key, this.#clock.now());
    this.#run(key);
  }
}
