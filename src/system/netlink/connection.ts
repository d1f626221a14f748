import type { Clock } from '../clock.ts';
import { TimeSlice } from '../time-slice.ts';
import { AcknowledgementLost, MalformedNetlink, NetlinkError } from './error.ts';
import { dumpAttempts, requestsPerDatagram } from './limits.ts';
import { messageFlags, messageTypes, readAcknowledgement, readMessages, type Message } from './message.ts';
import { MessageWriter } from './message-writer.ts';
import type { NetlinkSocket } from './socket.ts';
import { SerialQueue } from '../serial-queue.ts';

/** A request: its type, its flags beside "request", and what comes after the header. */
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
  /** The sequence number after its last. */
  readonly next: number;
}

/**
 * Requests and answers over one socket, one request after the other. The kernel does its work while a request is handed over, so
 * that the answers are there when `send` resolves; of a list, each datagram is made when the one before has been read.
 *
 * Everything rejects with a NetlinkError or MalformedNetlink, and what changes something with AnswerLost.
 */
export class NetlinkConnection {
  readonly #socket: NetlinkSocket;
  readonly #clock: Clock;
  readonly #serial = new SerialQueue();
  #sequence = 1;

  constructor(socket: NetlinkSocket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
  }

  /** Requests that make or remove something, each by itself. For each what the kernel says against it; undefined: it was done. */
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

  /** Hands over a datagram, which is made from the first sequence number that is free; the acknowledgements to it. */
  exchange(build: (sequence: number) => Outgoing | Promise<Outgoing>): Promise<Message[]> {
    return this.#serial.run(async () => {
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

  /** What a request for one thing is answered with: its payload. */
  request(request: Request): Promise<Uint8Array> {
    return this.#serial.run(async () => {
      const sequence = this.#sequence++;
      const writer = new MessageWriter();
      writeRequest(writer, request, 0, sequence);
      await this.#socket.send(writer.bytes());
      const answer = this.#receiveAll().find((message) => message.sequence === sequence);
      if (answer === undefined) throw new NetlinkError('no answer from the kernel', ENODATA);
      if (answer.type === messageTypes.error) throw new NetlinkError('asking the kernel', readAcknowledgement(answer).errno);
      return answer.payload;
    });
  }

  /**
   * Requests that are answered with several payloads each: these, and the number of the error that ended them (0: none). One
   * datagram, and all answers have to fit into the socket's buffer.
   */
  requestEach(requests: readonly Request[]): Promise<readonly Answer[]> {
    return this.#serial.run(async () => {
      const first = this.#sequence;
      this.#sequence += requests.length;
      const writer = new MessageWriter();
      for (const [index, request] of requests.entries()) writeRequest(writer, request, messageFlags.ack, first + index);
      const payloads = requests.map((): Uint8Array[] => []);
      const errors = requests.map((): number | undefined => undefined);
      // There may be many thousand answers: they are read here while the kernel makes others in a thread.
      let sent = false;
      const sending = this.#socket.send(writer.bytes()).finally(() => (sent = true));
      const reading = async (): Promise<void> => {
        const turn = new TimeSlice(this.#clock);
        for (let last = false; !last;) {
          last = sent;
          for (let datagram = this.#socket.receive(); datagram !== undefined; datagram = this.#socket.receive()) {
            for (const message of readMessages(datagram)) {
              const index = message.sequence - first;
              if (message.type === messageTypes.error) errors[index] = readAcknowledgement(message).errno;
              else payloads[index]?.push(message.payload);
            }
            if (turn.isUsedUp) await turn.yield();
          }
          if (!last) await turn.yield();
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

  /** A list, as `read` reads each payload and without those of which it makes nothing; one that changed while it was read is read again. */
  list<T>(request: Request, read: (payload: Uint8Array) => T | undefined): Promise<T[]> {
    return this.#serial.run(async () => {
      for (let attempt = 1; ; attempt++) {
        const { results, interrupted } = await this.#listOnce(request, read);
        if (!interrupted) return results;
        if (attempt === dumpAttempts) throw new NetlinkError('the list changes all the time', EINTR);
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
    for (const turn = new TimeSlice(this.#clock); ;) {
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
          return { results, interrupted };
        }
        const result = read(message.payload);
        if (result !== undefined) results.push(result);
      }
      if (turn.isUsedUp) await turn.yield();
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

/** The end of a list carries a number of its own, negative for an error. */
function doneError({ payload }: Message): number {
  if (payload.length < 4) return 0;
  return Math.abs(Math.min(0, new DataView(payload.buffer, payload.byteOffset).getInt32(0, true)));
}
