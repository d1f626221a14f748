import { defined } from '../../../../lang/defined.ts';
import type { Family } from '../../../../net/address.ts';
import { aligned, attributeHeaderBytes, readAttributes, readText } from '../../../../system/netlink/attributes.ts';
import { MalformedNetlink } from '../../../../system/netlink/error.ts';
import type { ElementList } from '../../../ruleset/element-list.ts';
import { allSets, fieldsLength, type SetName } from '../../../ruleset/layout.ts';
import type { Octets } from '../../../ruleset/octets.ts';
import { dataAttributes, elementAttributes, elementFlags, elementListAttributes, listElement } from '../constants.ts';

/** An element as the kernel lists it. */
export interface Entry {
  readonly key: Octets;
  /** The last key, in a set of ranges with several fields. */
  readonly keyEnd?: Octets;
  readonly value?: Octets;
  readonly flags: number;
}

/** Reads the elements in the attributes of a message, and skips anything else. Throws MalformedNetlink. */
export function parseSetElements(attributes: Uint8Array): Entry[] {
  const list = readAttributes(attributes).get(elementListAttributes.elements);
  const entries: Entry[] = [];
  if (list === undefined) return entries;
  // A message list may hold half a million elements. Only objects that are kept are allocated.
  const bytes = Buffer.from(list.buffer, list.byteOffset, list.length);
  for (let at = 0; at + attributeHeaderBytes <= bytes.length; at += aligned(bytes.readUInt16LE(at))) {
    const end = attributeEnd(bytes, at, bytes.length);
    if (attributeType(bytes, at) !== listElement) continue;
    const entry = readEntry(bytes, at + attributeHeaderBytes, end);
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

function readEntry(bytes: Buffer, start: number, end: number): Entry | undefined {
  let key: Octets | undefined;
  let keyEnd: Octets | undefined;
  let value: Octets | undefined;
  let flags = 0;
  for (let at = start; at + attributeHeaderBytes <= end; at += aligned(bytes.readUInt16LE(at))) {
    const attribute = attributeEnd(bytes, at, end);
    switch (attributeType(bytes, at)) {
      case elementAttributes.key:
        key = valueOf(bytes, at, attribute);
        break;
      case elementAttributes.keyEnd:
        keyEnd = valueOf(bytes, at, attribute);
        break;
      case elementAttributes.data:
        value = valueOf(bytes, at, attribute);
        break;
      case elementAttributes.flags:
        if (attribute - at === attributeHeaderBytes + 4) flags = bytes.readUInt32BE(at + attributeHeaderBytes);
        break;
      default:
    }
  }
  if (key === undefined) return undefined;
  return { key, flags, ...defined({ keyEnd, value }) };
}

/** Returns the octets in a nested attribute. Undefined when it holds something else, such as a verdict. */
function valueOf(bytes: Buffer, start: number, end: number): Octets | undefined {
  const at = start + attributeHeaderBytes;
  if (at + attributeHeaderBytes > end || attributeType(bytes, at) !== dataAttributes.value) return undefined;
  return bytes.toString('latin1', at + attributeHeaderBytes, attributeEnd(bytes, at, end));
}

/** Reads the type of the attribute that begins at `at`. */
export const attributeType = (bytes: Buffer, at: number): number => bytes.readUInt16LE(at + 2) & 0x3fff;

/** Returns where the attribute that begins at `at` ends, without padding. Throws MalformedNetlink when that is beyond `bound`. */
export function attributeEnd(bytes: Buffer, at: number, bound: number): number {
  const length = bytes.readUInt16LE(at);
  if (length < attributeHeaderBytes || at + length > bound) throw new MalformedNetlink(`an attribute at ${at} has the length ${length}`);
  return at + length;
}

/** True when the kernel lists two entries for one element: the first key of a range and, marked, the key after its last one. */
function isListedInHalves(set: SetName): boolean {
  const shape = allSets.get(set);
  return shape?.interval === true && shape.key.length === 1;
}

/**
 * Adds listed entries of a set to `elements`. A set that is listed in halves needs all its entries in one call. Returns false when an entry
 * does not have the set's shape.
 */
export function readElements(family: Family, set: SetName, entries: readonly Entry[], elements: ElementList): boolean {
  const shape = allSets.get(set);
  if (shape === undefined) return false;
  const keyLength = fieldsLength(family, shape.key);
  const valueLength = shape.value === undefined ? 0 : fieldsLength(family, shape.value);
  for (const { key, keyEnd = key, value } of isListedInHalves(set) ? joinHalves(entries) : entries) {
    if (key.length !== keyLength || keyEnd.length !== keyLength || (value?.length ?? 0) !== valueLength) return false;
    const octets = shape.interval ? key + keyEnd : key;
    elements.push(value === undefined ? { family, set, key: octets } : { family, set, key: octets, value });
  }
  return true;
}

function joinHalves(entries: readonly Entry[]): Entry[] {
  const isEnd = ({ flags }: Entry): boolean => (flags & elementFlags.intervalEnd) !== 0;
  // When one range ends and the next begins at the same key, the end comes first.
  const sorted = entries.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : Number(isEnd(b)) - Number(isEnd(a))));
  const ranges: Entry[] = [];
  for (const [index, entry] of sorted.entries()) {
    if (isEnd(entry)) continue;
    const next = sorted[index + 1];
    const keyEnd = next === undefined ? '\xff'.repeat(entry.key.length) : isEnd(next) ? before(next.key) : entry.key;
    ranges.push({ ...entry, keyEnd });
  }
  return ranges;
}

/** Returns the previous key. */
function before(key: Octets): Octets {
  const octets = Buffer.from(key, 'latin1');
  let at = octets.length - 1;
  while (at >= 0 && octets[at] === 0) octets[at--] = 0xff;
  if (at >= 0) octets[at] = (octets[at] ?? 0) - 1;
  return octets.toString('latin1');
}

/** Returns the text of an attribute, "" if it is absent. */
export function attributeText(attributes: ReadonlyMap<number, Uint8Array>, type: number): string {
  const value = attributes.get(type);
  return value === undefined ? '' : readText(value);
}
