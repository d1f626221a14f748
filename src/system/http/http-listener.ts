import type { ListenOptions, Socket } from 'node:net';
import { HttpConnections, type Connection, type ConnectionBounds, type EndCause } from './http-connections.ts';
import { limits } from './limits.ts';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from './node-http.ts';

export interface SocketAddress {
  /** An address of this host as text. The unspecified address of a family means all addresses of that family only. */
  readonly address: string;
  /** 0 lets the kernel choose a free port. */
  readonly port: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Called once, after the kernel has accepted the whole answer or the client is gone. */
  readonly sent?: () => void;
}

/** Limits on the resources that clients of one listener can use. */
export interface HttpBounds {
  /** Maximum number of open connections from elsewhere. A further one is accepted, and another one closed for it. */
  readonly connections: number;
  /** Maximum size of a request's header fields in bytes. A larger request gets status 431. */
  readonly headerBytes: number;
  /** Milliseconds from the request until the client has taken the answer. A slower client is disconnected. */
  readonly answerMilliseconds: number;
  /** Milliseconds after which a connection without a further request is closed. */
  readonly idleMilliseconds: number;
}

export interface HttpListener {
  readonly port: number;
  /** Closes all connections. Resolves when the port is free. */
  close(): Promise<void>;
}

/** Answers a request by its path and query. Method and body are ignored. */
export type AnswerHttp = (path: string, query: URLSearchParams) => HttpAnswer | Promise<HttpAnswer>;

/** Rejects with ListenError. When `answer` rejects, the client gets status 500. */
export type ListenHttp = (place: SocketAddress, answer: AnswerHttp, bounds: HttpBounds) => Promise<HttpListener>;

export class ListenError extends Error {
  /** noAddress: the host has no such address, or does not support the address family. */
  readonly code: 'taken' | 'notPermitted' | 'noAddress' | 'failed';

  constructor(code: ListenError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ListenError';
    this.code = code;
  }
}

const codes: Readonly<Record<string, readonly [ListenError['code'], string]>> = {
  EADDRINUSE: ['taken', 'the port is in use'],
  EACCES: ['notPermitted', 'not permitted'],
  EPERM: ['notPermitted', 'not permitted'],
  EADDRNOTAVAIL: ['noAddress', 'the host has no such address'],
  EAFNOSUPPORT: ['noAddress', 'the host does not support this address family'],
};

export function listenErrorOf(error: NodeJS.ErrnoException): ListenError {
  const [code, text] = codes[error.code ?? ''] ?? ['failed', error.message];
  return new ListenError(code, text, { cause: error });
}

/**
 * Returns the function that starts the listeners of a process. They share `bounds`. `onEnded` is called for each connection that is closed
 * because of them.
 */
export function httpListening(bounds: ConnectionBounds, onEnded: (cause: EndCause) => void = () => undefined): ListenHttp {
  const connections = new HttpConnections(bounds, onEnded);
  return (place, answer, listenerBounds) => listenHttp(place, answer, listenerBounds, connections);
}

function listenHttp(place: SocketAddress, answer: AnswerHttp, listenerBounds: HttpBounds, all: HttpConnections): Promise<HttpListener> {
  const { connections, headerBytes, answerMilliseconds, idleMilliseconds } = listenerBounds;
  const admit = all.ofListener(connections, idleMilliseconds);
  const open = new WeakMap<Socket, Connection>();
  const server = createServer(
    {
      maxHeaderSize: headerBytes,
      keepAliveTimeout: idleMilliseconds,
      // The connections have deadlines of their own. Node would look at all connections of each of 12,000 listeners every second.
      headersTimeout: 0,
      requestTimeout: 0,
      connectionsCheckingInterval: longestInterval,
    },
    (request, response) => {
      const connection = open.get(request.socket);
      connection?.requestBegan();
      response.once('close', () => connection?.answered());
      void serve(request, response, answer, answerMilliseconds);
    },
  );
  server.on('connection', (socket) => {
    const connection = admit(socket);
    if (connection === undefined) socket.destroy();
    else open.set(socket, connection);
  });
  return listenOn(server, { host: place.address, port: place.port, ipv6Only: true, exclusive: true, backlog: limits.backlog });
}

/** Listens at a port of this host. Rejects with ListenError. */
export function listenOn(server: Server, options: ListenOptions & { readonly port: number }): Promise<HttpListener> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenErrorOf(error)));
    // Later errors concern single connections, for example when no file descriptor is left. The server keeps listening.
    server.on('error', () => undefined);
    server.listen(options, () => {
      const at = server.address();
      resolve({
        port: typeof at === 'object' && at !== null ? at.port : options.port,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            server.closeAllConnections();
          }),
      });
    });
  });
}

/** The longest interval that Node takes. */
const longestInterval = 2 ** 31 - 1;

async function serve(request: IncomingMessage, response: ServerResponse, answer: AnswerHttp, milliseconds: number): Promise<void> {
  // The socket's own timeout does not help: a client that reads a little now and then postpones it for ever.
  const late = setTimeout(() => response.destroy(), milliseconds);
  response.once('close', () => clearTimeout(late));
  const { path, query } = targetOf(request);
  const { status, headers, body, sent } = await answerOrServerError(answer, path, query);
  if (sent !== undefined) {
    if (response.closed) sent();
    else response.once('close', sent);
  }
  // The body is never read, so the connection closes after the answer.
  const last = hasBody(request) ? { Connection: 'close' } : {};
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body), ...last });
  response.end(body);
}

export function targetOf({ url = '/' }: IncomingMessage): { readonly path: string; readonly query: URLSearchParams } {
  const [path = '/', query = ''] = url.split('?', 2);
  return { path, query: new URLSearchParams(query) };
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? '0') > 0;
}

async function answerOrServerError(answer: AnswerHttp, path: string, query: URLSearchParams): Promise<HttpAnswer> {
  try {
    return await answer(path, query);
  } catch {
    // The handler has logged the error. The client still needs an answer, or it would wait for ever.
    return { status: 500, headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body: 'internal error: see the log of this process\n' };
  }
}
