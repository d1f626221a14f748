/**
 * A set in order of arrival whose first item is found at once. The iterator of a Set passes over the places of all items that were deleted
 * from its front, so a long line that is taken from its front would cost the square of its length.
 */
export class FifoSet<Item> {
  readonly #items = new Set<Item>();
  /** Goes on where it is, also past items that were added since. All items before it have been deleted, except for `#first`. */
  #rest: Iterator<Item> = this.#items.values();
  #first: IteratorResult<Item> | undefined;

  get size(): number {
    return this.#items.size;
  }

  has(item: Item): boolean {
    return this.#items.has(item);
  }

  /** An item that is there keeps its place. */
  add(item: Item): void {
    this.#items.add(item);
  }

  delete(item: Item): void {
    this.#items.delete(item);
    if (this.#first?.value === item) this.#first = undefined;
  }

  clear(): void {
    this.#items.clear();
    this.#first = undefined;
  }

  /** Returns the first item and leaves it there. Undefined when there is none. */
  first(): Item | undefined {
    if (this.#items.size === 0) return undefined;
    this.#first ??= this.#next();
    return this.#first.value as Item;
  }

  [Symbol.iterator](): Iterator<Item> {
    return this.#items.values();
  }

  /** An iterator that has reached the end stays there, so the next one begins anew. */
  #next(): IteratorResult<Item> {
    const next = this.#rest.next();
    if (next.done !== true) return next;
    this.#rest = this.#items.values();
    return this.#rest.next();
  }
}
