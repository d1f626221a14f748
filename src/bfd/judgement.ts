import type { Clock } from '../system/clock.ts';
import { maximumJudgements } from './limits.ts';

/**
 * A process that stood still finds every peer silent, and what they sent meanwhile is waiting in its sockets: a stall of the receiver must
 * not look like the loss of a peer. So a verdict waits until the event loop has been through the sockets, and while a turn still brings
 * packets, for the next one: libuv takes a few dozen datagrams of a socket in a turn.
 */
export class Judgement<Suspect extends { judge(): void }> {
  readonly #clock: Clock;
  #suspects = new Set<Suspect>();
  #turns = 0;
  #packets = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A packet has come, for whomever. */
  heard(): void {
    this.#packets++;
  }

  suspect(suspect: Suspect): void {
    this.#suspects.add(suspect);
    if (this.#suspects.size > 1) return;
    this.#turns = 0;
    this.#nextTurn();
  }

  acquit(suspect: Suspect): void {
    this.#suspects.delete(suspect);
  }

  #nextTurn(): void {
    this.#packets = 0;
    this.#clock.after(0, () => {
      this.#turns++;
      if (this.#packets > 0 && this.#turns < maximumJudgements) this.#nextTurn();
      else this.#judge();
    });
  }

  #judge(): void {
    const suspects = this.#suspects;
    this.#suspects = new Set();
    for (const suspect of suspects) suspect.judge();
  }
}
