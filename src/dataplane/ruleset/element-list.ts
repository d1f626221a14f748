import { ok as assert } from 'node:assert';
import type { Family } from '../../net/address.ts';
import type { Element, ElementSink } from './element.ts';
import { allSets, fieldsLength, type SetName, type SetShape } from './layout.ts';
import { slotOctets, type Octets } from './octets.ts';

/** A packed list of elements by set: half a million elements take some ten megabytes and cause no work for the garbage collector. */
export class ElementList implements Iterable<Element>, ElementSink {
  readonly #sets = new Map<SetName, { 4?: PackedSet; 6?: PackedSet }>();
  #size = 0;

  static of(elements: Iterable<Element>): ElementList {
    const list = new ElementList();
    for (const element of elements) list.push(element);
    return list;
  }

  get size(): number {
    return this.#size;
  }

  push({ family, set, key, value }: Element): void {
    this.#packedFor(family, set).push(key, value);
    this.#size++;
  }

  pushSlots(family: Family, set: SetName, frontend: Octets, values: readonly Octets[]): void {
    this.#packedFor(family, set).pushSlots(frontend, values);
    this.#size += values.length;
  }

  #packedFor(family: Family, set: SetName): PackedSet {
    let families = this.#sets.get(set);
    if (families === undefined) this.#sets.set(set, (families = {}));
    return (families[family] ??= new PackedSet(family, set));
  }

  /** Appends a set, of which the list must have no elements yet. The list then owns it. */
  append(packed: PackedSet): void {
    const families = this.#sets.get(packed.set) ?? {};
    assert(families[packed.family] === undefined, `${packed.set} is in the list`);
    families[packed.family] = packed;
    this.#sets.set(packed.set, families);
    this.#size += packed.length;
  }

  packed(family: Family, set: SetName): PackedSet | undefined {
    return this.#sets.get(set)?.[family];
  }

  /** Yields set by set, in order of first insertion. */
  *packedSets(): Generator<PackedSet> {
    for (const families of this.#sets.values()) {
      if (families[4] !== undefined) yield families[4];
      if (families[6] !== undefined) yield families[6];
    }
  }

  *[Symbol.iterator](): Generator<Element> {
    for (const packed of this.packedSets()) for (let index = 0; index < packed.length; index++) yield packed.at(index);
  }
}

/** The elements of one set, stored as key and value one after the other, all of the same length. */
export class PackedSet {
  readonly family: Family;
  readonly set: SetName;
  readonly shape: SetShape;
  /** Octets of a key. In a set of ranges: of both ends. */
  readonly keyLength: number;
  readonly valueLength: number;
  #octets: Buffer;
  #length = 0;

  constructor(family: Family, set: SetName) {
    const shape = allSets.get(set);
    assert(shape !== undefined, `there is no set ${set}`);
    this.family = family;
    this.set = set;
    this.shape = shape;
    this.keyLength = fieldsLength(family, shape.key) * (shape.interval ? 2 : 1);
    this.valueLength = shape.value === undefined ? 0 : fieldsLength(family, shape.value);
    this.#octets = Buffer.allocUnsafeSlow(16 * this.recordLength);
  }

  get length(): number {
    return this.#length;
  }

  get recordLength(): number {
    return this.keyLength + this.valueLength;
  }

  /** Valid until the next `push`. */
  get octets(): Uint8Array {
    return this.#octets;
  }

  push(key: Octets, value: Octets = ''): void {
    assert(key.length === this.keyLength && value.length === this.valueLength, this.set);
    const at = this.#extend(1);
    this.#write(key, at);
    this.#write(value, at + this.keyLength);
  }

  /** Appends an element for each slot, see `ElementSink`. Objects and joined strings for half a million would take most of the time. */
  pushSlots(frontend: Octets, values: readonly Octets[]): void {
    const { keyLength, valueLength, recordLength } = this;
    let at = this.#extend(values.length);
    for (let slot = 0; slot < values.length; slot++) {
      const [number, value] = [slotOctets(slot), values[slot] ?? ''];
      assert(frontend.length + number.length === keyLength && value.length === valueLength, this.set);
      this.#write(frontend, at);
      this.#write(number, at + frontend.length);
      this.#write(value, at + keyLength);
      at += recordLength;
    }
  }

  /** Appends the elements of another packed set of the same shape from index `first` up to `end`, which is exclusive. */
  pushRange(other: PackedSet, first: number, end: number): void {
    const at = this.#extend(end - first);
    this.#octets.set(other.#octets.subarray(first * this.recordLength, end * this.recordLength), at);
  }

  /** Appends the element whose key and value begin at these positions. */
  pushOctets(octets: Uint8Array, keyAt: number, valueAt: number): void {
    const at = this.#extend(1);
    for (let index = 0; index < this.keyLength; index++) this.#octets[at + index] = octets[keyAt + index] ?? 0;
    const valueTo = at + this.keyLength;
    for (let index = 0; index < this.valueLength; index++) this.#octets[valueTo + index] = octets[valueAt + index] ?? 0;
  }

  /** Makes room for elements and returns the position of the first. */
  #extend(elements: number): number {
    const at = this.#length * this.recordLength;
    this.#length += elements;
    const end = this.#length * this.recordLength;
    if (end > this.#octets.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(end, this.#octets.length * 2));
      larger.set(this.#octets);
      this.#octets = larger;
    }
    return at;
  }

  /** For so few octets, a loop is several times as fast as `Buffer.write`. */
  #write(octets: Octets, at: number): void {
    for (let index = 0; index < octets.length; index++) this.#octets[at + index] = octets.charCodeAt(index);
  }

  /** True when the element at `index` has the key and value of the element at `otherIndex` of another packed set of the same shape. */
  hasRecord(index: number, other: PackedSet, otherIndex: number): boolean {
    const [start, otherStart] = [index * this.recordLength, otherIndex * this.recordLength];
    for (let octet = 0; octet < this.recordLength; octet++)
      if (this.#octets[start + octet] !== other.#octets[otherStart + octet]) return false;
    return true;
  }

  /** True when the other set has the same elements in the same order. */
  equals(other: PackedSet): boolean {
    const end = this.#length * this.recordLength;
    return this.#length === other.#length && this.#octets.compare(other.#octets, 0, end, 0, end) === 0;
  }

  at(index: number): Element {
    const { family, set } = this;
    const start = index * this.recordLength;
    const key = this.#octets.toString('latin1', start, start + this.keyLength);
    if (this.shape.value === undefined) return { family, set, key };
    return { family, set, key, value: this.#octets.toString('latin1', start + this.keyLength, start + this.recordLength) };
  }
}
