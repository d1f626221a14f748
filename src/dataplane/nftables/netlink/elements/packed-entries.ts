import { ok as assert } from 'node:assert';
import { aligned, attributeHeaderBytes } from '../../../../system/netlink/attributes.ts';
import type { PackedSet } from '../../../ruleset/element-list.ts';
import { dataAttributes, elementAttributes, elementListAttributes, listElement, verdictAttributes } from '../constants.ts';
import { attributeEnd, attributeType } from './entries.ts';

/**
 * Appends the elements in the attributes of a message to a packed set, without an object for each of them. Not for sets of ranges. Returns
 * false when an element does not have the set's shape. Throws MalformedNetlink.
 */
export function appendElements(attributes: Uint8Array, packed: PackedSet): boolean {
  assert(packed.shape.interval === undefined);
  const bytes = Buffer.from(attributes.buffer, attributes.byteOffset, attributes.length);
  const list = findAttribute(bytes, 0, bytes.length, elementListAttributes.elements);
  if (list < 0) return true;
  const end = attributeEnd(bytes, list, bytes.length);
  const find = packed.shape.value?.[0] === 'chain' ? findJump : findValue;
  for (let at = list + attributeHeaderBytes; at + attributeHeaderBytes <= end; at += aligned(bytes.readUInt16LE(at))) {
    const entryEnd = attributeEnd(bytes, at, end);
    if (attributeType(bytes, at) !== listElement) continue;
    const key = findValue(bytes, at, entryEnd, elementAttributes.key, packed.keyLength);
    const value = packed.valueLength === 0 ? 0 : find(bytes, at, entryEnd, elementAttributes.data, packed.valueLength);
    if (key < 0 || value < 0) return false;
    packed.pushOctets(bytes, key, value);
  }
  return true;
}

/** Returns where the value of an element's attribute begins. -1: it is absent, of another length, or no value (such as a verdict). */
function findValue(bytes: Buffer, entry: number, end: number, type: number, length: number): number {
  return findNested(bytes, { entry, end, path: [type, dataAttributes.value] }, length);
}

/** Returns where the name of the chain begins to which an element's verdict jumps. -1: there is none, or it has another length. */
function findJump(bytes: Buffer, entry: number, end: number, type: number, length: number): number {
  return findNested(bytes, { entry, end, path: [type, dataAttributes.verdict, verdictAttributes.chain] }, length);
}

/** Returns where the content of the attribute at the end of the path begins. -1: it is absent or has another length. */
function findNested(bytes: Buffer, { entry, end, path }: { entry: number; end: number; path: readonly number[] }, length: number): number {
  let [at, within] = [entry, end];
  for (const type of path) {
    at = findAttribute(bytes, at + attributeHeaderBytes, within, type);
    if (at < 0) return -1;
    within = attributeEnd(bytes, at, within);
  }
  return within - at === attributeHeaderBytes + length ? at + attributeHeaderBytes : -1;
}

/** Returns where the first attribute of this type begins, -1 if there is none. */
function findAttribute(bytes: Buffer, start: number, end: number, type: number): number {
  for (let at = start; at + attributeHeaderBytes <= end; at += aligned(bytes.readUInt16LE(at))) {
    attributeEnd(bytes, at, end);
    if (attributeType(bytes, at) === type) return at;
  }
  return -1;
}
