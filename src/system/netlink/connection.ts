import type { Clock } from '../clock.ts';
import { TimeSlice } from '../time-slice.ts';
import { AcknowledgementLost, MalformedNetlink, NetlinkError } from './error.ts';
import { dumpAttempts, requestsPerDatagram } from './limits.ts';
import { messageFlags, messageTypes, readAcknowledgement, readMessages, type Message } from './message.ts';
import { MessageWriter } from './message-writer.ts';
import type { NetlinkSocket } from './socket.ts';
import { SerialQueue } from '../../lang/serial-queue.ts';

/** One request. `flags` are added to NLM_F_REQUEST; `write` writes the payload after the header. */
export interface Request {
  readonly type: number;
  readonly flags?: number;
  readonly write: (writer: MessageWriter) => void;
}

export interface Answer {
  readonly payloads: readonly Uint8Array[];
  readonly errno: number;
}

interface Outgoing {
  readonly datagram: Uint8Array;
  /** The first sequence number after the datagram's messages. */
  readonly next: number;
}

/**
 * Sends requests over one netlink socket, one after the other, and reads the answers. The kernel does the work during `send`, so the
 * answers are there when `send` resolves. For a dump, the kernel writes each datagram after the previous one was read.
 *
 * Every method rejects with NetlinkError or MalformedNetlink. `exchange` and `change` reject with AcknowledgementLost when the kernel
 * received the request but its answer was lost.
 */
export class NetlinkConnection {
  readonly #socket: NetlinkSocket;
  readonly #clock: Clock;
  readonly #queue = new SerialQueue();
  #sequence = 1;

  constructor(socket: NetlinkSocket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
  }

  /**
   * Sends requests that create or remove something, each independent of the others. Returns the kernel's error for each, undefined for
   * success.
   */
  async change(requests: readonly Request[]): Promise<(NetlinkError | undefined)[]> {
    const problems: (NetlinkError | undefined)[] = [];
    for (let start = 0; start < requests.length; start += requestsPerDatagram) {
      const part = requests.slice(start, start + requestsPerDatagram);
      let first = 0;
      const answers = await this.exchange((sequence) => {
        first = sequence;
        const writer = new MessageWriter();
        for (const request of part) writeRequest(writer, request, messageFlags.ack, sequence++);
        return { datagram: writer.bytes(), next: sequence };
      });
      const bySequence = new Map(answers.map((message) => [message.sequence, readAcknowledgement(message)]));
      for (let sequence = first; sequence < first + part.length; sequence++) {
        const { errno, text } = bySequence.get(sequence) ?? { errno: ENODATA, text: 'no answer' };
        problems.push(errno === 0 ? undefined : new NetlinkError(text ?? 'the kernel', errno));
      }
    }
    return problems;
  }

