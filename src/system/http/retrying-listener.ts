import type { Cancel, Clock } from '../clock.ts';
import { ListenError } from './http-listener.ts';

export interface RetryingListenerOptions {
  /** Rejects with ListenError. */
  readonly listen: () => Promise<{ close(): Promise<void> }>;
  readonly retryMilliseconds: number;
  /** Called when `problem` has changed, unless it is closed. */
  readonly onProblemChanged: (problem: string | undefined) => void;
  /** An error that is no problem. It is tried again all the same. */
  readonly isExpected?: (error: ListenError) => boolean;
  /** Waited for before the first attempt. It does not reject. */
  readonly after?: Promise<unknown>;
}

/** A place that is listened on as soon as it can be: while another program has it, it is tried again and again. */
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
    this.#attempt = this.#begin();
  }

  /** Why nothing listens; undefined: it does, or it was not tried yet, or that was to be expected. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Resolves when the place is free. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    await this.#attempt;
    await this.#listener?.close();
  }

  async #begin(): Promise<void> {
    await this.#options.after;
    await this.#listen();
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
