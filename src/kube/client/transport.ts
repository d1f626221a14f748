import { Agent, request as secureRequest } from 'node:https';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Connection } from './connection.ts';
import { connectionError } from '../error.ts';
import { limits } from '../limits.ts';
import { Agent as PlainAgent, request as plainRequest, type IncomingMessage } from '../../system/http/node-http.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** The server's time when it answered, as HTTP writes it. */
  readonly date: string | undefined;
  readonly contentType: string | undefined;
  /** The decompressed body. The caller must read it to its end or abort the request. Throws KubeError. */
  readonly body: AsyncIterable<Buffer>;
}

/**
 * HTTPS to one API server over one pool of kept-alive connections. TCP probes detect a dead connection. Uses HTTP/1.1, because one HTTP/2
 * connection would stall all watches together.
 */
export class HttpTransport {
  readonly #connection: Connection;
  readonly #agent: Agent | PlainAgent;
  readonly #secure: boolean;
  readonly #userAgent: string;

  /** `userAgent` names the program in the API server's audit log and metrics. */
  constructor(connection: Connection, userAgent: string) {
    this.#connection = connection;
    this.#userAgent = userAgent;
    this.#secure = connection.server.protocol === 'https:';
    const pool = {
      keepAlive: true,
      keepAliveMsecs: limits.keepAliveMilliseconds,
      maxSockets: limits.connections,
      scheduling: 'lifo',
    } as const;
    this.#agent = this.#secure ? new Agent(pool) : new PlainAgent(pool);
  }

  /** Rejects with KubeError when there is no response, and with the signal's reason when it aborted. */
  async request({ method, path, headers, body, signal }: HttpRequest): Promise<HttpResponse> {
    const { authorization, ...tls } = await this.#connection.credentials();
    signal.throwIfAborted();
    const { server } = this.#connection;
    const base = server.pathname.endsWith('/') ? server.pathname.slice(0, -1) : server.pathname;
    const options = {
      method,
      hostname: server.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: server.port === '' ? (this.#secure ? 443 : 80) : Number(server.port),
      path: `${base}${path}`,
      agent: this.#agent,
      signal,
      headers: {
        Accept: 'application/json',
        'Accept-Encoding': 'gzip',
        'User-Agent': this.#userAgent,
        ...headers,
        ...(body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }),
        ...(authorization === undefined || !this.#secure ? {} : { Authorization: authorization }),
      },
      ...(this.#secure ? tls : {}),
    };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = this.#secure ? secureRequest(options, resolve) : plainRequest(options, resolve);
      request.once('error', (error) => reject(signal.aborted ? (signal.reason as Error) : connectionError(error, this.#connection)));
      request.end(body);
    });
    return {
      status: response.statusCode ?? 0,
      retryAfter: response.headers['retry-after'],
      date: response.headers.date,
      contentType: response.headers['content-type'],
      body: this.#read(response, signal),
    };
  }

  /** Closes all connections and aborts requests in progress. */
  close(): void {
    this.#agent.destroy();
  }

  async *#read(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Buffer> {
    const compressed = response.headers['content-encoding'] === 'gzip';
    // Errors of both streams surface in the iteration below.
    const stream = compressed ? pipeline(response, createGunzip({ chunkSize: 64 * 1024 }), () => undefined) : response;
    try {
      for await (const chunk of stream) yield chunk as Buffer;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw connectionError(error as NodeJS.ErrnoException, this.#connection);
    }
  }
}