  /** Builds a datagram from the next free sequence number and sends it. Returns its acknowledgements. */
  exchange(build: (sequence: number) => Outgoing | Promise<Outgoing>): Promise<Message[]> {
    return this.#queue.run(async () => {
      const first = this.#sequence;
      const { datagram, next } = await build(first);
      this.#sequence = next % 0x8000_0000;
      await this.#socket.send(datagram);
      try {
        return this.#receiveAll().filter(({ type, sequence }) => type === messageTypes.error && sequence >= first && sequence < next);
      } catch (error) {
        if (!(error instanceof NetlinkError || error instanceof MalformedNetlink)) throw error;
        throw new AcknowledgementLost(error.message, { cause: error });
      }
    });
  }

  /** Sends a request for one object, for which the kernel never waits, and returns the payload of the answer. */
  request(request: Request): Promise<Uint8Array> {
    return this.#queue.run(async () => {
      const sequence = this.#sequence++;
      const writer = new MessageWriter();
      writeRequest(writer, request, 0, sequence);
      await this.#socket.send(writer.bytes(), true);
      const answer = this.#receiveAll().find((message) => message.sequence === sequence);
      if (answer === undefined) throw new NetlinkError('no answer from the kernel', ENODATA);
      if (answer.type === messageTypes.error) throw new NetlinkError('asking the kernel', readAcknowledgement(answer).errno);
      return answer.payload;
    });
  }

  /**
   * Sends requests that are answered with several payloads each. Returns for each the payloads and the error number that ended them (0:
   * none). All requests are sent in one datagram, and all answers must fit into the socket's buffer.
   */
  requestEach(requests: readonly Request[]): Promise<readonly Answer[]> {
    return this.#queue.run(async () => {
      const first = this.#sequence;
      this.#sequence += requests.length;
      const writer = new MessageWriter();
      for (const [index, request] of requests.entries()) writeRequest(writer, request, messageFlags.ack, first + index);
      const payloads = requests.map((): Uint8Array[] => []);
      const errors = requests.map((): number | undefined => undefined);
      // There may be many thousand answers. They are read here while the kernel produces more in another thread.
      let sent = false;
      const sending = this.#socket.send(writer.bytes()).finally(() => (sent = true));
      const reading = async (): Promise<void> => {
        const slice = new TimeSlice(this.#clock);
        for (let last = false; !last;) {
          last = sent;
          for (let datagram = this.#socket.receive(); datagram !== undefined; datagram = this.#socket.receive()) {
            for (const message of readMessages(datagram)) {
              const index = message.sequence - first;
              if (message.type === messageTypes.error) errors[index] = readAcknowledgement(message).errno;
              else payloads[index]?.push(message.payload);
            }
            if (slice.isUsedUp) await slice.yield();
          }
          if (!last) await slice.yield();
        }
      };
      await Promise.all([sending, reading()]);
      return payloads.map((each, index) => {
        const errno = errors[index];
        if (errno === undefined) throw new NetlinkError('no answer from the kernel', ENODATA);
        return { payloads: each, errno };
      });
    });
  }

  #receiveAll(): Message[] {
    const messages: Message[] = [];
    for (let datagram = this.#socket.receive(); datagram !== undefined; datagram = this.#socket.receive())
      for (const message of readMessages(datagram)) messages.push(message);
    return messages;
  }

  /**
   * Dumps a list. `read` parses each payload; payloads for which it returns undefined are left out. A list that changed during the dump is
   * read again.
   */
  list<T>(request: Request, read: (payload: Uint8Array) => T | undefined): Promise<T[]> {
    return this.#queue.run(async () => {
      for (let attempt = 1; ; attempt++) {
        const { results, interrupted } = await this.#listOnce(request, read);
        if (!interrupted) return results;
        if (attempt === dumpAttempts) throw new NetlinkError('the list kept changing while it was read', EINTR);
      }
    });
  }

  async #listOnce<T>(request: Request, read: (payload: Uint8Array) => T | undefined): Promise<{ results: T[]; interrupted: boolean }> {
    const sequence = this.#sequence++;
    const writer = new MessageWriter();
    writeRequest(writer, request, messageFlags.dump, sequence);
    await this.#socket.send(writer.bytes());
    const results: T[] = [];
    let interrupted = false;
    for (const slice = new TimeSlice(this.#clock); ;) {
      const datagram = this.#socket.receive();
      if (datagram === undefined) throw new NetlinkError('the end of the list is missing', ENODATA);
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
          return { results, interrupted };
        }
        const result = read(message.payload);
        if (result !== undefined) results.push(result);
      }
      if (slice.isUsedUp) await slice.yield();
    }
  }
}

const EINTR = 4;
const ENODATA = 61;

function writeRequest(writer: MessageWriter, { type, flags = 0, write }: Request, kind: number, sequence: number): void {
  const start = writer.beginMessage({ type, flags: flags | messageFlags.request | kind, sequence });
  write(writer);
  writer.endMessage(start);
}

/** Returns the error number at the end of a dump, 0 for none. The kernel sends it as a negative number. */
function doneError({ payload }: Message): number {
  if (payload.length < 4) return 0;
  return Math.abs(Math.min(0, new DataView(payload.buffer, payload.byteOffset).getInt32(0, true)));
}
