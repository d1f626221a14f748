import type { Clock } from '../system/clock.ts';
import type { HttpAnswer } from '../system/http/http-listener.ts';
import { defined } from '../lang/defined.ts';
import {
  livePaths,
  type LiveIndex,
  type LiveProblem,
  type LiveProcess,
  type Page,
  type RefusedStatuses,
  type UnwrittenRecords,
} from './contract.ts';
import { limits } from './limits.ts';
import { LiveQuery, LiveQueryError } from './query.ts';

/** A list of the live API. It shows the moment of the request. */
export interface LiveList {
  /** Parameters besides `limit` and `after`. */
  readonly parameters: readonly string[];
  /** Throws LiveQueryError for a wrong parameter. */
  readonly items: (query: LiveQuery) => Items | Promise<Items>;
}

type Items = Pick<Page<unknown>, 'items' | 'next'>;

/** Answers the live API (src/live/contract.ts). Parts of the process register their lists here. */
export class LiveApi {
  readonly #clock: Clock;
  readonly #lists = new Map<string, LiveList>();
  #known: LiveProcess;
  #refused: () => RefusedStatuses | undefined = () => undefined;
  #unwritten: () => UnwrittenRecords | undefined = () => undefined;

  constructor(clock: Clock, process: Omit<LiveProcess, 'started'>) {
    this.#clock = clock;
    this.#known = { ...process, started: clock.date().toISOString() };
  }

  /** Adds facts about the process that are known only after the start. */
  setProcess(known: Partial<Pick<LiveProcess, 'node' | 'directory'>>): void {
    this.#known = { ...this.#known, ...known };
  }

  /** Adds the records that cannot be written, looked up for each answer. */
  followRecords(unwritten: () => UnwrittenRecords | undefined): void {
    this.#unwritten = unwritten;
  }

  /** Adds the Services whose status is refused, looked up for each answer. */
  followRefusals(refused: () => RefusedStatuses | undefined): void {
    this.#refused = refused;
  }

  get #process(): LiveProcess {
    return { ...this.#known, ...defined({ unwritten: this.#unwritten(), refused: this.#refused() }) };
  }

  /** Returns a function that removes the list. */
  addList(path: Exclude<(typeof livePaths)[keyof typeof livePaths], '/live'>, list: LiveList): () => void {
    this.#lists.set(path, list);
    return () => void this.#lists.delete(path);
  }

  /** Answers a request. Undefined: the path is not of the live API. `most`: maximum of items in a page, whatever the client asks for. */
  answer(path: string, query: URLSearchParams, most: number = limits.maximumPageItems): Promise<HttpAnswer> | undefined {
    return path === livePaths.index || path.startsWith('/live/') ? this.#answer(path, query, most) : undefined;
  }

  async #answer(path: string, query: URLSearchParams, most: number): Promise<HttpAnswer> {
    const paths = [...this.#lists.keys()].toSorted();
    if (path === livePaths.index) return json(200, { process: this.#process, paths } satisfies LiveIndex);
    const list = this.#lists.get(path);
    if (list === undefined) {
      const { command } = this.#process;
      return json(404, { error: `this ${command} has no list ${path}`, fix: `its lists are ${paths.join(', ')}` } satisfies LiveProblem);
    }
    try {
      const found = await list.items(new LiveQuery(query, list.parameters, most));
      return json(200, { process: this.#process, at: this.#clock.date().toISOString(), ...found } satisfies Page<unknown>);
    } catch (error) {
      if (!(error instanceof LiveQueryError)) throw error;
      return json(400, { error: error.message, fix: error.fix } satisfies LiveProblem);
    }
  }
}

export function json(status: number, content: object): HttpAnswer {
  const headers = { 'Content-Type': 'application/json', 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' };
  return { status, headers, body: `${JSON.stringify(content)}\n` };
}
