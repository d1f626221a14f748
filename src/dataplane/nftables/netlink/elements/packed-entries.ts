import { ok as assert } from 'node:assert';
import { aligned, attributeHeaderBytes } from '../../../../system/netlink/attributes.ts';
import type { PackedSet } from '../../../ruleset/element-list.ts';
import { dataAttributes, elementAttributes, elementListAttributes, listElement } from '../constants.ts';
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
  for (let at = list + attributeHeaderBytes; at + attributeHeaderBytes <= end; at += aligned(bytes.readUInt16LE(at))) {
    const entryEnd = attributeEnd(bytes, at, end);
    if (attributeType(bytes, at) !== listElement) continue;
    const key = findValue(bytes, at, entryEnd, elementAttributes.key, packed.keyLength);
    const value = packed.valueLength === 0 ? 0 : findValue(bytes, at, entryEnd, elementAttributes.data, packed.valueLength);
    if (key < 0 || value < 0) return false;
    packed.pushOctets(bytes, key, value);
  }
  return true;
}

/** Returns where the value of an element's attribute begins. -1: it is absent, of another length, or no value (such as a verdict). */
function findValue(bytes: Buffer, entry: number, end: number, type: number, length: number): number {
  const attribute = findAttribute(bytes, entry + attributeHeaderBytes, end, type);
  if (attribute < 0) return -1;
  const value = findAttribute(bytes, attribute + attributeHeaderBytes, attributeEnd(bytes, attribute, end), dataAttributes.value);
  return value >= 0 && bytes.readUInt16LE(value) === attributeHeaderBytes + length ? value + attributeHeaderBytes : -1;
}

/** Returns where the first attribute of this type begins, -1 if there is none. */
function findAttribute(bytes: Buffer, start: number, end: number, type: number): number {
  for (let at = start; at + attributeHeaderBytes <= end; at += aligned(bytes.readUInt16LE(at))) {
    attributeEnd(bytes, at, end);
    if (attributeType(bytes, at) === type) return at;
  }
  return -1;
}
