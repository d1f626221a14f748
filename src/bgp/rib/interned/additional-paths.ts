/** No slot: of a prefix or path that is not in the table. */
export const noSlot = -1;

/** The path identifier of a route that names none. It is also the smallest. */
export const firstPathId = 1;

/** In place of a path identifier: the slot has the first path of its prefix. */
const isFirst = 0;

/**
 * The slots of paths with another identifier than the first (RFC 7911). The path with the first identifier has the ordinary slot of the prefix;
 * the others follow it in a chain, in ascending order of identifier. Without such paths there is no object of this class.
 */
export class AdditionalPaths {
  /** Number of additional paths. */
  count = 0;
  #ids: Uint32Array;
  #firsts: Int32Array;
  /** Slot + 1 of the next path of the prefix, or 0. */
  #next: Int32Array;

  constructor(capacity: number) {
    this.#ids = new Uint32Array(capacity);
    this.#firsts = new Int32Array(capacity);
    this.#next = new Int32Array(capacity);
  }

  /** Path identifiers by slot; 0 for the first identifier. */
  get ids(): Uint32Array {
    return this.#ids;
  }

  isAdditional(slot: number): boolean {
    return (this.#ids[slot] ?? isFirst) !== isFirst;
  }

  /** Returns the slot that the first path of the same prefix has, or would have. */
  firstOf(slot: number): number {
    return this.isAdditional(slot) ? (this.#firsts[slot] ?? slot) : slot;
  }

  /** Returns the slot of the path with the next larger identifier, or `noSlot`. */
  next(slot: number): number {
    return (this.#next[slot] ?? 0) - 1;
  }

  find(first: number, id: number): number {
    let slot = this.next(first);
    while (slot !== noSlot && (this.#ids[slot] ?? 0) < id) slot = this.next(slot);
    return slot !== noSlot && this.#ids[slot] === id ? slot : noSlot;
  }

  add(first: number, slot: number, id: number): void {
    let before = first;
    for (let next = this.next(first); next !== noSlot && (this.#ids[next] ?? 0) < id; next = this.next(next)) before = next;
    this.#ids[slot] = id;
    this.#firsts[slot] = first;
    this.#next[slot] = this.#next[before] ?? 0;
    this.#next[before] = slot + 1;
    this.count++;
  }

  /** Removes an additional path and returns the slot of the first. */
  remove(slot: number): number {
    const first = this.firstOf(slot);
    let before = first;
    while (this.next(before) !== slot) before = this.next(before);
    this.#next[before] = this.#next[slot] ?? 0;
    this.#next[slot] = 0;
    this.#ids[slot] = isFirst;
    this.count--;
    return first;
  }

  grow(capacity: number): void {
    const [ids, firsts, next] = [this.#ids, this.#firsts, this.#next];
    this.#ids = new Uint32Array(capacity);
    this.#firsts = new Int32Array(capacity);
    this.#next = new Int32Array(capacity);
    this.#ids.set(ids);
    this.#firsts.set(firsts);
    this.#next.set(next);
  }
}
