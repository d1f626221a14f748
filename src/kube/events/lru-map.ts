/** A bounded map. When it is full, the least recently used entry goes. */
export class LruMap<K, V> {
  readonly #entries = new Map<K, V>();
  /** All entries before it are gone: an entry that is used moves to the end, and the one that it yields is deleted. */
  readonly #oldest: Iterator<K> = this.#entries.keys();
  readonly #bound: number;

  constructor(bound: number) {
    this.#bound = bound;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Counts as use. */
  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#bound) return;
    const oldest = this.#oldest.next();
    if (oldest.done !== true) this.#entries.delete(oldest.value);
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }

  entries(): [K, V][] {
    return [...this.#entries];
  }
}
