import { messageFlags } from '../../../../system/netlink/message.ts';
import type { MessageWriter } from '../../../../system/netlink/message-writer.ts';
import type { ElementList, PackedSet } from '../../../ruleset/element-list.ts';
import { keyText } from '../../../ruleset/element-text.ts';
import { tableFamily, tableName } from '../../../ruleset/layout.ts';
import { elementBytesPerMessage } from '../../../limits.ts';
import type { TimeSlice } from '../../../../system/time-slice.ts';
import type { Batch } from '../batch.ts';
import { elementAttributes, elementFlags, elementListAttributes, listElement, messages } from '../constants.ts';
import { EntryForm, writeData } from './entry-form.ts';

/** Adds or deletes elements, set by set, in messages that stay below the bound. */
export async function writeElements(batch: Batch, verb: 'add' | 'delete', elements: ElementList, timeSlice: TimeSlice): Promise<void> {
  for (const packed of elements.packedSets()) {
    const form = isPrefixSet(packed) ? undefined : new EntryForm(packed, verb === 'add' ? 'key and value' : 'key');
    let next = 0;
    while (next < packed.length) {
      if (timeSlice.isUsedUp) await timeSlice.yield();
      const first = next;
      const type = verb === 'add' ? messages.newElement : messages.delElement;
      const about = (entry: number | undefined): string => elementName(packed, first, entry);
      batch.appendListMessage(type, verb === 'add' ? messageFlags.create : 0, packed.family, about, (writer) => {
        const list = beginElements(writer, packed.set);
        const start = writer.length;
        if (form === undefined) {
          while (next < packed.length && writer.length - start < elementBytesPerMessage) writePrefix(writer, packed, next++);
        } else {
          next = Math.min(packed.length, first + Math.ceil(elementBytesPerMessage / form.length));
          form.write(writer, packed, first, next);
        }
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

function writePrefix(writer: MessageWriter, { octets, keyLength }: PackedSet, index: number): void {
  const start = index * keyLength;
  const middle = start + keyLength / 2;
  writeEntry(writer, octets.subarray(start, middle));
  const after = keyAfter(octets.subarray(middle, start + keyLength));
  if (after !== undefined) writeEntry(writer, after, elementFlags.intervalEnd);
}

/** Writes an entry with a key and no value. */
export function writeEntry(writer: MessageWriter, key: Uint8Array, flags = 0): void {
  const entry = writer.beginNested(listElement);
  writeData(writer, elementAttributes.key, key);
  if (flags !== 0) writer.numberAttribute(elementAttributes.flags, flags);
  writer.endNested(entry);
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
