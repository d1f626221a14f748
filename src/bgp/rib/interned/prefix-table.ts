import type { Family } from '../../../net/address.ts';
import type { Prefix } from '../../../net/prefix.ts';
import { AdditionalPaths, firstPathId, noSlot } from './additional-paths.ts';

const firstCapacity = 16;

/** In place of the number of holders: the slot has no prefix. */
const freed = -1;

interface Written {
  readonly count: number;
  /** Octets written. */
  readonly length: number;
}

/** The slots from `start` to `end`, without `end`. */
export interface SlotRange {
  readonly slots: Int32Array;
  readonly start: number;
  readonly end: number;
}

/**
 * Gives each held prefix of one family a small number, its slot. Facts about a prefix are kept in typed arrays indexed by slot: half a
 * million prefixes take a few octets each instead of an object, and all peers share one table. A hash index with open addressing leads from
 * the prefix to its slot. Each additional path of a prefix has a slot of its own, which holds the slot of the prefix.
 */
export class PrefixTable {
  readonly family: Family;
  /** Number of 32-bit words in an address. */
  readonly #words: 1 | 4;
  #addresses: Uint32Array<ArrayBuffer>;
  #lengths: Uint8Array<ArrayBuffer>;
  #holders: Int32Array<ArrayBuffer>;
  /** Slot + 1, or 0 for an empty entry. The index is twice as long as the capacity, so that probing stays short. */
  #index: Int32Array<ArrayBuffer>;
  /** Slots below `#used` without a holder. */
  #freed: number[] = [];
  #used = 0;
  #additional: AdditionalPaths | undefined;
  /** The prefix to look up. An IPv6 address is stored as two 64-bit halves and read as words without allocation. */
  readonly #halves = new BigUint64Array(2);
  readonly #halfWords = new Uint32Array(this.#halves.buffer);
  readonly #key = new Uint32Array(4);

  constructor(family: Family) {
    this.family = family;
    this.#words = family === 4 ? 1 : 4;
    this.#addresses = new Uint32Array(firstCapacity * this.#words);
    this.#lengths = new Uint8Array(firstCapacity);
    this.#holders = new Int32Array(firstCapacity);
    this.#index = new Int32Array(2 * firstCapacity);
  }

  /** Number of prefixes and additional paths with a holder. */
  get size(): number {
    return this.#used - this.#freed.length;
  }

  /** All slots are below this number. */
  get capacity(): number {
    return this.#lengths.length;
  }

  /** The additional paths. Undefined if each prefix has one path, with the first identifier. */
  get additional(): AdditionalPaths | undefined {
    return this.#additional;
  }

  /** Returns the slot of a held prefix, or of the path with this identifier; else `noSlot`. */
  find(prefix: Prefix, pathId = firstPathId): number {
    const first = this.#findPrefix(prefix);
    if (pathId === firstPathId || first === noSlot) return first;
    return this.#additional?.find(first, pathId) ?? noSlot;
  }

  /** Returns the slot of the prefix, or of the path with this identifier, and makes the caller a holder of it. */
  acquire(prefix: Prefix, pathId = firstPathId): number {
    const first = this.#acquirePrefix(prefix);
    if (pathId === firstPathId) return first;
    const found = this.#additional?.find(first, pathId) ?? noSlot;
    if (found !== noSlot) {
      this.retain(found);
      this.release(first);
      return found;
    }
    const slot = this.#takeSlot();
    this.#addresses.copyWithin(slot * this.#words, first * this.#words, (first + 1) * this.#words);
    this.#lengths[slot] = prefix.length;
    this.#holders[slot] = 1;
    this.#additional ??= new AdditionalPaths(this.capacity);
    this.#additional.add(first, slot, pathId);
    return slot;
  }

  /** Adds a holder to a slot that is already held. */
  retain(slot: number): void {
    this.#holders[slot] = (this.#holders[slot] ?? 0) + 1;
  }

  /** Adds a holder to many slots. */
  retainAll(slots: Int32Array): void {
    const holders = this.#holders;
    // By index: a burst in a young process runs before the compiler has made an iterator as fast.
    for (let at = 0; at < slots.length; at++) {
      const slot = slots[at] ?? 0;
      holders[slot] = (holders[slot] ?? 0) + 1;
    }
  }

