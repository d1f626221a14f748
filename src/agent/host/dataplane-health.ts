import type { Clock } from '../../system/clock.ts';
import { limits } from '../limits.ts';

/**
 * Tells whether the data plane keeps up, as kube-proxy defines it: no change waits longer than a minute. It starts healthy, so that load
 * balancers keep a node that starts. kube-proxy stays healthy until its first sync, however long that takes; here the first changes have
 * the same limit as later ones.
 */
export class DataplaneHealth {
  readonly #clock: Clock;
  #oldestWaiting: number | undefined;
  #lastUpdated: Date | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records that a change waits for the kernel. */
  changeQueued(): void {
    this.#oldestWaiting ??= this.#clock.now();
  }

  /** Records that the kernel has all changes. */
  changesCommitted(): void {
    this.#oldestWaiting = undefined;
    this.#lastUpdated = this.#clock.date();
  }

  get healthy(): boolean {
    return this.#oldestWaiting === undefined || this.#clock.now() - this.#oldestWaiting < limits.syncMilliseconds;
  }

  /** Undefined before the first commit. */
  get lastUpdated(): Date | undefined {
    return this.#lastUpdated;
  }
}
