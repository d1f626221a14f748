import type { Family } from '../../../net/address.ts';
import { listAttributes } from '../../../system/netlink/attributes.ts';
import { messageFlags, messageHeaderBytes } from '../../../system/netlink/message.ts';
import { MessageWriter } from '../../../system/netlink/message-writer.ts';
import { tableFamily } from '../../ruleset/layout.ts';
import { batchAttributes, elementListAttributes, messages, protocolFamily, subsystem } from './constants.ts';
import { writeAttributes, type Attributes } from './rules/expressions.ts';

/** struct nfgenmsg: family, version, and for a batch the subsystem in network byte order. */
export const netfilterHeaderBytes = 4;

export function netfilterHeader(family: number, resource = 0): Uint8Array {
  return Uint8Array.of(family, 0, resource >> 8, resource & 0xff);
}

/** Describes a message for people. `entry`: the index of the faulty entry of a list, where it is known. */
type About = (entry: number | undefined) => string;

const transaction: About = () => 'the transaction';

/**
 * A transaction in the kernel's format: one datagram whose messages are between "begin" and "end". Each message has its own sequence
 * number, which errors refer to. The last message inside requests an acknowledgement, which signals success.
 */
export class Batch {
  readonly #writer: MessageWriter;
  readonly #firstSequence: number;
  /** By sequence: the offset at which the message begins, and its description for people. */
  readonly #starts: number[] = [];
  readonly #about: About[] = [];

  /**
   * `generation`: the kernel refuses the batch (ERESTART) if the latest transaction has another number. `writer` is empty, and belongs to
   * the batch for as long as that is used.
   */
  constructor(firstSequence: number, generation?: number, writer = new MessageWriter()) {
    this.#firstSequence = firstSequence;
    this.#writer = writer;
    this.#message(messages.batchBegin, 0, netfilterHeader(0, subsystem), transaction, () => {
      if (generation !== undefined) writer.numberAttribute(batchAttributes.generation, generation);
    });
  }

  get length(): number {
    return this.#writer.length;
  }

  /** Appends one message that creates or removes an object. `about` describes the object for people. */
  appendMessage(type: number, flags: number, family: Family, about: string, attributes: Attributes): void {
    const write = (writer: MessageWriter): void => writeAttributes(writer, attributes);
    this.appendListMessage(type, flags, family, () => about, write);
  }

  /** Appends one message with a list. */
  appendListMessage(type: number, flags: number, family: Family, about: About, write: (writer: MessageWriter) => void): void {
    this.#message(type, flags, netfilterHeader(protocolFamily[tableFamily(family)]), about, write);
  }

  /** Returns the datagram, the sequence number whose acknowledgement means success, and the next free sequence number. */
  end(): { readonly datagram: Uint8Array; readonly last: number; readonly next: number } {
    const last = this.#starts.length - 1;
    // The flags are at offset 6 of a header.
    const flagsAt = (this.#starts[last] ?? 0) + 6;
    this.#message(messages.batchEnd, 0, netfilterHeader(0, subsystem), transaction, () => undefined);
    const datagram = this.#writer.bytes();
    datagram[flagsAt] = (datagram[flagsAt] ?? 0) | messageFlags.ack;
    return { datagram, last: this.#firstSequence + last, next: this.#firstSequence + this.#starts.length };
  }

  /** Describes a message of ours. `offset`: position of the faulty attribute, from the beginning of the message. */
  describe(sequence: number, offset: number | undefined): string {
    const index = sequence - this.#firstSequence;
    return this.#about[index]?.(offset === undefined ? undefined : this.#entry(index, offset)) ?? transaction(undefined);
  }

  /** Returns the number of a message among those that were appended, from zero. */
  indexOf(sequence: number): number {
    // "Begin" is the first message.
    return sequence - this.#firstSequence - 1;
  }

  /** Returns the list index of the element that contains the attribute at `offset`. */
  #entry(index: number, offset: number): number | undefined {
    const headers = messageHeaderBytes + netfilterHeaderBytes;
    const start = this.#starts[index];
    if (start === undefined) return undefined;
    const message = this.#writer.bytes().subarray(start + headers, this.#starts[index + 1]);
    const list = listAttributes(message).find(({ type }) => type === elementListAttributes.elements);
    if (list === undefined) return undefined;
    const first = headers + list.offset + 4;
    const entry = listAttributes(list.value).findLastIndex((element) => first + element.offset <= offset);
    return entry < 0 ? undefined : entry;
  }

  #message(type: number, flags: number, header: Uint8Array, about: About, write: (writer: MessageWriter) => void): void {
    const sequence = this.#firstSequence + this.#starts.length;
    const start = this.#writer.beginMessage({ type, flags: flags | messageFlags.request, sequence });
    this.#starts.push(start);
    this.#about.push(about);
    this.#writer.raw(header);
    write(this.#writer);
    this.#writer.endMessage(start);
  }
}
