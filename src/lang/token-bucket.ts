export interface TokenBucketSize {
  /** Tokens that a full bucket holds. */
  readonly burst: number;
  /** Time until the next token. */
  readonly refillMilliseconds: number;
}

/** Limits a rate: it is full at first, and allows as many events as it holds tokens. Times are milliseconds of one clock. */
export class TokenBucket {
  readonly #size: TokenBucketSize;
  #tokens: number;
  #countedAt = Number.NEGATIVE_INFINITY;

  constructor(size: TokenBucketSize) {
    this.#size = size;
    this.#tokens = size.burst;
  }

  /** Takes a token. Returns false, and takes none, if there is none. */
  take(now: number): boolean {
    if (this.#count(now) < 1) return false;
    this.#tokens--;
    return true;
  }

  /** Takes a token, or what there is of one. */
  spend(now: number): void {
    this.#tokens = Math.max(0, this.#count(now) - 1);
  }

  /** Returns when the next event may happen. `spared` tokens are left to other events. */
  dueAt(now: number, spared = 0): number {
    return now + Math.max(0, 1 + spared - this.#count(now)) * this.#size.refillMilliseconds;
  }

  /** True if nothing was taken recently. */
  isFull(now: number): boolean {
    return this.#count(now) >= this.#size.burst;
  }

  #count(now: number): number {
    const { burst, refillMilliseconds } = this.#size;
    this.#tokens = Math.min(burst, this.#tokens + Math.max(0, now - this.#countedAt) / refillMilliseconds);
    this.#countedAt = now;
    return this.#tokens;
  }
}