  release(slot: number): void {
    const left = (this.#holders[slot] ?? 0) - 1;
    this.#holders[slot] = left;
    if (left > 0) return;
    this.#free(slot, true);
    if (this.size === 0) this.#shrink();
  }

  /** Releases many slots. */
  releaseAll(slots: Int32Array): void {
    const before = this.size;
    let unheld = 0;
    for (const slot of slots) {
      const left = (this.#holders[slot] ?? 0) - 1;
      this.#holders[slot] = left;
      if (left === 0) unheld++;
    }
    if (unheld === 0) return;
    // All, so there are no additional paths: each would still hold its prefix.
    if (unheld === before) {
      this.#shrink();
      return;
    }
    // If more than half of the table goes, a new index is cheaper than removing each entry.
    const rebuild = unheld > before / 2;
    for (const slot of slots) {
      if (this.#holders[slot] !== 0) continue;
      this.#free(slot, !rebuild);
    }
    if (this.size === 0) this.#shrink();
    else if (rebuild) this.#rebuildIndex();
  }

  pathId(slot: number): number {
    const id = this.#additional?.ids[slot] ?? 0;
    return id === 0 ? firstPathId : id;
  }

  prefix(slot: number): Prefix {
    let value = 0n;
    const first = slot * this.#words;
    for (let word = first; word < first + this.#words; word++) value = (value << 32n) | BigInt(this.#addresses[word] ?? 0);
    return { address: { family: this.family, value }, length: this.#lengths[slot] ?? 0 };
  }

  /**
   * Writes the prefixes of the range as an UPDATE carries them: the length, then the octets of the address that the
   * length covers (RFC 4271 4.3). With `pathIds` the path identifier precedes each (RFC 7911 3). Stops when `room` is used.
   */
  write({ slots, start, end }: SlotRange, bytes: Uint8Array, room: number, pathIds = false): Written {
    // One loop without calls: a burst spends its time here, often before the code has been compiled.
    const lengths = this.#lengths;
    const addresses = this.#addresses;
    const words = this.#words;
    const ids = this.#additional?.ids;
    const before = pathIds ? 4 : 0;
    let length = 0;
    let position = start;
    for (; position < end; position++) {
      const slot = slots[position] ?? 0;
      const bits = lengths[slot] ?? 0;
      if (length + before + 1 + ((bits + 7) >>> 3) > room) break;
      if (pathIds) {
        const id = ids?.[slot] ?? 0;
        const pathId = id === 0 ? firstPathId : id;
        bytes[length++] = pathId >>> 24;
        bytes[length++] = pathId >>> 16;
        bytes[length++] = pathId >>> 8;
        bytes[length++] = pathId;
      }
      bytes[length++] = bits;
      let at = slot * words;
      for (let left = bits; left > 0; left -= 32) {
        const word = addresses[at++] ?? 0;
        bytes[length++] = word >>> 24;
        if (left > 8) bytes[length++] = word >>> 16;
        if (left > 16) bytes[length++] = word >>> 8;
        if (left > 24) bytes[length++] = word;
      }
    }
    return { count: position - start, length };
  }

  #findPrefix(prefix: Prefix): number {
    this.#load(prefix);
    const { length } = prefix;
    const mask = this.#index.length - 1;
    for (let at = this.#hash(this.#key, 0, length) & mask; ; at = (at + 1) & mask) {
      const slot = (this.#index[at] ?? 0) - 1;
      if (slot === noSlot || this.#isAt(slot, length)) return slot;
    }
  }

  #acquirePrefix(prefix: Prefix): number {
    const found = this.#findPrefix(prefix);
    if (found !== noSlot) {
      this.retain(found);
      return found;
    }
    const slot = this.#takeSlot();
    const at = slot * this.#words;
    for (let word = 0; word < this.#words; word++) this.#addresses[at + word] = this.#key[word] ?? 0;
    this.#lengths[slot] = prefix.length;
    this.#holders[slot] = 1;
    this.#addEntry(slot);
    return slot;
  }

  #load({ address }: Prefix): void {
    if (this.#words === 1) {
      this.#key[0] = Number(address.value);
      return;
    }
    // A BigUint64Array keeps the low 64 bits. The words are read in the byte order of this machine.
    this.#halves[0] = address.value >> 64n;
    this.#halves[1] = address.value;
    this.#key[0] = this.#halfWords[littleEndian] ?? 0;
    this.#key[1] = this.#halfWords[1 - littleEndian] ?? 0;
    this.#key[2] = this.#halfWords[2 + littleEndian] ?? 0;
    this.#key[3] = this.#halfWords[3 - littleEndian] ?? 0;
  }

  #isAt(slot: number, length: number): boolean {
    const at = slot * this.#words;
    if (this.#addresses[at] !== this.#key[0] || this.#lengths[slot] !== length) return false;
    for (let word = 1; word < this.#words; word++) if (this.#addresses[at + word] !== this.#key[word]) return false;
    return true;
  }

  /** Mixes all bits into the low ones, which the index uses (finalizer of MurmurHash 3). */
  #hash(words: Uint32Array, at: number, length: number): number {
    let hash = length;
    for (let word = at; word < at + this.#words; word++) {
      hash = Math.imul(hash ^ (words[word] ?? 0), 0x85ebca6b);
      hash ^= hash >>> 13;
    }
    hash = Math.imul(hash, 0xc2b2ae35);
    return hash ^ (hash >>> 16);
  }

  /** Frees a slot without holder. An additional path also releases its prefix. */
  #free(slot: number, removeEntry: boolean): void {
    this.#holders[slot] = freed;
    this.#freed.push(slot);
    if (this.#additional?.isAdditional(slot) !== true) {
      if (removeEntry) this.#removeEntry(slot);
      return;
    }
    const first = this.#additional.remove(slot);
    if (this.#additional.count === 0) this.#additional = undefined;
    const left = (this.#holders[first] ?? 0) - 1;
    this.#holders[first] = left;
    if (left === 0) this.#free(first, removeEntry);
  }

  #takeSlot(): number {
    const reused = this.#freed.pop();
    if (reused !== undefined) return reused;
    if (this.#used === this.capacity) this.#grow();
    return this.#used++;
  }

  #grow(): void {
    const capacity = 2 * this.capacity;
    this.#addresses = grown(this.#addresses, new Uint32Array(capacity * this.#words));
    this.#lengths = grown(this.#lengths, new Uint8Array(capacity));
    this.#holders = grown(this.#holders, new Int32Array(capacity));
    this.#additional?.grow(capacity);
    this.#index = new Int32Array(2 * capacity);
    this.#rebuildIndex();
  }

  #rebuildIndex(): void {
    this.#index.fill(0);
    for (let slot = 0; slot < this.#used; slot++) {
      if ((this.#holders[slot] ?? 0) > 0 && this.#additional?.isAdditional(slot) !== true) this.#addEntry(slot);
    }
  }

  /** Shrinks the table after the last prefix was released, so that the memory of the largest burst is returned. */
  #shrink(): void {
    this.#freed = [];
    this.#used = 0;
    this.#index = new Int32Array(2 * firstCapacity);
    if (this.capacity === firstCapacity) return;
    this.#addresses = new Uint32Array(firstCapacity * this.#words);
    this.#lengths = new Uint8Array(firstCapacity);
    this.#holders = new Int32Array(firstCapacity);
  }

  #home(slot: number): number {
    return this.#hash(this.#addresses, slot * this.#words, this.#lengths[slot] ?? 0) & (this.#index.length - 1);
  }

  #addEntry(slot: number): void {
    const mask = this.#index.length - 1;
    let at = this.#home(slot);
    while (this.#index[at] !== 0) at = (at + 1) & mask;
    this.#index[at] = slot + 1;
  }

  /**
   * Removes an entry and moves up the entries that it displaced, so that no marks of deleted entries accumulate (Knuth 6.4, algorithm R).
   */
  #removeEntry(slot: number): void {
    const mask = this.#index.length - 1;
    let hole = this.#home(slot);
    while (this.#index[hole] !== slot + 1) hole = (hole + 1) & mask;
    for (let at = (hole + 1) & mask; this.#index[at] !== 0; at = (at + 1) & mask) {
      const moving = this.#index[at] ?? 0;
      const distance = (at - this.#home(moving - 1)) & mask;
      if (distance < ((at - hole) & mask)) continue;
      this.#index[hole] = moving;
      hole = at;
    }
    this.#index[hole] = 0;
  }
}

/** 1 on little-endian machines, where the low word of a 64-bit number comes first. */
const littleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? 1 : 0;

function grown<T extends Uint32Array | Uint8Array | Int32Array>(old: T, larger: T): T {
  larger.set(old);
  return larger;
}
