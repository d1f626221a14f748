import type { Clock } from '../../../system/clock.ts';
import { gatheringInterval, longestSlot } from '../../limits.ts';

/**
 * Lets datagrams gather in the sockets while many arrive. Waking the thread costs more than handling a packet, so it then wakes once for the
 * packets of a slot. It blocks, because neither Node nor libuv can leave a readable socket alone for a while.
 */
export class Gathering {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #never = new Int32Array(new SharedArrayBuffer(4));
  #ended = -Infinity;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /**
   * Blocks the thread for these milliseconds if the latest datagrams were received less than a slot ago. If they were received in this turn
   * of the event loop it does not block, because timers and messages of the main thread wait too.
   */
  wait(milliseconds: number): void {
    const passed = this.#clock.now() - this.#ended;
    if (milliseconds > 0 && passed > gatheringInterval && passed < longestSlot) Atomics.wait(this.#never, 0, 0, milliseconds);
  }

  /** The datagrams that waited have been handled. */
  ended(): void {
    this.#ended = this.#clock.now();
  }
}
