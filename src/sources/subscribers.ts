/** A list of listeners for values. */
export class Subscribers<T> {
  readonly #listeners = new Set<(value: T) => void>();

  /** The result unsubscribes. */
  subscribe(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  notify(value: T): void {
    for (const listener of this.#listeners) listener(value);
  }

  clear(): void {
    this.#listeners.clear();
  }
}
