import { aligned } from '../../../../system/netlink/attributes.ts';
import { MessageWriter } from '../../../../system/netlink/message-writer.ts';
import type { PackedSet } from '../../../ruleset/element-list.ts';
import { dataAttributes, elementAttributes, listElement, verdictAttributes } from '../constants.ts';
import { jumpCode } from '../rules/expressions.ts';

/** Octets of an entry that come from the record of its element. */
interface Blank {
  readonly at: number;
  readonly from: number;
  readonly length: number;
}

/**
 * The form of a set's entries in a message. Entries of one set have equal headers and differ only in key and value, so the headers are
 * encoded once and copied. Not for sets whose elements have two entries (`isPrefixSet`).
 */
export class EntryForm {
  readonly #headers: Uint8Array;
  readonly #blanks: readonly Blank[];

  constructor({ shape, keyLength, valueLength }: PackedSet, content: 'key' | 'key and value') {
    const writer = new MessageWriter();
    const entry = writer.beginNested(listElement);
    const isJump = shape.value?.[0] === 'chain';
    const blank = (type: number, from: number, length: number): Blank => {
      if (type === elementAttributes.data && isJump) writeJump(writer, type, new Uint8Array(length));
      else writeData(writer, type, new Uint8Array(length));
      return { at: writer.length - aligned(length), from, length };
    };
    const firstLength = shape.interval ? keyLength / 2 : keyLength;
    const blanks = [blank(elementAttributes.key, 0, firstLength)];
    if (shape.interval) blanks.push(blank(elementAttributes.keyEnd, firstLength, firstLength));
    if (shape.value !== undefined && content === 'key and value') blanks.push(blank(elementAttributes.data, keyLength, valueLength));
    writer.endNested(entry);
    this.#headers = writer.bytes();
    this.#blanks = blanks;
  }

  /** Octets of one entry. */
  get length(): number {
    return this.#headers.length;
  }

  /** Writes the entries of the elements from index `first` up to `end`, which is exclusive. */
  write(writer: MessageWriter, { octets, recordLength }: PackedSet, first: number, end: number): void {
    const entries = writer.repeat(this.#headers, end - first);
    const [entryLength, blanks] = [this.length, this.#blanks];
    for (let index = first; index < end; index++) {
      const record = index * recordLength;
      const entry = (index - first) * entryLength;
      // For so few octets, a loop is several times as fast as a call of the runtime.
      for (const { at, from, length } of blanks) {
        const to = entry + at;
        const source = record + from;
        for (let octet = 0; octet < length; octet++) entries[to + octet] = octets[source + octet] ?? 0;
      }
    }
  }
}

/** Writes a verdict that jumps to the chain of this name, which ends with a zero. */
function writeJump(writer: MessageWriter, type: number, chain: Uint8Array): void {
  const nested = writer.beginNested(type);
  const verdict = writer.beginNested(dataAttributes.verdict);
  writer.numberAttribute(verdictAttributes.code, jumpCode);
  writer.bytesAttribute(verdictAttributes.chain, chain);
  writer.endNested(verdict);
  writer.endNested(nested);
}

export function writeData(writer: MessageWriter, type: number, value: Uint8Array): void {
  const nested = writer.beginNested(type);
  writer.bytesAttribute(dataAttributes.value, value);
  writer.endNested(nested);
}
