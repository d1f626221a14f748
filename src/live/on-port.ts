import type { HttpAnswer } from '../system/http-listener.ts';
import type { LiveProblem } from './contract.ts';
import { limits } from './limits.ts';
import type { Live } from './live.ts';

/**
 * What a process tells to whoever reaches its port, without credentials: one list at a time and a small page of it, so that many who ask, or who ask and
 * do not read, cost neither memory nor the time that sessions need. Those at the socket are the host's own, and get all that they ask for.
 */
export class LiveOnPort {
  readonly #live: Live;
  #telling = false;

  constructor(live: Live) {
    this.#live = live;
  }

  /** Undefined: the path is not one of these. */
  answer(path: string, query: URLSearchParams): HttpAnswer | undefined {
    if (!path.startsWith('/live/')) return this.#live.answer(path, query);
    if (this.#telling) return busy();
    const answer = this.#live.answer(path, query, limits.pageItemsOnPort);
    if (answer === undefined) return undefined;
    this.#telling = true;
    return { ...answer, sent: () => void (this.#telling = false) };
  }
}

function busy(): HttpAnswer {
  const problem: LiveProblem = { error: 'somebody else is being answered at this port', fix: 'ask again in a second' };
  const headers = {
    'Content-Type': 'application/json',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    'Retry-After': '1',
  };
  return { status: 429, headers, body: `${JSON.stringify(problem)}\n` };
}
