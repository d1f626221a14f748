/** What a stream yields: `lost` says in its place how many events were dropped because nobody took them. */
export type Streamed<E> = E | { readonly type: 'lost'; readonly count: number };

interface StreamBounds<E extends object> {
  /** Events that are kept for a program that does not take them; then the oldest goes. */
  readonly count: number;
  /** Octets of them, as `octetsOf` counts. Default: any number. */
  readonly octets?: number;
  readonly octetsOf?: (event: E) => number;
  /** Called once, when the stream ends. */
  readonly onEnd: (stream: EventStream<E>) => void;
}

/** Events in order, taken one by one; each goes to one taker. */
export class EventStream<E extends object> implements AsyncIterableIterator<Streamed<E>, undefined> {
  readonly #bounds: StreamBounds<E>;
  readonly #signal: AbortSignal | undefined;
  readonly #queue: E[] = [];
  /** Octets of what is queued. */
  #held = 0;
  readonly #takers: PromiseWithResolvers<IteratorResult<Streamed<E>, undefined>>[] = [];
  #lost = 0;
  #done = false;
  /** Thrown once, then the stream is at its end. */
  #failure: { readonly reason: unknown } | undefined;

  constructor(bounds: StreamBounds<E>, signal: AbortSignal | undefined) {
    this.#bounds = bounds;
    this.#signal = signal;
    if (signal?.aborted === true) this.#abort();
    else signal?.addEventListener('abort', this.#abort, { once: true });
  }

  get done(): boolean {
    return this.#done;
  }

  push(event: E): void {
    const taker = this.#takers.shift();
    if (taker !== undefined) {
      taker.resolve({ done: false, value: event });
      return;
    }
    const { count, octets = Infinity } = this.#bounds;
    this.#queue.push(event);
    this.#held += this.#octetsOf(event);
    while (this.#queue.length > count || this.#held > octets) {
      if (this.#take() === undefined) return;
      this.#lost++;
    }
  }

  /** No more will come; what is queued can still be taken. */
  finish(): void {
    if (this.#done) return;
    this.#done = true;
    this.#signal?.removeEventListener('abort', this.#abort);
    this.#bounds.onEnd(this);
    const [first, ...others] = this.#takers.splice(0);
    if (this.#failure !== undefined && first !== undefined) first.reject(this.#takeFailure());
    else first?.resolve({ done: true, value: undefined });
    for (const taker of others) taker.resolve({ done: true, value: undefined });
  }

  next(): Promise<IteratorResult<Streamed<E>, undefined>> {
    if (this.#failure !== undefined) return Promise.reject(this.#takeFailure());
    if (this.#lost > 0) {
      const count = this.#lost;
      this.#lost = 0;
      return Promise.resolve({ done: false, value: { type: 'lost', count } });
    }
    const value = this.#take();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#done) return Promise.resolve({ done: true, value: undefined });
    const taker = Promise.withResolvers<IteratorResult<Streamed<E>, undefined>>();
    this.#takers.push(taker);
    return taker.promise;
  }

  /** Leaving a `for await` ends the stream, and what is queued is forgotten. */
  return(): Promise<IteratorResult<Streamed<E>, undefined>> {
    this.#clearQueue();
    this.finish();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  readonly #abort = (): void => {
    this.#failure = { reason: this.#signal?.reason };
    this.#clearQueue();
    this.finish();
  };

  #take(): E | undefined {
    const event = this.#queue.shift();
    if (event !== undefined) this.#held -= this.#octetsOf(event);
    return event;
  }

  #octetsOf(event: E): number {
    return this.#bounds.octetsOf?.(event) ?? 0;
  }

  #clearQueue(): void {
    this.#queue.length = 0;
    this.#held = 0;
    this.#lost = 0;
  }

  #takeFailure(): unknown {
    const reason = this.#failure?.reason;
    this.#failure = undefined;
    return reason;
  }
}
