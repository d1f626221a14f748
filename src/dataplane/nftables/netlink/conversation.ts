import type { Family } from '../../../net/address.ts';
import { sleep, type Clock } from '../../../system/clock.ts';
import { readAttributes, readNumber } from '../../../system/netlink/attributes.ts';
import { NetlinkError } from '../../../system/netlink/error.ts';
import {
  messageFlags,
  messageTypes,
  readAcknowledgement,
  readMessages,
  type Acknowledgement,
  type Message,
} from '../../../system/netlink/message.ts';
import { MessageWriter } from '../../../system/netlink/message-writer.ts';
import type { NetlinkSocket } from '../../../system/netlink/socket.ts';
import { tableFamily } from '../layout.ts';
import { datagramsPerTurn, dumpAttempts } from '../limits.ts';
import { Batch, netfilterHeader, netfilterHeaderBytes } from './batch.ts';
import { generationAttributes, messages, protocolFamily } from './constants.ts';
import { writeAttributes, type Attributes } from './expressions.ts';

/** What the kernel refused of a transaction. */
export interface Refusal {
  readonly error: NetlinkError;
  /** The object concerned, and the kernel's words if it has some. */
  readonly text: string;
}

/** A request that lists. */
export interface Question {
  readonly type: number;
  readonly family: Family;
  readonly attributes: Attributes;
}

/**
 * Requests and answers over one socket, one request after the other. The kernel does its work while a request is handed over, so
 * that the answers are there when `send` resolves; of a list, each datagram is made when the one before has been read.
 */
export class Conversation {
  readonly #socket: NetlinkSocket;
  readonly #clock: Clock;
  #tail: Promise<unknown> = Promise.resolve();
  #sequence = 1;

  constructor(socket: NetlinkSocket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
  }

  /** Undefined: the kernel has done all of it. Otherwise nothing has changed. Rejects with a NetlinkError or MalformedNetlink. */
  transact(fill: (batch: Batch) => void | Promise<void>): Promise<Refusal | undefined> {
    return this.#enqueue(async () => {
      const batch = new Batch(this.#sequence);
      await fill(batch);
      const { datagram, last, next } = batch.end();
      this.#sequence = next % 0x8000_0000;
      await this.#socket.send(datagram);
      let done = false;
      let refusal: Refusal | undefined;
      for (const message of this.#waiting()) {
        if (message.type !== messageTypes.error || !batch.has(message.sequence)) continue;
        const answer = readAcknowledgement(message);
        if (answer.errno === 0) done ||= message.sequence === last;
        else refusal ??= refusalOf(batch, message.sequence, answer);
      }
      if (refusal === undefined && !done) throw new NetlinkError('no answer from the kernel', ENODATA);
      return refusal;
    });
  }

  /**
   * The payloads of a list, after the family's header; a list that changed while it was read is read again. Rejects with
   * a NetlinkError: ENOENT where what is listed is not there.
   */
  list(question: Question): Promise<Uint8Array[]> {
    return this.#enqueue(async () => {
      for (let attempt = 1; ; attempt++) {
        const { payloads, interrupted } = await this.#listOnce(question);
        if (!interrupted) return payloads;
        if (attempt === dumpAttempts) throw new NetlinkError('the list changes all the time', EINTR);
      }
    });
  }

  /** The number of the latest transaction in this network namespace, by whomever. */
  generation(): Promise<number> {
    return this.#enqueue(async () => {
      const sequence = this.#sequence++;
      const writer = new MessageWriter();
      const start = writer.beginMessage({ type: messages.getGeneration, flags: messageFlags.request, sequence });
      writer.raw(netfilterHeader(0));
      writer.endMessage(start);
      await this.#socket.send(writer.bytes());
      for (const message of this.#waiting()) {
        if (message.sequence !== sequence || message.type !== messages.newGeneration) continue;
        const number = readAttributes(message.payload.subarray(netfilterHeaderBytes)).get(generationAttributes.number);
        if (number !== undefined) return readNumber(number);
      }
      throw new NetlinkError('no answer from the kernel', ENODATA);
    });
  }

  async #listOnce({ type, family, attributes }: Question): Promise<{ payloads: Uint8Array[]; interrupted: boolean }> {
    const sequence = this.#sequence++;
    const writer = new MessageWriter();
    const start = writer.beginMessage({ type, flags: messageFlags.request | messageFlags.dump, sequence });
    writer.raw(netfilterHeader(protocolFamily[tableFamily(family)]));
    writeAttributes(writer, attributes);
    writer.endMessage(start);
    await this.#socket.send(writer.bytes());
    const payloads: Uint8Array[] = [];
    let interrupted = false;
    for (let datagrams = 1; ; datagrams++) {
      const datagram = this.#socket.receive();
      if (datagram === undefined) throw new NetlinkError('the list has no end', ENODATA);
      for (const message of readMessages(datagram)) {
        if (message.sequence !== sequence) continue;
        if (message.type === messageTypes.error) {
          const { errno } = readAcknowledgement(message);
          if (errno !== 0) throw new NetlinkError('listing', errno);
          continue;
        }
        if ((message.flags & messageFlags.dumpInterrupted) !== 0) interrupted = true;
        if (message.type === messageTypes.done) {
          const errno = doneError(message);
          if (errno !== 0) throw new NetlinkError('listing', errno);
          return { payloads, interrupted };
        }
        payloads.push(message.payload.subarray(netfilterHeaderBytes));
      }
      if (datagrams % datagramsPerTurn === 0) await sleep(this.#clock, 0);
    }
  }

  *#waiting(): Generator<Message> {
    for (let datagram = this.#socket.receive(); datagram !== undefined; datagram = this.#socket.receive()) yield* readMessages(datagram);
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(work, work);
    this.#tail = result.catch(() => undefined);
    return result;
  }
}

const EINTR = 4;
const ENODATA = 61;

function refusalOf(batch: Batch, sequence: number, { errno, offset, text }: Acknowledgement): Refusal {
  const error = new NetlinkError(batch.describe(sequence, offset), errno);
  return { error, text: text === undefined ? error.message : `${error.message} (${text})` };
}

/** The end of a list carries a number of its own, negative for an error. */
function doneError({ payload }: Message): number {
  if (payload.length < 4) return 0;
  return Math.abs(Math.min(0, new DataView(payload.buffer, payload.byteOffset).getInt32(0, true)));
}
