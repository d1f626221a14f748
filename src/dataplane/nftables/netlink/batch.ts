import type { Family } from '../../../net/address.ts';
import { listAttributes } from '../../../system/netlink/attributes.ts';
import { messageFlags, messageHeaderBytes } from '../../../system/netlink/message.ts';
import { MessageWriter } from '../../../system/netlink/message-writer.ts';
import { tableFamily } from '../../ruleset/layout.ts';
import { batchAttributes, elementListAttributes, messages, protocolFamily, subsystem } from './constants.ts';
import { writeAttributes, type Attributes } from './rules/expressions.ts';

/** struct nfgenmsg: family, version, and for a batch its subsystem in network byte order. */
export const netfilterHeaderBytes = 4;

export function netfilterHeader(family: number, resource = 0): Uint8Array {
  return Uint8Array.of(family, 0, resource >> 8, resource & 0xff);
}

/**
 * A transaction as the kernel takes it: one datagram whose messages stand between "begin" and "end". Each has a sequence number of
 * its own, by which errors are told apart. The last one inside is acknowledged, so that success is heard of.
 */
export class Batch {
  readonly #writer = new MessageWriter();
  readonly #firstSequence: number;
  /** By sequence: where the message begins, and what it does, for people. */
  readonly #starts: number[] = [];
  readonly #about: ((entry: number | undefined) => string)[] = [];

  /** `generation`: the kernel refuses all of it (ERESTART) where that is not the number of the latest transaction. */
  constructor(firstSequence: number, generation?: number) {
    this.#firstSequence = firstSequence;
    this.#message(
      messages.batchBegin,
      0,
      0,
      subsystem,
      () => 'the transaction',
      (writer) => {
        if (generation !== undefined) writer.numberAttribute(batchAttributes.generation, generation);
      },
    );
  }

  get length(): number {
    return this.#writer.length;
  }

  /** One message that makes or removes something. `about`: what, for people. */
  add(type: number, flags: number, family: Family, about: string, attributes: Attributes): void {
    this.#message(
      type,
      flags,
      protocolFamily[tableFamily(family)],
      0,
      () => about,
      (writer) => writeAttributes(writer, attributes),
    );
  }

  /** One message with a list; `about` gets the place in the list of what is at fault, where that is known. */
  addList(
    type: number,
    flags: number,
    family: Family,
    about: (entry: number | undefined) => string,
    write: (writer: MessageWriter) => void,
  ): void {
    this.#message(type, flags, protocolFamily[tableFamily(family)], 0, about, write);
  }

  /** The datagram, the number whose acknowledgement means success, and the next number that is free. */
  end(): { readonly datagram: Uint8Array; readonly last: number; readonly next: number } {
    const last = this.#starts.length - 1;
    // The flags are at the sixth octet of a header.
    const flagsAt = (this.#starts[last] ?? 0) + 6;
    this.#message(
      messages.batchEnd,
      0,
      0,
      subsystem,
      () => 'the transaction',
      () => {},
    );
    const datagram = this.#writer.bytes();
    datagram[flagsAt] = (datagram[flagsAt] ?? 0) | messageFlags.ack;
    return { datagram, last: this.#firstSequence + last, next: this.#firstSequence + this.#starts.length };
  }

  /** What a message of ours was about. `offset`: of the attribute at fault, from the beginning of the message. */
  describe(sequence: number, offset: number | undefined): string {
    const index = sequence - this.#firstSequence;
    return this.#about[index]?.(offset === undefined ? undefined : this.#entry(index, offset)) ?? 'the transaction';
  }

  has(sequence: number): boolean {
    return sequence >= this.#firstSequence && sequence < this.#firstSequence + this.#starts.length;
  }

  /** The place in its list of the element in which the attribute at `offset` is. */
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

  #message(
    type: number,
    flags: number,
    family: number,
    resource: number,
    about: (entry: number | undefined) => string,
    write: (writer: MessageWriter) => void,
  ): void {
    const sequence = this.#firstSequence + this.#starts.length;
    const start = this.#writer.beginMessage({ type, flags: flags | messageFlags.request, sequence });
    this.#starts.push(start);
    this.#about.push(about);
    this.#writer.raw(netfilterHeader(family, resource));
    write(this.#writer);
    this.#writer.endMessage(start);
  }
}
