/** Does pieces of work one after the other, in the order in which they are asked for; one that fails does not keep the next from its turn. */
export class SerialQueue {
  /** The work before this has ended, well or not. */
  #tail: Promise<unknown> = Promise.resolve();

  /** Resolves and rejects as the work does. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(work);
    this.#tail = result.catch(() => undefined);
    return result;
  }

  /** Resolves when all work that was asked for before has ended. Never rejects. */
  async idle(): Promise<void> {
    await this.#tail;
  }
}
