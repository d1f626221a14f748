import { randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, rename, rm, stat } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ListenError, listenErrorOf, type HttpAnswer, type HttpBounds } from './http-listener.ts';

/** What somebody on this host asks. */
export interface LocalRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  /** Aborts when whoever asks has gone, or the socket is closed. */
  readonly signal: AbortSignal;
}

/** An answer that goes on for as long as there is something to say, and whoever asks listens. */
interface HttpStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Taken as fast as they are read on the other side; its `return` is called when that one goes. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

export type AnswerLocal = (request: LocalRequest) => HttpAnswer | HttpStream | Promise<HttpAnswer | HttpStream>;

export interface LocalListener {
  /** Ends what is being answered, and removes the socket. */
  close(): Promise<void>;
}

/** Octets of a path: `sun_path` of Linux has room for 107, and the socket is made beside it under a longer name. */
export const longestSocketPath = 96;

/**
 * HTTP on a Unix socket that its owner alone may use (mode 0600); its directory is made. A socket that nobody answers at any more is replaced,
 * in one step: whoever connects meets the old or the new. Rejects with ListenError, `taken` where another process answers there.
 */
export async function listenLocal(path: string, answer: AnswerLocal, bounds: HttpBounds): Promise<LocalListener> {
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
  // Later ones are of single connections: it goes on listening.
  server.removeAllListeners('error').on('error', () => undefined);
  const { ino } = await stat(path);
  return {
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      closing.abort();
      server.closeAllConnections();
      await closed;
      // The next process may have its own there by now.
      const there = await lstat(path).catch(() => undefined);
      if (there?.ino === ino) await rm(path, { force: true });
    },
  };
}

/** Rejects where it is not ours to take: somebody answers there, or it is no socket at all. */
async function requireUnusedPath(path: string): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there === undefined) return;
  if (!there.isSocket()) throw new ListenError('taken', `${path} is there and is no socket`);
  const isAnswered = await new Promise<boolean>((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    // Refused: nobody. Anything else (no permission, too many waiting) is somebody's.
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'));
  });
  if (isAnswered) throw new ListenError('taken', `another process answers at ${path}`);
}

async function serve(request: IncomingMessage, response: ServerResponse, answer: AnswerLocal, closing: AbortSignal): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const [path = '/', query = ''] = (request.url ?? '/').split('?', 2);
  const signal = AbortSignal.any([gone.signal, closing]);
  try {
    const answered = await answer({ path, query: new URLSearchParams(query), signal });
    const hasBody = request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? '0') > 0;
    response.writeHead(answered.status, { ...answered.headers, ...(hasBody ? { Connection: 'close' } : {}) });
    if ('body' in answered) {
      response.end(answered.body);
      return;
    }
    response.flushHeaders();
    await pipeline(answered.chunks, response, { signal });
  } catch {
    // Whoever answers has said what is wrong; whoever asks must not wait for ever.
    if (response.headersSent) response.destroy();
    else response.writeHead(500, { 'Content-Type': 'text/plain; charset=utf-8' }).end('this cannot be told at the moment\n');
  }
}

export interface LocalAnswer {
  readonly status: number;
  readonly contentType: string;
  /** As it comes. Leaving the iteration ends the connection. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Nobody answers at a socket. `code`: as the system has it, "ENOENT", "EACCES". */
export class LocalSocketError extends Error {
  readonly code: string;

  constructor(path: string, cause: NodeJS.ErrnoException) {
    super(errorTexts[cause.code ?? '']?.(path) ?? `${path}: ${cause.message}`, { cause });
    this.name = 'LocalSocketError';
    this.code = cause.code ?? '';
  }
}

const errorTexts: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `there is no socket ${path}: no such process of Herald runs on this host, or it has another one (--socket)`,
  ECONNREFUSED: (path) => `nobody answers at ${path}: the process that made it has ended`,
  EACCES: (path) => `not permitted to use ${path}: it is for the user that the process runs as (root, of an agent)`,
};

/** Asks at a Unix socket. `target`: path and query. Rejects with LocalSocketError; with the reason of the signal, where that aborts first. */
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
