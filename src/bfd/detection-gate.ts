import type { Clock } from '../system/clock.ts';
import { maximumDetectionTurns } from './limits.ts';

/**
 * A process that stood still finds every peer silent, and what they sent meanwhile is waiting in its sockets: a stall of the receiver must
 * not look like the loss of a peer. So a verdict waits until the event loop has been through the sockets, and while a turn still brings
 * packets, for the next one: libuv takes a few dozen datagrams of a socket in a turn.
 */
export class DetectionGate<Session extends { expireDetection(): void }> {
  readonly #clock: Clock;
  #deferred = new Set<Session>();
  #turns = 0;
  #packets = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A packet has come, for whomever. */
  packetReceived(): void {
    this.#packets++;
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
