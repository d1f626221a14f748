import { randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, rename, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { hasBody, ListenError, listenErrorOf, targetOf, type HttpAnswer } from './http-listener.ts';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from './node-http.ts';

/** A request from another process on this host. */
export interface LocalRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  /** Aborts when the client disconnects or the listener closes. */
  readonly signal: AbortSignal;
}

/** An answer that is streamed until its chunks end or the client disconnects. */
interface HttpStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Read as fast as the client reads. Its `return` is called when the client disconnects. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

export type AnswerLocal = (request: LocalRequest) => HttpAnswer | HttpStream | Promise<HttpAnswer | HttpStream>;

export interface LocalBounds {
  /** Maximum number of open connections. Further ones are closed at once: all clients are this host's root. */
  readonly connections: number;
  /** Maximum size of a request's header fields in bytes. A larger request gets status 431. */
  readonly headerBytes: number;
  /** Milliseconds from the connection to the end of the request. A slower client gets status 408. */
  readonly requestMilliseconds: number;
  /** Milliseconds after which a connection without a further request is closed. */
  readonly idleMilliseconds: number;
}

export interface LocalListener {
  /** Aborts the running answers and removes the socket. */
  close(): Promise<void>;
}

/**
 * Maximum length of a socket path in octets. `sun_path` of Linux allows 107, and the socket is first created under a longer, temporary
 * name.
 */
export const longestSocketPath = 96;

/**
 * Serves HTTP on a Unix socket with mode 0600, and creates its directory. A socket left by a process that has ended is replaced atomically.
 * Rejects with ListenError; its code is `taken` when another process answers at the path.
 */
export async function listenLocal(path: string, answer: AnswerLocal, bounds: LocalBounds): Promise<LocalListener> {
  const aside = `${path}.${randomBytes(4).toString('hex')}`;
  const closing = new AbortController();
  const server = createServer(
    {
      maxHeaderSize: bounds.headerBytes,
      headersTimeout: bounds.requestMilliseconds,
      requestTimeout: bounds.requestMilliseconds,
      keepAliveTimeout: bounds.idleMilliseconds,
    },
    (request, response) => void serve(request, response, answer, closing.signal),
  );
  server.maxConnections = bounds.connections;
  try {
    await mkdir(dirname(path), { recursive: true });
    await requireUnusedPath(path);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ path: aside }, resolve);
    });
    await chmod(aside, 0o600);
    await rename(aside, path);
  } catch (error) {
    server.close();
    await rm(aside, { force: true }).catch(() => undefined);
    throw error instanceof ListenError ? error : listenErrorOf(error as NodeJS.ErrnoException);
  }
  // Later errors concern single connections. The server keeps listening.
  server.removeAllListeners('error').on('error', () => undefined);
  const { ino } = await stat(path);
  return {
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      closing.abort();
      server.closeAllConnections();
      await closed;
      // The next process may already have put its own socket there.
      const there = await lstat(path).catch(() => undefined);
      if (there?.ino === ino) await rm(path, { force: true });
    },
  };
}

/** Rejects when another process answers at the path, or the file is not a socket. */
async function requireUnusedPath(path: string): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there === undefined) return;
  if (!there.isSocket()) throw new ListenError('taken', `${path} exists and is not a socket`);
  const isAnswered = await new Promise<boolean>((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    // A refused connection means that no process listens. Any other error (no permission, full queue) means that one does.
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'));
  });
  if (isAnswered) throw new ListenError('taken', `another process answers at ${path}`);
}

async function serve(request: IncomingMessage, response: ServerResponse, answer: AnswerLocal, closing: AbortSignal): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const signal = AbortSignal.any([gone.signal, closing]);
  try {
    const answered = await answer({ ...targetOf(request), signal });
    response.writeHead(answered.status, { ...answered.headers, ...(hasBody(request) ? { Connection: 'close' } : {}) });
    if ('body' in answered) {
      response.end(answered.body);
      return;
    }
    response.flushHeaders();
    await pipeline(answered.chunks, response, { signal });
  } catch {
    // The handler has logged the error. The client still needs an answer, or it would wait for ever.
    if (response.headersSent) response.destroy();
    else response.writeHead(500, { 'Content-Type': 'text/plain; charset=utf-8' }).end('internal error: see the log of this process\n');
  }
}

export interface LocalAnswer {
  readonly status: number;
  readonly contentType: string;
  /** The body as it arrives. Leaving the iteration closes the connection. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** No process answers at the socket. `code` is the system's, such as "ENOENT" or "EACCES". */
export class LocalSocketError extends Error {
  readonly code: string;

  constructor(path: string, cause: NodeJS.ErrnoException) {
    super(errorTexts[cause.code ?? '']?.(path) ?? `${path}: ${cause.message}`, { cause });
    this.name = 'LocalSocketError';
    this.code = cause.code ?? '';
  }
}

const errorTexts: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `there is no socket ${path}: no such Herald process runs on this host, or it uses another socket (--socket)`,
  ECONNREFUSED: (path) => `no process answers at ${path}: the process that created it has ended`,
  EACCES: (path) => `not permitted to use ${path}: only the user that the process runs as may use it (root for an agent)`,
};

/**
 * Sends a GET request to a Unix socket. `target` is path and query. Rejects with LocalSocketError, or with the signal's reason when it
 * aborts first.
 */
export function requestLocal(path: string, target: string, signal: AbortSignal): Promise<LocalAnswer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ socketPath: path, path: target, agent: false, signal }, (response) => {
      resolve({ status: response.statusCode ?? 0, contentType: response.headers['content-type'] ?? '', chunks: response });
    });
    request.on('error', (error: NodeJS.ErrnoException) =>
      reject(signal.aborted ? (signal.reason as Error) : new LocalSocketError(path, error)),
    );
    request.end();
  });
}
