/** Runs asynchronous work one piece at a time, in the order it was queued. A failure does not stop the pieces after it. */
export class SerialQueue {
  /** Resolves when all queued work has ended, whether it succeeded or failed. */
  #tail: Promise<unknown> = Promise.resolve();

  /** Queues the work and returns its result. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(work);
    this.#tail = result.catch(() => undefined);
    return result;
  }

  /** Resolves when all work queued so far has ended. Never rejects. */
  async idle(): Promise<void> {
    await this.#tail;
  }
}
