/** Those who want to hear of something. */
export class Subscribers<T> {
  readonly #listeners = new Set<(value: T) => void>();

  /** The result ends it. */
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
