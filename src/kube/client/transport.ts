import { Agent, request as secureRequest, type RequestOptions } from 'node:https';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Connection, Credentials } from './connection.ts';
import { connectionError, KubeError } from '../error.ts';
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
  /**
   * The decompressed body. The caller must read it to its end, in one of two ways, or abort the request. `parts` yields it as it arrives; `whole`
   * resolves when it is complete and rejects when it is longer than this many octets. Both fail with KubeError or the signal's reason.
   */
  parts(): AsyncIterable<Buffer>;
  whole(most: number): Promise<Buffer>;
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
  /** The parts of each request that are always the same. */
  readonly #target: { readonly hostname: string; readonly port: number };
  readonly #base: string;
  #tls: TlsIdentity | undefined;
  #identities = 0;

  /** `userAgent` names the program in the API server's audit log and metrics. */
  constructor(connection: Connection, userAgent: string) {
    const { server } = connection;
    this.#connection = connection;
    this.#userAgent = userAgent;
    this.#secure = server.protocol === 'https:';
    this.#base = server.pathname.endsWith('/') ? server.pathname.slice(0, -1) : server.pathname;
    this.#target = {
      hostname: server.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: server.port === '' ? (this.#secure ? 443 : 80) : Number(server.port),
    };
    const pool = {
      keepAlive: true,
      keepAliveMsecs: limits.keepAliveMilliseconds,
      maxSockets: limits.connections,
      scheduling: 'lifo',
    } as const;
    this.#agent = this.#secure ? new NamingAgent(pool) : new PlainAgent(pool);
  }

  /** Rejects with KubeError when there is no response, and with the signal's reason when it aborted. */
  async request({ method, path, headers, body, signal }: HttpRequest): Promise<HttpResponse> {
    const credentials = await this.#connection.credentials();
    signal.throwIfAborted();
    const { authorization, headers: asked } = credentials;
    const options = {
      method,
      ...this.#target,
      path: `${this.#base}${path}`,
      agent: this.#agent,
      headers: {
        Accept: 'application/json',
        'Accept-Encoding': 'gzip',
        'User-Agent': this.#userAgent,
        ...headers,
        ...asked,
        ...(body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }),
        ...(authorization === undefined || !this.#secure ? {} : { Authorization: authorization }),
      },
      ...(this.#secure ? this.#tlsOf(credentials) : {}),
    };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = this.#secure ? secureRequest(options, resolve) : plainRequest(options, resolve);
      // Node's own handling of a signal costs several times as much.
      const abort = (): void => void request.destroy(signal.reason as Error);
      signal.addEventListener('abort', abort, { once: true });
      request.once('close', () => signal.removeEventListener('abort', abort));
      request.once('error', (error) => reject(signal.aborted ? (signal.reason as Error) : connectionError(error, this.#connection)));
      request.end(body);
    });
    return {
      status: response.statusCode ?? 0,
      retryAfter: response.headers['retry-after'],
      date: response.headers.date,
      contentType: response.headers['content-type'],
      parts: () => this.#parts(response, signal),
      whole: (most) => this.#whole(response, most, signal),
    };
  }

  /** Closes all connections and aborts requests in progress. */
  close(): void {
    this.#agent.destroy();
  }

  /** Most credentials are the object of the request before, and then nothing is compared. */
  #tlsOf(credentials: Credentials): TlsIdentity['options'] {
    const before = this.#tls;
    if (before?.of === credentials) return before.options;
    const { authorization: _, headers: __, ...tls } = credentials;
    const text = JSON.stringify(tls);
    const identity = before?.text === text ? before.options.identity : String(++this.#identities);
    this.#tls = { of: credentials, text, options: { ...tls, identity } };
    return this.#tls.options;
  }

  async *#parts(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of decompressed(response)) yield chunk as Buffer;
    } catch (error) {
      throw this.#failure(error, signal);
    }
  }

  #whole(response: IncomingMessage, most: number, signal: AbortSignal): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let length = 0;
    return new Promise((resolve, reject) => {
      const body = decompressed(response);
      body.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length > most) response.destroy(new KubeError('malformed', `an answer is longer than ${most} bytes`));
        else chunks.push(chunk);
      });
      body.once('end', () => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)));
      body.once('error', (error) => reject(this.#failure(error, signal)));
    });
  }

  #failure(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    return error instanceof KubeError ? error : connectionError(error as NodeJS.ErrnoException, this.#connection);
  }
}

/** Credentials, and the options of TLS that they mean. A connection serves only requests of the same `identity`. */
interface TlsIdentity {
  readonly of: Credentials;
  readonly text: string;
  readonly options: Omit<Credentials, 'authorization' | 'headers'> & { readonly identity: string };
}

/** Node names a connection by all options of TLS, certificates included, several times a request. All of ours go to one server. */
class NamingAgent extends Agent {
  override getName({ identity = '' }: RequestOptions & { readonly identity?: string } = {}): string {
    return identity;
  }
}

/** Errors of the response surface in the stream that is returned. */
function decompressed(response: IncomingMessage): Readable {
  return response.headers['content-encoding'] === 'gzip'
    ? pipeline(response, createGunzip({ chunkSize: 64 * 1024 }), () => undefined)
    : response;
}
