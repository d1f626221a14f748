import type { HttpAnswer } from '../system/http/http-listener.ts';
import type { LiveProblem } from './contract.ts';
import { limits } from './limits.ts';
import { json, type LiveApi } from './live-api.ts';

/**
 * Answers the live API at the metrics port, which needs no credentials: one list at a time and in small pages, so that many or slow clients
 * cost neither memory nor the time that BGP sessions need. Each answer closes its connection, because the listener has few and scrapes need
 * them. Clients of the socket are on the host itself and have no such limits.
 */
export class LivePortHandler {
  readonly #live: LiveApi;
  #telling = false;

  constructor(live: LiveApi) {
    this.#live = live;
  }

  /** Undefined: the path is not of the live API. */
  answer(path: string, query: URLSearchParams): Promise<HttpAnswer> | undefined {
    const isList = path.startsWith('/live/');
    if (isList && this.#telling) return Promise.resolve(busy());
    const found = this.#live.answer(path, query, limits.pageItemsOnPort);
    return found === undefined ? undefined : this.#tell(found, isList);
  }

  async #tell(found: Promise<HttpAnswer>, isList: boolean): Promise<HttpAnswer> {
    this.#telling ||= isList;
    const ended = isList ? (): void => void (this.#telling = false) : (): void => undefined;
    try {
      const answer = await found;
      return { ...answer, headers: { ...answer.headers, ...last }, sent: ended };
    } catch (error) {
      ended();
      throw error;
    }
  }
}

/** A connection that stays open, idle or with an unread answer, could lock out a scrape. */
const last = { Connection: 'close' } as const;

function busy(): HttpAnswer {
  const answer = json(429, { error: 'the port is answering another client', fix: 'ask again in a second' } satisfies LiveProblem);
  return { ...answer, headers: { ...answer.headers, 'Retry-After': '1', ...last } };
}
