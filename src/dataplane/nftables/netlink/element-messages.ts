import { messageFlags } from '../../../system/netlink/message.ts';
import type { MessageWriter } from '../../../system/netlink/message-writer.ts';
import type { ElementList, PackedSet } from '../../ruleset/element-list.ts';
import { keyText } from '../../ruleset/element-text.ts';
import { tableFamily, tableName } from '../../ruleset/layout.ts';
import { elementBytesPerMessage } from '../../limits.ts';
import type { TimeSlice } from '../../../system/time-slice.ts';
import type { Batch } from './batch.ts';
import { dataAttributes, elementAttributes, elementFlags, elementListAttributes, listElement, messages } from './constants.ts';

/** Adds or deletes elements, set by set, in messages that stay below the bound. */
export async function writeElements(batch: Batch, verb: 'add' | 'delete', elements: ElementList, timeSlice: TimeSlice): Promise<void> {
  for (const packed of elements.packedSets()) {
    let next = 0;
    while (next < packed.length) {
      if (timeSlice.isUsedUp) await timeSlice.yield();
      const first = next;
      const type = verb === 'add' ? messages.newElement : messages.delElement;
      const about = (entry: number | undefined): string => elementName(packed, first, entry);
      batch.appendListMessage(type, verb === 'add' ? messageFlags.create : 0, packed.family, about, (writer) => {
        const list = beginElements(writer, packed.set);
        const start = writer.length;
        while (next < packed.length && writer.length - start < elementBytesPerMessage) writeElement(writer, verb, packed, next++);
        writer.endNested(list);
      });
    }
  }
}

/** Describes an entry of a message for error texts. `first` is the index of the message's first element. */
function elementName(packed: PackedSet, first: number, entry: number | undefined): string {
  const where = `${tableFamily(packed.family)} ${tableName} ${packed.set}`;
  if (entry === undefined) return `elements of ${where}`;
  // Every prefix has two entries, except one that ends at the very last address.
  const index = first + (isPrefixSet(packed) ? entry >> 1 : entry);
  return index < packed.length ? `element ${keyText(packed.at(index))} of ${where}` : `elements of ${where}`;
}

/** A set whose key is one prefix. The kernel stores each range as two entries: its first key and, marked, the key after its last one. */
const isPrefixSet = ({ shape }: PackedSet): boolean => shape.interval === true && shape.key.length === 1;

/** Begins the list of elements of a message. `endNested` ends it. */
export function beginElements(writer: MessageWriter, set: string, setId?: number): number {
  writer.textAttribute(elementListAttributes.table, tableName);
  writer.textAttribute(elementListAttributes.set, set);
  if (setId !== undefined) writer.numberAttribute(elementListAttributes.setId, setId);
  return writer.beginNested(elementListAttributes.elements);
}

function writeElement(writer: MessageWriter, verb: 'add' | 'delete', packed: PackedSet, index: number): void {
  const { octets, shape, keyLength } = packed;
  const start = index * packed.recordLength;
  const end = start + keyLength;
  const middle = shape.interval ? start + keyLength / 2 : end;
  const entry = writer.beginNested(listElement);
  writeData(writer, elementAttributes.key, octets.subarray(start, middle));
  if (shape.interval && !isPrefixSet(packed)) writeData(writer, elementAttributes.keyEnd, octets.subarray(middle, end));
  if (shape.value !== undefined && verb === 'add')
    writeData(writer, elementAttributes.data, octets.subarray(end, start + packed.recordLength));
  writer.endNested(entry);
  const after = isPrefixSet(packed) ? keyAfter(octets.subarray(middle, end)) : undefined;
  if (after === undefined) return;
  const marked = writer.beginNested(listElement);
  writeData(writer, elementAttributes.key, after);
  writer.numberAttribute(elementAttributes.flags, elementFlags.intervalEnd);
  writer.endNested(marked);
}

/** Returns the next key. Undefined after the very last key: a range up to there has no end entry. */
function keyAfter(key: Uint8Array): Uint8Array | undefined {
  const after = Uint8Array.from(key);
  let at = after.length - 1;
  while (at >= 0 && after[at] === 0xff) after[at--] = 0;
  if (at < 0) return undefined;
  after[at] = (after[at] ?? 0) + 1;
  return after;
}

export function writeData(writer: MessageWriter, type: number, value: Uint8Array): void {
  const nested = writer.beginNested(type);
  writer.bytesAttribute(dataAttributes.value, value);
  writer.endNested(nested);
}
