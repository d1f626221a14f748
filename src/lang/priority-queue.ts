/** Of so many turns, one goes to the item that has waited longest, whatever its rank. */
export const turnsPerOldest = 8;

interface Turn<Item> {
  readonly item: Item;
  readonly rank: number;
}

/**
 * A queue of items that wait for their turn: those of a lower rank first, those of one rank in their order of arrival. No item waits for ever,
 * because every eighth turn goes to the oldest one: an item that finds n others in the queue has its turn after at most 8 × (n + 1) turns,
 * whatever comes later.
 */
export class PriorityQueue<Item> {
  /** By rank: the items with the number of their arrival. */
  readonly #ranks = new Map<number, Map<Item, number>>();
  #arrivals = 0;
  /** Turns since the last one of an oldest item. */
  #turns = 0;

  get size(): number {
    return this.#ranks.values().reduce((sum, items) => sum + items.size, 0);
  }

  /** All items, in no order. */
  *[Symbol.iterator](): Iterator<Item> {
    for (const items of this.#ranks.values()) yield* items.keys();
  }

  rankOf(item: Item): number | undefined {
    return this.#ranks.entries().find(([, items]) => items.has(item))?.[0];
  }

  /** Adds an item that is not in the queue. */
  add(item: Item, rank: number): void {
    const items = this.#ranks.get(rank);
    const arrival = this.#arrivals++;
    if (items !== undefined) items.set(item, arrival);
    else this.#ranks.set(rank, new Map([[item, arrival]]));
  }

  delete(item: Item): void {
    for (const items of this.#ranks.values()) items.delete(item);
  }

  clear(): void {
    this.#ranks.clear();
  }

  /** The item whose turn is next, among those of the ranks that may have one now. */
  next(mayHaveTurn: (rank: number) => boolean = () => true): Turn<Item> | undefined {
    const isForOldest = this.#turns === turnsPerOldest - 1;
    let next: Turn<Item> | undefined;
    let best = Infinity;
    for (const [rank, items] of this.#ranks) {
      const [first] = items;
      if (first === undefined) continue;
      const [item, arrival] = first;
      const order = isForOldest ? arrival : rank;
      if (order < best && mayHaveTurn(rank)) [next, best] = [{ item, rank }, order];
    }
    return next;
  }

  /** Gives the next item its turn: removes and returns it. */
  take(mayHaveTurn?: (rank: number) => boolean): Turn<Item> | undefined {
    const next = this.next(mayHaveTurn);
    if (next === undefined) return undefined;
    this.delete(next.item);
    this.#turns = (this.#turns + 1) % turnsPerOldest;
    return next;
  }
}
