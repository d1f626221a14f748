import type { Clock } from '../../system/clock.ts';
import { limits } from '../limits.ts';

/**
 * Whether the data plane keeps up, as kube-proxy defines it: no change waits for longer than a minute. It begins healthy, so
 * that a node that starts is not taken out for that. Other than kube-proxy, which stays healthy until its first
 * sync however long that takes, the first changes have no more time than the later ones.
 */
export class DataplaneHealth {
  readonly #clock: Clock;
  #oldestWaiting: number | undefined;
  #lastUpdated: Date | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** There is a change that the kernel has not. */
  changeQueued(): void {
    this.#oldestWaiting ??= this.#clock.now();
  }

  /** The kernel has everything that was queued. */
  changesCommitted(): void {
    this.#oldestWaiting = undefined;
    this.#lastUpdated = this.#clock.date();
  }

  get healthy(): boolean {
    return this.#oldestWaiting === undefined || this.#clock.now() - this.#oldestWaiting < limits.syncMilliseconds;
  }

  /** Undefined: nothing was committed yet. */
  get lastUpdated(): Date | undefined {
    return this.#lastUpdated;
  }
}
