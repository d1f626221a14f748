import { messageFlags } from '../../../system/netlink/message.ts';
import type { MessageWriter } from '../../../system/netlink/message-writer.ts';
import type { Element } from '../elements.ts';
import { allSets, tableFamily, tableName, type SetShape } from '../layout.ts';
import { elementBytesPerMessage } from '../limits.ts';
import type { Batch } from './batch.ts';
import { dataAttributes, elementAttributes, elementFlags, elementListAttributes, listElement, messages } from './constants.ts';
import type { FieldWriter } from './fields.ts';

/** Adds or deletes elements, set by set, in messages that stay below the bound. */
export function writeElements(batch: Batch, verb: 'add' | 'delete', elements: readonly Element[], fields: FieldWriter): void {
  const bySet = new Map<string, Element[]>();
  for (const element of elements) {
    const where = `${tableFamily(element.family)} ${tableName} ${element.set}`;
    const others = bySet.get(where);
    if (others === undefined) bySet.set(where, [element]);
    else others.push(element);
  }
  for (const [where, list] of bySet) writeList(batch, verb, where, list, fields);
}

function writeList(batch: Batch, verb: 'add' | 'delete', where: string, elements: readonly Element[], fields: FieldWriter): void {
  const [first] = elements;
  if (first === undefined) return;
  const { family, set } = first;
  const shape = allSets.get(set);
  if (shape === undefined) throw new RangeError(`there is no set ${set}`);
  let next = 0;
  while (next < elements.length) {
    // In a prefix set an element of ours is two of the kernel's.
    const owners: Element[] = [];
    const about = (entry: number | undefined): string => {
      const element = entry === undefined ? undefined : owners[entry];
      return element === undefined ? `elements of ${where}` : `element ${element.key} of ${where}`;
    };
    const type = verb === 'add' ? messages.newElement : messages.delElement;
    batch.addList(type, verb === 'add' ? messageFlags.create : 0, family, about, (writer) => {
      const list = beginElements(writer, set);
      const start = writer.length;
      while (next < elements.length && writer.length - start < elementBytesPerMessage) {
        const element = elements[next++];
        if (element !== undefined) writeElement(writer, verb, element, shape, fields, owners);
      }
      writer.endNested(list);
    });
  }
}

/** The list of a message begins; `endNested` ends it. */
export function beginElements(writer: MessageWriter, set: string, setId?: number): number {
  writer.textAttribute(elementListAttributes.table, tableName);
  writer.textAttribute(elementListAttributes.set, set);
  if (setId !== undefined) writer.numberAttribute(elementListAttributes.setId, setId);
  return writer.beginNested(elementListAttributes.elements);
}

function writeElement(
  writer: MessageWriter,
  verb: 'add' | 'delete',
  element: Element,
  shape: SetShape,
  fields: FieldWriter,
  owners: Element[],
): void {
  const { family, key, value } = element;
  const octets = fields.write(family, shape.key, key);
  owners.push(element);
  const entry = writer.beginNested(listElement);
  writeData(writer, elementAttributes.key, octets.first);
  if (shape.interval && shape.key.length > 1) writeData(writer, elementAttributes.keyEnd, octets.last);
  const end = shape.interval && shape.key.length === 1 ? keyAfter(octets.last) : undefined;
  if (shape.value !== undefined && value !== undefined && verb === 'add')
    writeData(writer, elementAttributes.data, fields.write(family, shape.value, value).first);
  writer.endNested(entry);
  if (end === undefined) return;
  // In a set of prefixes alone, a range is its first key and, marked, the key after its last one.
  owners.push(element);
  const marked = writer.beginNested(listElement);
  writeData(writer, elementAttributes.key, end);
  writer.numberAttribute(elementAttributes.flags, elementFlags.intervalEnd);
  writer.endNested(marked);
}

/** Undefined after the very last key: a range up to there has no end. */
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
