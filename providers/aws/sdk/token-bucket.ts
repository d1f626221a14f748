import { PriorityQueue } from '../../../src/lang/priority-queue.ts';
import type { Cancel, Clock } from '../../../src/system/clock.ts';
import { limits } from './limits.ts';

export interface Rate {
  /** Requests that may be sent at once after a quiet time. */
  readonly burst: number;
  readonly perSecond: number;
}

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (reason: Error) => void;
}

/** Too many requests already wait for their turn. */
export class QueueFullError extends Error {
  readonly code = 'queue-full';

  constructor() {
    super(`${limits.queuedRequests} requests already wait for their turn`);
    this.name = 'QueueFullError';
  }
}

/**
 * Lets requests pass at a rate, in the order of PriorityQueue. The rate adapts to AWS, because
 * other programs in the account use the same limits: it halves when AWS throttles, and grows again by a fixed step per second until it is
 * back at the first rate.
 */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #rate: Rate;
  readonly #waiting = new PriorityQueue<Waiting>();
  #perSecond: number;
  #tokens: number;
  #counted: number;
  #halvedAt = Number.NEGATIVE_INFINITY;
  #cancel: Cancel | undefined;

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
    this.#perSecond = rate.perSecond;
    this.#tokens = rate.burst;
    this.#counted = clock.now();
  }

  /** Requests per second at present. */
  get perSecond(): number {
    this.#refill();
    return this.#perSecond;
  }

  /** Resolves when a request may be sent. Rejects if too many requests wait. */
  async take(rank = 0): Promise<void> {
    this.#refill();
    if (this.#waiting.size === 0 && this.#tokens >= 1) {
      this.#tokens -= 1;
      return;
    }
    if (this.#waiting.size >= limits.queuedRequests) throw new QueueFullError();
    await new Promise<void>((resolve, reject) => {
      this.#waiting.add({ resolve, reject }, rank);
      this.#arm();
    });
  }

  /**
   * AWS has throttled a request that was sent at `sentAt`: empties the bucket and halves the rate. Requests sent together are throttled
   * together, so those that were sent before the last halving do not halve the rate again.
   */
  throttled(sentAt: number): void {
    this.#refill();
    this.#tokens = Math.min(this.#tokens, 0);
    if (sentAt >= this.#halvedAt) {
      this.#perSecond = Math.max(limits.slowestPerSecond, this.#perSecond / 2);
      this.#halvedAt = this.#clock.now();
    }
    this.#cancel?.();
    this.#cancel = undefined;
    this.#arm();
  }

  /** Rejects all waiting requests. */
  rejectWaiting(reason: Error): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const all = [...this.#waiting];
    this.#waiting.clear();
    for (const { reject } of all) reject(reason);
  }

  #refill(): void {
    const now = this.#clock.now();
    const seconds = (now - this.#counted) / 1000;
    this.#tokens = Math.min(this.#rate.burst, this.#tokens + seconds * this.#perSecond);
    this.#perSecond = Math.min(this.#rate.perSecond, this.#perSecond + (seconds * this.#rate.perSecond) / limits.recoverySeconds);
    this.#counted = now;
  }

  #arm(): void {
    if (this.#cancel !== undefined || this.#waiting.size === 0) return;
    // Rounded up, because a timer that fires a fraction of a millisecond early would find an incomplete token.
    const missing = Math.ceil(((1 - this.#tokens) / this.#perSecond) * 1000);
    this.#cancel = this.#clock.after(Math.max(1, missing), () => {
      this.#cancel = undefined;
      this.#refill();
      while (this.#tokens >= 1 && this.#waiting.size > 0) {
        this.#tokens -= 1;
        this.#waiting.take()?.item.resolve();
      }
      this.#arm();
    });
  }
}
