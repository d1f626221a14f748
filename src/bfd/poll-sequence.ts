/** What a session says of its timing, in microseconds. */
export interface Intervals {
  readonly desiredMinTx: number;
  readonly requiredMinRx: number;
}

/**
 * Changes of a session's intervals while it is Up (RFC 5880 6.8.3). The new ones are said at once, with the Poll bit, but neither side
 * may count on what the other has not heard: until Final comes a slower transmission and a shorter detection time wait.
 */
export class PollSequence {
  #advertised: Intervals;
  #inForce: Intervals;
  /** What is to be advertised when the running poll has ended: an answer tells nothing about values that came after its question. */
  #wanted: Intervals;
  #polling = false;

  constructor(intervals: Intervals) {
    this.#advertised = this.#inForce = this.#wanted = intervals;
  }

  /** In the packets that we send. */
  get advertised(): Intervals {
    return this.#advertised;
  }

  /** By which we send, and by which the detection time is reckoned. */
  get inForce(): Intervals {
    return this.#inForce;
  }

  /** Whether a Poll Sequence is running. */
  get polling(): boolean {
    return this.#polling;
  }

  /** The peer expects nothing of us: what we say counts at once. */
  applyNow(intervals: Intervals): void {
    this.#advertised = this.#inForce = this.#wanted = intervals;
    this.#polling = false;
  }

  /** The session is Up: the change goes through a Poll Sequence. */
  startPoll(intervals: Intervals): void {
    this.#wanted = intervals;
    if (!this.#polling) this.#poll();
  }

  /** The peer has answered; without a poll that means nothing. */
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
