import type { Peer } from '../../bgp/index.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import { limits } from '../limits.ts';

/** Finds out when the peers have sent their routes. Until then routes of an earlier process stay in the kernel. */
export class SettledPeers {
  readonly #clock: Clock;
  readonly #onSettled: () => void;
  readonly #waiting = new Map<Peer, Cancel>();
  #cancelLimit: Cancel | undefined;
  #isSettled = false;

  /** `onSettled` is called once. */
  constructor(clock: Clock, onSettled: () => void) {
    this.#clock = clock;
    this.#onSettled = onSettled;
  }

  /** Takes the peers with `import`, when the sessions of the node are known. */
  reconcile(peers: ReadonlySet<Peer>): void {
    if (this.#isSettled) return;
    if (this.#cancelLimit === undefined) {
      this.#cancelLimit = this.#clock.after(limits.receivedAdoptMilliseconds, () => this.#settle());
      for (const peer of peers) this.#waiting.set(peer, this.#follow(peer));
    }
    for (const peer of this.#waiting.keys()) if (!peers.has(peer)) this.#hasSent(peer);
    if (this.#waiting.size === 0) this.#settle();
  }

  stop(): void {
    this.#isSettled = true;
    this.#cancelLimit?.();
    for (const cancel of this.#waiting.values()) cancel();
    this.#waiting.clear();
  }

  /**
   * A session that has been up for a while has brought the routes; End-of-RIB would come earlier, and only from peers with graceful restart.
   * Routers may end the first session once more, because BFD of this process began anew as well.
   */
  #follow(peer: Peer): Cancel {
    let cancelPause: Cancel = () => undefined;
    const ends = [
      peer.on('established', () => {
        cancelPause();
        cancelPause = this.#clock.after(limits.receivedSettleMilliseconds, () => this.#hasSent(peer));
      }),
      peer.on('down', () => cancelPause()),
    ];
    return () => {
      cancelPause();
      for (const end of ends) end();
    };
  }

  #hasSent(peer: Peer): void {
    this.#waiting.get(peer)?.();
    this.#waiting.delete(peer);
    if (this.#waiting.size === 0) this.#settle();
  }

  #settle(): void {
    if (this.#isSettled) return;
    this.stop();
    this.#onSettled();
  }
}
