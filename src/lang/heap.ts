/** An item of a heap. Its place is -1 while it is in none, and is changed by the heap only. */
export interface HeapItem {
  place: number;
}

/** A binary heap: the first item is at hand, and adding, moving or removing an item costs log N. */
export class Heap<Item extends HeapItem> {
  readonly #items: Item[] = [];
  readonly #isBefore: (a: Item, b: Item) => boolean;

  constructor(isBefore: (a: Item, b: Item) => boolean) {
    this.#isBefore = isBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  get first(): Item | undefined {
    return this.#items[0];
  }

  /** Adds an item, or moves one whose order has changed. */
  put(item: Item): void {
    if (item.place < 0) this.#set(item, this.#items.length);
    this.#rise(item);
    this.#sink(item);
  }

  /** Removes an item, if it is there. */
  remove(item: Item): void {
    if (item.place < 0) return;
    const last = this.#items.pop();
    if (last !== undefined && last !== item) {
      this.#set(last, item.place);
      this.#rise(last);
      this.#sink(last);
    }
    item.place = -1;
  }

  #set(item: Item, place: number): void {
    this.#items[place] = item;
    item.place = place;
  }

  /** Moves an item towards the root. */
  #rise(item: Item): void {
    while (item.place > 0) {
      const parent = this.#items[(item.place - 1) >> 1];
      if (parent === undefined || !this.#isBefore(item, parent)) return;
      this.#swap(item, parent);
    }
  }

  #sink(item: Item): void {
    for (;;) {
      const [left, right] = [this.#items[2 * item.place + 1], this.#items[2 * item.place + 2]];
      const child = left !== undefined && right !== undefined && this.#isBefore(right, left) ? right : left;
      if (child === undefined || !this.#isBefore(child, item)) return;
      this.#swap(item, child);
    }
  }

  #swap(one: Item, other: Item): void {
    const { place } = one;
    this.#set(one, other.place);
    this.#set(other, place);
  }
}
