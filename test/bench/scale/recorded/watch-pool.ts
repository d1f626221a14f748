import { connect, type TLSSocket } from 'node:tls';
import { answerError, connectionError } from '../../../../src/kube/error.ts';
import type { Answer } from '../../../../src/kube/client/client.ts';
import type { Connection } from '../../../../src/kube/client/connection.ts';
import { isProtobuf } from '../../../../src/kube/format/protobuf/media-type.ts';
import { Chunked } from './chunked.ts';
import { ThinFrames } from './thin-frames.ts';
import { ThinStream } from './thin-stream.ts';

const headEnd = '\r\n\r\n';
/** A Reflector learns of the versions of events at this interval. It looks at them only when the watch breaks. */
const versionMilliseconds = 500;

/** The events that the watches of one kind got. */
export type EventCounts = Map<string, number>;

interface Watch {
  /** Path and query. */
  readonly target: string;
  /** The media types that the agent accepts. */
  readonly accept: string;
  /** The watch begins with all existing objects. */
  readonly isInitial: boolean;
}

/** Opens watches as HttpTransport of Herald's client does: HTTP/1.1, a connection for each watch, kept for the next one. */
export class WatchPool {
  readonly #connection: Connection;
  readonly #userAgent: string;
  readonly #events: EventCounts;
  readonly #idle: TLSSocket[] = [];
  readonly #open = new Set<TLSSocket>();

  constructor(connection: Connection, userAgent: string, events: EventCounts) {
    [this.#connection, this.#userAgent, this.#events] = [connection, userAgent, events];
  }

  /** Resolves when the API server has accepted the watch. The body ends as the watch does. */
  async watch({ target, accept, isInitial }: Watch, signal: AbortSignal): Promise<Answer<AsyncIterable<Buffer>>> {
    signal.throwIfAborted();
    const { ca = '', authorization } = await this.#connection.credentials();
    const { host } = this.#connection.server;
    const path = target.split('?', 1)[0] ?? '';
    const socket = this.#idle.pop() ?? this.#connect(ca);
    const answer = new WatchAnswer(isInitial);
    const take = (bytes: Buffer): void => {
      answer.push(bytes);
      if (answer.isEnded) settle();
    };
    const broken = (error: NodeJS.ErrnoException): void => {
      answer.fail(connectionError(error, this.#connection));
      settle();
    };
    const closed = (): void => broken(new Error('the connection was closed'));
    const abort = (): void => {
      answer.fail(signal.reason as Error);
      settle();
    };
    const timer = setInterval(() => {
      const events = answer.takeEvents();
      if (events > 0) this.#events.set(path, (this.#events.get(path) ?? 0) + events);
    }, versionMilliseconds);
    const settle = (): void => {
      socket.off('data', take).off('error', broken).off('close', closed);
      signal.removeEventListener('abort', abort);
      clearInterval(timer);
      if (answer.isReusable && !socket.destroyed) this.#idle.push(socket);
      else socket.destroy();
    };
    signal.addEventListener('abort', abort, { once: true });
    socket.on('data', take).on('error', broken).on('close', closed);
    socket.write(
      `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nAccept: ${accept}\r\nAccept-Encoding: gzip\r\nUser-Agent: ${this.#userAgent}\r\nAuthorization: ${authorization}\r\nConnection: keep-alive\r\n\r\n`,
    );
    const { status, retryAfter, contentType } = await answer.head;
    if (status === 200) return { contentType, body: answer };
    settle();
    throw answerError(status, '', retryAfter);
  }

  close(): void {
    for (const socket of this.#open) socket.destroy();
    this.#idle.length = 0;
  }

  #connect(ca: string | Buffer): TLSSocket {
    const { hostname, port } = this.#connection.server;
    const socket = connect({ host: hostname, port: Number(port), ca, ALPNProtocols: ['http/1.1'] });
    this.#open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#open.delete(socket);
      const at = this.#idle.indexOf(socket);
      if (at !== -1) this.#idle.splice(at, 1);
    });
    return socket;
  }
}

interface Head {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly contentType: string | undefined;
}

/** The answer to one watch: what is left of it after thinning, as chunks. */
class WatchAnswer implements AsyncIterable<Buffer> {
  isEnded = false;
  isReusable = false;
  readonly #head = Promise.withResolvers<Head>();
  readonly #chunked = new Chunked();
  readonly #isInitial: boolean;
  #thin: ThinStream | ThinFrames;
  #text = '';
  #hasHead = false;
  #waiting: Buffer[] = [];
  #error: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(isInitial: boolean) {
    this.#isInitial = isInitial;
    this.#thin = new ThinStream(isInitial);
    // When the watch breaks before its answer, `watch` rejects.
    this.#head.promise.catch(() => undefined);
  }

  get head(): Promise<Head> {
    return this.#head.promise;
  }

  push(bytes: Buffer): void {
    const body = this.#hasHead ? bytes : this.#readHead(bytes);
    if (body === undefined || body.length === 0) return;
    this.#chunked.push(body, (part) => this.#queue(...this.#thin.push(part)));
    if (!this.#chunked.isComplete) return;
    this.isReusable = true;
    this.#finish();
  }

  fail(error: Error): void {
    this.#error ??= error;
    this.#head.reject(error);
    this.#finish();
  }

  /** Returns the number of events since the last call, and passes their version on. */
  takeEvents(): number {
    const { events } = this.#thin;
    this.#thin.events = 0;
    const version = this.#thin.version();
    if (version !== undefined) this.#queue(version);
    return events;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) yield next;
      else if (this.#error !== undefined) throw this.#error;
      else if (this.isEnded) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #finish(): void {
    const version = this.#thin.version();
    if (version !== undefined) this.#waiting.push(version);
    this.isEnded = true;
    this.#wake?.();
  }

  #queue(...lines: readonly Buffer[]): void {
    if (lines.length === 0) return;
    this.#waiting.push(...lines);
    this.#wake?.();
  }

  #readHead(bytes: Buffer): Buffer | undefined {
    this.#text += bytes.toString('latin1');
    const end = this.#text.indexOf(headEnd);
    if (end === -1) return undefined;
    const head = this.#text.slice(0, end);
    const body = Buffer.from(this.#text.slice(end + headEnd.length), 'latin1');
    this.#text = '';
    this.#hasHead = true;
    const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]);
    const header = (name: string): string | undefined => new RegExp(`^${name}: *(.*)$`, 'im').exec(head)?.[1]?.trim();
    const contentType = header('content-type');
    if (isProtobuf(contentType)) this.#thin = new ThinFrames(this.#isInitial);
    this.#head.resolve({ status, retryAfter: header('retry-after'), contentType });
    // An error is not chunked, and its text is not read.
    return status === 200 ? body : undefined;
  }
}
