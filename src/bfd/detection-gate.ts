import type { Clock } from '../system/clock.ts';
import { maximumDetectionTurns } from './limits.ts';

/**
 * Delays the expiry of detection times until the sockets are drained. After a stall of this process every peer seems silent, but the
 * packets of the peers wait in the sockets. The gate therefore waits for one turn of the event loop, and for another one as long as a turn
 * still brings packets: libuv reads a few dozen datagrams of a socket per turn.
 */
export class DetectionGate<Session extends { expireDetection(): void }> {
  readonly #clock: Clock;
  #deferred = new Set<Session>();
  #turns = 0;
  #packets = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records that a packet of any session arrived. */
  packetReceived(): void {
    this.#packets++;
  }

  /** The expiry of a session is delayed. */
  get isWaiting(): boolean {
    return this.#deferred.size > 0;
  }

  defer(session: Session): void {
    this.#deferred.add(session);
    if (this.#deferred.size > 1) return;
    this.#turns = 0;
    this.#nextTurn();
  }

  cancel(session: Session): void {
    this.#deferred.delete(session);
  }

  #nextTurn(): void {
    this.#packets = 0;
    this.#clock.after(0, () => {
      this.#turns++;
      if (this.#packets > 0 && this.#turns < maximumDetectionTurns) this.#nextTurn();
      else this.#release();
    });
  }

  #release(): void {
    const deferred = this.#deferred;
    this.#deferred = new Set();
    for (const session of deferred) session.expireDetection();
  }
}
