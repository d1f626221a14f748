const minute = 60_000;

/** Counts the answers for an address in two buckets of a minute each, so that a count costs the same for any rate. */
export class AnswerRate {
  #minute = 0;
  #present = 0;
  #previous = 0;

  /** `now` is in milliseconds of a clock that never goes back. */
  add(now: number): void {
    this.#turn(now);
    this.#present++;
  }

  /** Returns the answers in the minute before `now`, as if those of the previous bucket were spread evenly over it. */
  perMinute(now: number): number {
    this.#turn(now);
    return Math.round(this.#present + this.#previous * (1 - (now % minute) / minute));
  }

  #turn(now: number): void {
    const at = Math.floor(now / minute);
    if (at === this.#minute) return;
    this.#previous = at === this.#minute + 1 ? this.#present : 0;
    this.#present = 0;
    this.#minute = at;
  }
}
