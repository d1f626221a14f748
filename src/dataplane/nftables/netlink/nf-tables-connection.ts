import type { Family } from '../../../net/address.ts';
import type { Clock } from '../../../system/clock.ts';
import { readAttributes, readNumber } from '../../../system/netlink/attributes.ts';
import { NetlinkConnection, type Answer } from '../../../system/netlink/connection.ts';
import { AcknowledgementLost, MalformedNetlink, NetlinkError } from '../../../system/netlink/error.ts';
import { MessageWriter } from '../../../system/netlink/message-writer.ts';
import { readAcknowledgement, type Acknowledgement } from '../../../system/netlink/message.ts';
import type { NetlinkSocket } from '../../../system/netlink/socket.ts';
import { tableFamily } from '../../ruleset/layout.ts';
import { Batch, netfilterHeader, netfilterHeaderBytes } from './batch.ts';
import { generationAttributes, messages, netdevFamily, protocolFamily, tableAttributes } from './constants.ts';
import { writeAttributes, type Attributes } from './rules/expressions.ts';

/** The error with which the kernel refused a transaction. */
export interface Refusal {
  readonly error: NetlinkError;
  /** The object concerned, and the kernel's explanation if there is one. */
  readonly text: string;
  /** Every refused message: its number among those that `fill` appended, from zero, and the error. */
  readonly messages: readonly { readonly index: number; readonly code: string }[];
}

/** Runs transactions and lists of nf_tables over one socket, one after the other. Both reject with NetlinkError or MalformedNetlink. */
export class NfTablesConnection {
  readonly #connection: NetlinkConnection;
  /** The writer of the latest transaction. Absent while a transaction uses it. */
  #spareWriter: MessageWriter | undefined;

  constructor(socket: NetlinkSocket, clock: Clock) {
    this.#connection = new NetlinkConnection(socket, clock);
  }

  /**
   * Runs a transaction. Undefined: the kernel committed it. A returned refusal means that nothing has changed. Rejects with
   * AcknowledgementLost when the outcome is unknown.
   */
  async transact(fill: (batch: Batch) => void | Promise<void>, generation?: number): Promise<Refusal | undefined> {
    const writer = this.#spareWriter ?? new MessageWriter();
    this.#spareWriter = undefined;
    try {
      return await this.#transact(writer, fill, generation);
    } finally {
      writer.clear();
      this.#spareWriter = writer;
    }
  }

  async #transact(
    writer: MessageWriter,
    fill: (batch: Batch) => void | Promise<void>,
    generation: number | undefined,
  ): Promise<Refusal | undefined> {
    let made: { readonly batch: Batch; readonly last: number } | undefined;
    const answers = await this.#connection.exchange(async (sequence) => {
      const batch = new Batch(sequence, generation, writer);
      await fill(batch);
      const { datagram, last, next } = batch.end();
      made = { batch, last };
      return { datagram, next };
    });
    let done = false;
    const refused: RefusedMessage[] = [];
    for (const message of answers) {
      const answer = readAcknowledgement(message);
      if (answer.errno !== 0) refused.push({ sequence: message.sequence, answer });
      else done ||= message.sequence === made?.last;
    }
    const [first] = refused;
    if (first !== undefined && made !== undefined) return refusalOf(made.batch, first, refused);
    if (!done) throw new AcknowledgementLost('there is none');
    return undefined;
  }

  /** Returns the payloads of a list without the family header. Rejects with ENOENT when the listed object does not exist. */
  list(type: number, family: Family, attributes: Attributes): Promise<Uint8Array[]> {
    const write = (writer: MessageWriter): void => {
      writer.raw(netfilterHeader(protocolFamily[tableFamily(family)]));
      writeAttributes(writer, attributes);
    };
    return this.#connection.list({ type, write }, (payload) => payload.subarray(netfilterHeaderBytes));
  }

  /**
   * Returns for each request the payloads of its reply without the family header, and the error number that ended it (0: none). The
   * requests are sent as one datagram, and all replies must fit into the socket's buffer.
   */
  async requestEach(type: number, family: Family, requests: readonly ((writer: MessageWriter) => void)[]): Promise<readonly Answer[]> {
    const answers = await this.#connection.requestEach(
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

  async hasNetdevTable(name: string): Promise<boolean> {
    const write = (writer: MessageWriter): void => {
      writer.raw(netfilterHeader(netdevFamily));
      writeAttributes(writer, [[tableAttributes.name, name]]);
    };
    try {
      await this.#connection.request({ type: messages.getTable, write });
      return true;
    } catch (error) {
      if (error instanceof NetlinkError && error.code === 'ENOENT') return false;
      throw error;
    }
  }

  /** Returns the number of the latest transaction in this network namespace, by any program. */
  async generation(): Promise<number> {
    const write = (writer: MessageWriter): void => writer.raw(netfilterHeader(0));
    const payload = await this.#connection.request({ type: messages.getGeneration, write });
    const number = readAttributes(payload.subarray(netfilterHeaderBytes)).get(generationAttributes.number);
    if (number === undefined) throw new MalformedNetlink('a generation without its number');
    return readNumber(number);
  }
}

interface RefusedMessage {
  readonly sequence: number;
  readonly answer: Acknowledgement;
}

function refusalOf(
  batch: Batch,
  { sequence, answer: { errno, offset, text } }: RefusedMessage,
  refused: readonly RefusedMessage[],
): Refusal {
  const error = new NetlinkError(batch.describe(sequence, offset), errno);
  return {
    error,
    text: text === undefined ? error.message : `${error.message} (${text})`,
    messages: refused.map((each) => ({ index: batch.indexOf(each.sequence), code: new NetlinkError('', each.answer.errno).code })),
  };
}
