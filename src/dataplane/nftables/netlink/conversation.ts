import type { Family } from '../../../net/address.ts';
import type { Clock } from '../../../system/clock.ts';
import { readAttributes, readNumber } from '../../../system/netlink/attributes.ts';
import { NetlinkConnection, type Answer } from '../../../system/netlink/connection.ts';
import { AcknowledgementLost, MalformedNetlink, NetlinkError } from '../../../system/netlink/error.ts';
import type { MessageWriter } from '../../../system/netlink/message-writer.ts';
import { readAcknowledgement, type Acknowledgement } from '../../../system/netlink/message.ts';
import type { NetlinkSocket } from '../../../system/netlink/socket.ts';
import { tableFamily } from '../../ruleset/layout.ts';
import { Batch, netfilterHeader, netfilterHeaderBytes } from './batch.ts';
import { generationAttributes, messages, protocolFamily } from './constants.ts';
import { writeAttributes, type Attributes } from './rules/expressions.ts';

/** What the kernel refused of a transaction. */
export interface Refusal {
  readonly error: NetlinkError;
  /** The object concerned, and the kernel's words if it has some. */
  readonly text: string;
}

/** A request that lists. */
interface Question {
  readonly type: number;
  readonly family: Family;
  readonly attributes: Attributes;
}

/** Transactions and lists of nf_tables over one socket, one after the other. Both reject with a NetlinkError or MalformedNetlink. */
export class Conversation {
  readonly #conversation: NetlinkConnection;

  constructor(socket: NetlinkSocket, clock: Clock) {
    this.#conversation = new NetlinkConnection(socket, clock);
  }

  /** Undefined: the kernel has done all of it. Otherwise nothing has changed, unless it rejects with AnswerLost: then nobody knows. */
  async transact(fill: (batch: Batch) => void | Promise<void>, generation?: number): Promise<Refusal | undefined> {
    let made: { readonly batch: Batch; readonly last: number } | undefined;
    const answers = await this.#conversation.exchange(async (sequence) => {
      const batch = new Batch(sequence, generation);
      await fill(batch);
      const { datagram, last, next } = batch.end();
      made = { batch, last };
      return { datagram, next };
    });
    let done = false;
    for (const message of answers) {
      const answer = readAcknowledgement(message);
      if (answer.errno !== 0 && made !== undefined) return refusalOf(made.batch, message.sequence, answer);
      done ||= message.sequence === made?.last;
    }
    if (!done) throw new AcknowledgementLost('there is none');
    return undefined;
  }

  /** The payloads of a list, after the family's header. ENOENT where what is listed is not there. */
  list({ type, family, attributes }: Question): Promise<Uint8Array[]> {
    const write = (writer: MessageWriter): void => {
      writer.raw(netfilterHeader(protocolFamily[tableFamily(family)]));
      writeAttributes(writer, attributes);
    };
    return this.#conversation.list({ type, write }, (payload) => payload.subarray(netfilterHeaderBytes));
  }

  /**
   * The payloads that answer each request, after the family's header, and the number of the error that ended it (0: none). The requests are one
   * datagram, and all answers have to fit into the socket's buffer.
   */
  async ask(type: number, family: Family, requests: readonly ((writer: MessageWriter) => void)[]): Promise<readonly Answer[]> {
    const answers = await this.#conversation.requestEach(
      requests.map((write) => ({
        type,
        write: (writer) => {
          writer.raw(netfilterHeader(protocolFamily[tableFamily(family)]));
          write(writer);
        },
      })),
    );
    return answers.map(({ payloads, errno }) => ({ payloads: payloads.map((payload) => payload.subarray(netfilterHeaderBytes)), errno }));
  }

  /** The number of the latest transaction in this network namespace, by whomever. */
  async generation(): Promise<number> {
    const write = (writer: MessageWriter): void => writer.raw(netfilterHeader(0));
    const payload = await this.#conversation.request({ type: messages.getGeneration, write });
    const number = readAttributes(payload.subarray(netfilterHeaderBytes)).get(generationAttributes.number);
    if (number === undefined) throw new MalformedNetlink('a generation without its number');
    return readNumber(number);
  }
}

function refusalOf(batch: Batch, sequence: number, { errno, offset, text }: Acknowledgement): Refusal {
  const error = new NetlinkError(batch.describe(sequence, offset), errno);
  return { error, text: text === undefined ? error.message : `${error.message} (${text})` };
}
