/** An item of a stream. `lost` stands in place of dropped events and has their number. */
export type Streamed<E> = E | { readonly type: 'lost'; readonly count: number };

interface StreamBounds<E extends object> {
  /** Number of events kept for a slow reader. Beyond it the oldest is dropped. */
  readonly count: number;
  /** Octets kept, counted by `octetsOf`. Default: no limit. */
  readonly octets?: number;
  readonly octetsOf?: (event: E) => number;
  /** Called once, when the stream ends. */
  readonly onEnd: (stream: EventStream<E>) => void;
}

/** A stream of events in order. Each event goes to one reader. */
export class EventStream<E extends object> implements AsyncIterableIterator<Streamed<E>, undefined> {
  readonly #bounds: StreamBounds<E>;
  readonly #signal: AbortSignal | undefined;
  readonly #queue: E[] = [];
  /** Octets in the queue. */
  #held = 0;
  readonly #takers: PromiseWithResolvers<IteratorResult<Streamed<E>, undefined>>[] = [];
  #lost = 0;
  #done = false;
  /** Thrown once; after that the stream is at its end. */
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

  /** Ends the stream. Queued events can still be read. */
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

  /** Ends the stream and drops the queue, when a `for await` loop is left. */
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
