import type { LiveApi } from '../../../live/live-api.ts';
import type { AnswerLocal, LocalRequest } from '../../../system/http/local-socket.ts';

const plain = { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' } as const;

/**
 * Routes the requests at the Unix socket of a process: the live API (/live), which the metrics port may serve too, and debug endpoints
 * (/debug), which must not leave the host. A debug response may be a stream.
 */
export class SocketRequestHandler {
  readonly #live: LiveApi;
  readonly #debug = new Map<string, AnswerLocal>();

  constructor(live: LiveApi) {
    this.#live = live;
  }

  /** Adds a debug endpoint, which only this host can reach. Returns a function that removes it. */
  handle(path: `/debug/${string}`, answer: AnswerLocal): () => void {
    this.#debug.set(path, answer);
    return () => void this.#debug.delete(path);
  }

  readonly answer = (request: LocalRequest): ReturnType<AnswerLocal> => {
    const live = this.#live.answer(request.path, request.query);
    if (live !== undefined) return live;
    const debug = this.#debug.get(request.path);
    if (debug !== undefined) return debug(request);
    return { status: 404, headers: plain, body: `not found: ${['/live', ...this.#debug.keys()].join(', ')}\n` };
  };
}
