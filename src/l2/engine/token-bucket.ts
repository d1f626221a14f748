/** Allows so many events a second, and so many at once. Times are milliseconds of the clock. */
export class TokenBucket {
  readonly #perMillisecond: number;
  readonly #burst: number;
  #tokens: number;
  #at: number;

  constructor(perSecond: number, burst: number, now: number) {
    this.#perMillisecond = perSecond / 1000;
    this.#burst = burst;
    this.#tokens = burst;
    this.#at = now;
  }

  /** Takes tokens. Returns false, and takes none, if there are too few. */
  take(now: number, count = 1): boolean {
    this.#tokens = Math.min(this.#burst, this.#tokens + Math.max(0, now - this.#at) * this.#perMillisecond);
    this.#at = now;
    if (this.#tokens < count) return false;
    this.#tokens -= count;
    return true;
  }

  /** True if nothing was taken recently. */
  isFull(now: number): boolean {
    return this.#tokens + (now - this.#at) * this.#perMillisecond >= this.#burst;
  }
}
