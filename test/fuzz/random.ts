/** Random numbers from a seed (mulberry32). The same seed gives the same numbers on every machine. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns an unsigned number of 32 bits. */
  u32(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }

  /** Returns a whole number from 0 to `bound` - 1. */
  below(bound: number): number {
    return this.u32() % Math.max(1, bound);
  }

  chance(oneIn: number): boolean {
    return this.below(oneIn) === 0;
  }

  pick<T>(list: readonly T[]): T {
    const value = list[this.below(list.length)];
    if (value === undefined) throw new RangeError('nothing to pick from');
    return value;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256));
  }
}
