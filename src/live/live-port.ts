import type { HttpAnswer } from '../system/http/http-listener.ts';
import type { LiveProblem } from './contract.ts';
import { limits } from './limits.ts';
import type { LiveApi } from './live-api.ts';

/**
 * What a process tells to whoever reaches its port, without credentials: one list at a time and a small page of it, so that many who ask, or who ask and
 * do not read, cost neither memory nor the time that sessions need. The connection ends with each answer: those who scrape find one of the few that the
 * listener has. Those at the socket are the host's own, and get all that they ask for.
 */
export class LivePortHandler {
  readonly #live: LiveApi;
  #telling = false;

  constructor(live: LiveApi) {
    this.#live = live;
  }

  /** Undefined: the path is not one of these. */
  answer(path: string, query: URLSearchParams): HttpAnswer | undefined {
    const isList = path.startsWith('/live/');
    if (isList && this.#telling) return busy();
    const found = this.#live.answer(path, query, limits.pageItemsOnPort);
    if (found === undefined) return undefined;
    const answer = { ...found, headers: { ...found.headers, ...last } };
    if (!isList) return answer;
    this.#telling = true;
    return { ...answer, sent: () => void (this.#telling = false) };
  }
}

/** One that stays open, idle or with an answer that nobody reads, would keep out a scrape. */
const last = { Connection: 'close' } as const;

function busy(): HttpAnswer {
  const problem: LiveProblem = { error: 'somebody else is being answered at this port', fix: 'ask again in a second' };
  const headers = {
    'Content-Type': 'application/json',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    'Retry-After': '1',
    ...last,
  };
  return { status: 429, headers, body: `${JSON.stringify(problem)}\n` };
}
