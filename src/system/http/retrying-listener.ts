import type { Cancel, Clock } from '../clock.ts';
import { ListenError } from './http-listener.ts';

export interface RetryingListenerOptions {
  /** Rejects with ListenError. */
  readonly listen: () => Promise<{ close(): Promise<void> }>;
  readonly retryMilliseconds: number;
  /** Called with the new problem whenever `problem` changes, until the listener is closed. */
  readonly onProblemChanged: (problem: string | undefined) => void;
  /** True for an error that is not reported as a problem. The listener retries all the same. */
  readonly isExpected?: (error: ListenError) => boolean;
  /** The first attempt waits for this promise, which must not reject. */
  readonly after?: Promise<unknown>;
}

/** Listens as soon as the address is free, and retries at an interval while another program uses it. */
export class RetryingListener {
  readonly #clock: Clock;
  readonly #options: RetryingListenerOptions;
  #listener: { close(): Promise<void> } | undefined;
  #attempt: Promise<void>;
  #cancel: Cancel | undefined;
  #problem: string | undefined;
  #closed = false;

  constructor(clock: Clock, options: RetryingListenerOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#attempt = Promise.resolve(options.after).then(() => this.#listen());
  }

  /** Why the listener is not listening. Undefined while it listens, before the first attempt, and after an expected error. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Stops retrying and closes the listener. Resolves when the address is free. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    await this.#attempt;
    await this.#listener?.close();
  }

  async #listen(): Promise<void> {
    const { listen, retryMilliseconds, onProblemChanged: changed, isExpected } = this.#options;
    if (this.#closed) return;
    const before = this.#problem;
    try {
      this.#listener = await listen();
      this.#problem = undefined;
    } catch (error) {
      if (!(error instanceof ListenError)) throw error;
      this.#problem = isExpected?.(error) === true ? undefined : error.message;
      if (this.#closed) return;
      this.#cancel = this.#clock.after(retryMilliseconds, () => {
        this.#attempt = this.#listen();
      });
    }
    if (!this.#closed && this.#problem !== before) changed(this.#problem);
  }
}
