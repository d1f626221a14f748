/** The intervals that a session advertises, in microseconds. */
export interface Intervals {
  readonly desiredMinTx: number;
  readonly requiredMinRx: number;
}

/**
 * Changes the intervals of a session that is Up (RFC 5880 6.8.3). New intervals are advertised at once, with the Poll bit. The peer may not
 * know them yet, so a slower transmission and a shorter detection time wait for the Final bit.
 */
export class PollSequence {
  #advertised: Intervals;
  #inForce: Intervals;
  /** The intervals to advertise after the running poll: its Final bit confirms nothing that was set later. */
  #wanted: Intervals;
  #polling = false;

  constructor(intervals: Intervals) {
    this.#advertised = this.#inForce = this.#wanted = intervals;
  }

  /** The intervals in sent packets. */
  get advertised(): Intervals {
    return this.#advertised;
  }

  /** The intervals for transmission and for the detection time. */
  get inForce(): Intervals {
    return this.#inForce;
  }

  /** A Poll Sequence is running. */
  get polling(): boolean {
    return this.#polling;
  }

  /** Applies intervals at once, because the session is not Up and the peer relies on none. */
  applyNow(intervals: Intervals): void {
    this.#advertised = this.#inForce = this.#wanted = intervals;
    this.#polling = false;
  }

  /** Changes the intervals by a Poll Sequence, because the session is Up. */
  startPoll(intervals: Intervals): void {
    this.#wanted = intervals;
    if (!this.#polling) this.#poll();
  }

  /** Ends the running poll. Without a poll the Final bit means nothing. */
  finalReceived(): void {
    if (!this.#polling) return;
    this.#polling = false;
    this.#inForce = this.#advertised;
    this.#poll();
  }

  #poll(): void {
    const { desiredMinTx, requiredMinRx } = this.#wanted;
    if (desiredMinTx === this.#advertised.desiredMinTx && requiredMinRx === this.#advertised.requiredMinRx) return;
    this.#polling = true;
    this.#advertised = this.#wanted;
    this.#inForce = {
      desiredMinTx: Math.min(desiredMinTx, this.#inForce.desiredMinTx),
      requiredMinRx: Math.max(requiredMinRx, this.#inForce.requiredMinRx),
    };
  }
}
