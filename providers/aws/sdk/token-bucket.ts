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

/** Lets requests pass at a fixed rate, in their order of arrival. AWS limits the whole account in the same way. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #rate: Rate;
  readonly #waiting: Waiting[] = [];
  #tokens: number;
  #counted: number;
  #cancel: Cancel | undefined;

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
    this.#tokens = rate.burst;
    this.#counted = clock.now();
  }

  /** Resolves when a request may be sent. Rejects if too many requests wait. */
  async take(): Promise<void> {
    this.#refill();
    if (this.#waiting.length === 0 && this.#tokens >= 1) {
      this.#tokens -= 1;
      return;
    }
    if (this.#waiting.length >= limits.queuedRequests) throw new QueueFullError();
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#arm();
    });
  }

  /**
   * Empties the bucket, because AWS reports that its own is empty: other programs in the account use it too. The next request waits until a
   * token is available.
   */
  drain(): void {
    this.#refill();
    this.#tokens = Math.min(this.#tokens, 0);
  }

  /** Rejects all waiting requests. */
  rejectWaiting(reason: Error): void {
    this.#cancel?.();
    this.#cancel = undefined;
    for (const { reject } of this.#waiting.splice(0)) reject(reason);
  }

  #refill(): void {
    const now = this.#clock.now();
    this.#tokens = Math.min(this.#rate.burst, this.#tokens + ((now - this.#counted) / 1000) * this.#rate.perSecond);
    this.#counted = now;
  }

  #arm(): void {
    if (this.#cancel !== undefined || this.#waiting.length === 0) return;
    // Rounded up, because a timer that fires a fraction of a millisecond early would find an incomplete token.
    const missing = Math.ceil(((1 - this.#tokens) / this.#rate.perSecond) * 1000);
    this.#cancel = this.#clock.after(Math.max(1, missing), () => {
      this.#cancel = undefined;
      this.#refill();
      while (this.#tokens >= 1 && this.#waiting.length > 0) {
        this.#tokens -= 1;
        this.#waiting.shift()?.resolve();
      }
      this.#arm();
    });
  }
}
