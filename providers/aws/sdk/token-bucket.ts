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

/** More requests wait for their turn than there is room for. */
export class QueueFullError extends Error {
  readonly code = 'queue-full';

  constructor() {
    super(`${limits.queuedRequests} requests wait for their turn already`);
    this.name = 'QueueFullError';
  }
}

/** Lets requests pass at a rate, in the order in which they came. AWS counts in the same way, for the whole account. */
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

  /** Resolves when a request may be sent. Rejects when too many wait. */
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

  /** AWS says that its bucket is empty: others of the account draw from it, too. Whoever comes next waits for a token to grow. */
  drain(): void {
    this.#refill();
    this.#tokens = Math.min(this.#tokens, 0);
  }

  /** Whoever waits need not any more. */
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
    // Rounded up, or a timer that is early by a fraction of a millisecond would find a token that lacks a fraction of itself.
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
