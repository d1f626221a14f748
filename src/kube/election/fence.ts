import { sharedMicroseconds, type Clock } from '../../system/clock.ts';

/**
 * Until when writes may begin, in memory that threads share: the one that renews the Lease sets it, and the one that writes asks it without
 * waiting for a message.
 */
export class Fence {
  readonly memory: SharedArrayBuffer;
  /** Microseconds on the monotonic scale of all threads, and milliseconds by the wall clock. */
  readonly #until: BigInt64Array;

  constructor(memory = new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#until = new BigInt64Array(memory);
  }

  /** `until` is in milliseconds of `clock`. Undefined: nothing may be written. */
  set(until: { readonly now: number; readonly date: number } | undefined, clock: Pick<Clock, 'now'>): void {
    const left = until === undefined ? 0 : Math.floor((until.now - clock.now()) * 1000);
    Atomics.store(this.#until, 0, until === undefined ? 0n : sharedMicroseconds() + BigInt(left));
    Atomics.store(this.#until, 1, BigInt(Math.floor(until?.date ?? 0)));
  }

  /** True when a write may begin. Both clocks must agree: the monotonic one may stop while a virtual machine is paused. */
  isOpen(clock: Pick<Clock, 'date'>): boolean {
    return sharedMicroseconds() < Atomics.load(this.#until, 0) && BigInt(clock.date().getTime()) < Atomics.load(this.#until, 1);
  }
}
