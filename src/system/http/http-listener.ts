import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

export interface SocketAddress {
  /** Text of an address of this host, or the unspecified address of a family: all its addresses, of that family only. */
  readonly address: string;
  /** 0: any that is free. */
  readonly port: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Called once, when all of it is with the kernel, or when nobody takes it any more. */
  readonly sent?: () => void;
}

/** What one listener spends on its clients. */
export interface HttpBounds {
  /** Open at the same time; further ones are closed at once. */
  readonly connections: number;
  /** Bytes of a request's header fields; a request with more is answered 431. */
  readonly headerBytes: number;
  /**
   * Milliseconds from the connection to the end of a request; a slower client is answered 408. As many from there until it has taken the answer; who has
   * not by then is cut off.
   */
  readonly requestMilliseconds: number;
  /** Milliseconds until a connection without a further request is closed. */
  readonly idleMilliseconds: number;
}

export interface HttpListener {
  readonly port: number;
  /** Resolves when the port is free; connections are closed, whatever they wait for. */
  close(): Promise<void>;
}

/** Of the path and the query; methods and bodies mean nothing here. */
export type AnswerHttp = (path: string, query: URLSearchParams) => HttpAnswer | Promise<HttpAnswer>;

/** Rejects with ListenError. An answer that rejects is a 500. */
export type ListenHttp = (place: SocketAddress, answer: AnswerHttp, bounds: HttpBounds) => Promise<HttpListener>;

export class ListenError extends Error {
  /** noAddress: the host has no such address, or not the family at all. */
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
  EAFNOSUPPORT: ['noAddress', 'the host has not this address family'],
};

export function listenErrorOf(error: NodeJS.ErrnoException): ListenError {
  const [code, text] = codes[error.code ?? ''] ?? ['failed', error.message];
  return new ListenError(code, text, { cause: error });
}

export const listenHttp: ListenHttp = (place, answer, bounds) =>
  new Promise((resolve, reject) => {
    const server = createServer(
      {
        maxHeaderSize: bounds.headerBytes,
        headersTimeout: bounds.requestMilliseconds,
        requestTimeout: bounds.requestMilliseconds,
        keepAliveTimeout: bounds.idleMilliseconds,
        // How often Node looks for clients that are late; its default is half a minute.
        connectionsCheckingInterval: Math.max(1, Math.floor(bounds.requestMilliseconds / 4)),
      },
      (request, response) => void serve(request, response, answer, bounds.requestMilliseconds),
    );
    server.maxConnections = bounds.connections;
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(listenErrorOf(error));
      // Later ones are of single connections, for example when there is no descriptor left: it goes on listening.
      server.on('error', () => undefined);
    });
    server.listen({ host: place.address, port: place.port, ipv6Only: true, exclusive: true }, () => {
      server.on('error', () => undefined);
      const at = server.address();
      resolve({
        port: typeof at === 'object' && at !== null ? at.port : place.port,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            server.closeAllConnections();
          }),
      });
    });
  });

async function serve(request: IncomingMessage, response: ServerResponse, answer: AnswerHttp, milliseconds: number): Promise<void> {
  // Not the timeout of the socket, which a client that reads a little now and then puts off for ever.
  const late = setTimeout(() => response.destroy(), milliseconds);
  response.once('close', () => clearTimeout(late));
  const [path = '/', query = ''] = (request.url ?? '/').split('?', 2);
  const { status, headers, body, sent } = await answerOrServerError(answer, path, query);
  if (sent !== undefined) {
    if (response.closed) sent();
    else response.once('close', sent);
  }
  // A body has no end that we would wait for: the connection closes after the answer, without reading it.
  const hasBody = request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? '0') > 0;
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body), ...(hasBody ? { Connection: 'close' } : {}) });
  response.end(body);
}

async function answerOrServerError(answer: AnswerHttp, path: string, query: string): Promise<HttpAnswer> {
  try {
    return await answer(path, new URLSearchParams(query));
  } catch {
    // Whoever answers has said what is wrong; whoever asks must not wait for ever.
    return { status: 500, headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body: 'this cannot be told at the moment\n' };
  }
}
