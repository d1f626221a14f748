/**
 * Returns the same value for the same key, so that equal values in many objects take the memory of one. Forgets all of them when there are
 * more than `most`: later ones are then values of their own, which only costs memory.
 */
export class SharedValues<V> {
  readonly #values = new Map<string, V>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string, make: (key: string) => V): V {
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    if (this.#values.size >= this.#most) this.#values.clear();
    const value = make(key);
    this.#values.set(key, value);
    return value;
  }
}
