import { hasBody, listenOn, targetOf, type HttpListener } from './http-listener.ts';
import { createServer, type IncomingMessage, type ServerResponse } from './node-http.ts';

/** A request as it came, without interpretation. */
export interface LocalRequest {
  readonly method: string;
  /** As in the request line: "/services", or an absolute URL of a client that takes this server for a proxy. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** By lower-case name. A field that occurs several times is joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** Reads the body once. Undefined: it is longer than `octets`. Rejects when the client goes away. A body that no one reads is dropped. */
  readonly readBody: (octets: number) => Promise<Uint8Array | undefined>;
}

export interface LocalAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A stream is sent part by part, until it ends or the client is gone. Its iterator then returns. */
  readonly body: string | Uint8Array | AsyncIterable<string>;
}

export type AnswerLocal = (request: LocalRequest) => LocalAnswer | Promise<LocalAnswer>;

/** Limits on the resources that programs of this host can use. */
export interface LocalBounds {
  /** Open connections. Further ones are closed at once. */
  readonly connections: number;
  /** Octets of a request's header fields. A larger request gets status 431. */
  readonly headerBytes: number;
  /** From the connection to the end of the request. The same time again is allowed for taking an answer that is no stream. */
  readonly requestMilliseconds: number;
  /** After this time a connection without a further request is closed. */
  readonly idleMilliseconds: number;
}

/** The only address on which `listenLocal` listens, so that no other host reaches what it serves. */
const loopback = '127.0.0.1';

/** Listens on the loopback address of this host. Port 0 lets the kernel choose. Rejects with ListenError. */
export function listenLocal(port: number, answer: AnswerLocal, bounds: LocalBounds): Promise<HttpListener> {
  const server = createServer(
    {
      maxHeaderSize: bounds.headerBytes,
      headersTimeout: bounds.requestMilliseconds,
      requestTimeout: bounds.requestMilliseconds,
      keepAliveTimeout: bounds.idleMilliseconds,
      connectionsCheckingInterval: Math.max(1, Math.floor(bounds.requestMilliseconds / 4)),
    },
    (request, response) => void serve(request, response, answer, bounds.requestMilliseconds),
  );
  server.maxConnections = bounds.connections;
  return listenOn(server, { host: loopback, port, exclusive: true });
}

async function serve(request: IncomingMessage, response: ServerResponse, answer: AnswerLocal, milliseconds: number): Promise<void> {
  const { status, headers, body } = await answerOrServerError(answer, {
    method: request.method ?? 'GET',
    ...targetOf(request),
    headers: Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
    ),
    readBody: (octets) => readBody(request, octets),
  });
  // The client has gone while the answer was made.
  if (response.closed) return;
  if (typeof body === 'string' || body instanceof Uint8Array) {
    const late = setTimeout(() => response.destroy(), milliseconds);
    response.once('close', () => clearTimeout(late));
    // The connection closes after the answer to a request whose body was not read.
    const isUnread = hasBody(request) && !request.complete;
    response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body), ...(isUnread ? { Connection: 'close' } : {}) });
    response.end(request.method === 'HEAD' ? '' : body);
    return;
  }
  response.writeHead(status, headers);
  await sendParts(response, body);
}

/**
 * Octets beyond the bound are received and dropped: a client that is still sending would otherwise see a reset connection in place of the
 * answer. The time for a request bounds how long that lasts.
 */
function readBody(request: IncomingMessage, octets: number): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    let length = 0;
    request.on('data', (part: Uint8Array) => {
      length += part.length;
      if (length <= octets) parts.push(part);
      else parts.length = 0;
    });
    request.once('end', () => resolve(length > octets ? undefined : Buffer.concat(parts)));
    request.once('error', reject);
    request.once('close', () => reject(new Error('the client has gone')));
  });
}

async function sendParts(response: ServerResponse, parts: AsyncIterable<string>): Promise<void> {
  const iterator = parts[Symbol.asyncIterator]();
  const gone = new Promise<undefined>((resolve) => response.once('close', () => resolve(undefined)));
  response.flushHeaders();
  for (;;) {
    const next = await Promise.race([iterator.next(), gone]);
    if (next === undefined || next.done === true) break;
    if (!response.write(next.value)) await Promise.race([new Promise((resolve) => response.once('drain', resolve)), gone]);
  }
  if (response.closed) await iterator.return?.();
  else response.end();
}

async function answerOrServerError(answer: AnswerLocal, request: LocalRequest): Promise<LocalAnswer> {
  try {
    return await answer(request);
  } catch {
    return { status: 500, headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body: 'internal error\n' };
  }
}
