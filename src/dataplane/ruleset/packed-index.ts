import type { PackedSet } from './element-list.ts';

/** Finds the elements of a packed set by key. A table with open addressing: a Map would need a string for each of half a million keys. */
export class PackedIndex {
  readonly #packed: PackedSet;
  /** By hash: the index of an element plus one. Zero: empty. At most half of them are used. */
  readonly #places: Uint32Array;

  constructor(packed: PackedSet) {
    this.#packed = packed;
    this.#places = new Uint32Array(2 ** Math.ceil(Math.log2(Math.max(1, packed.length) * 2)));
    for (let index = 0; index < packed.length; index++) this.#places[this.#placeOf(packed, index)] = index + 1;
  }

  /** Returns the index of the element with the key that the element at `index` of `other` has. -1: there is none. */
  find(other: PackedSet, index: number): number {
    return (this.#places[this.#placeOf(other, index)] ?? 0) - 1;
  }

  /** Returns the place of the element with this key, or the empty place for it. */
  #placeOf(other: PackedSet, index: number): number {
    const mask = this.#places.length - 1;
    const start = index * other.recordLength;
    for (let place = hashOf(other.octets, start, start + other.keyLength) & mask; ; place = (place + 1) & mask) {
      const found = (this.#places[place] ?? 0) - 1;
      if (found < 0 || sameKey(this.#packed, found, other, index)) return place;
    }
  }
}

function sameKey(one: PackedSet, index: number, other: PackedSet, otherIndex: number): boolean {
  const [start, otherStart] = [index * one.recordLength, otherIndex * other.recordLength];
  for (let octet = 0; octet < one.keyLength; octet++) if (one.octets[start + octet] !== other.octets[otherStart + octet]) return false;
  return true;
}

/** FNV-1a with a final mix, because the last octets of a key often differ alone. */
function hashOf(octets: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let index = start; index < end; index++) hash = Math.imul(hash ^ (octets[index] ?? 0), 0x01000193);
  return hash ^ (hash >>> 15);
}
