import { defined } from '../../lang/defined.ts';
import type { LiveProcess, Page } from '../../live/contract.ts';

/** A client of one running process. */
export interface LiveClient {
  /** For people: "the agent of node1", "the controller herald-controller-5f". */
  readonly who: string;
  readonly process: LiveProcess;
  /** The Unix socket, which also serves `/debug/...`. Absent: the process is reached through the API server. */
  readonly socket?: string;
  /** Queries a path of the live API. Rejects with LiveError. */
  ask(path: string, query: Readonly<Record<string, string>>): Promise<unknown>;
}

/** A process that could not be queried, and why. */
export interface UnreachableProcess {
  readonly who: string;
  /** The node of an agent, when it is known. */
  readonly node?: string;
  readonly why: string;
  readonly fix: string;
}

export interface ProcessFilter {
  /** Selects the agent of this node. Controllers are found as well. */
  readonly node?: string | undefined;
  /** The processes to find. Default: agents and controllers. */
  readonly of?: readonly ('agent' | 'controller')[];
}

export interface FoundProcesses {
  readonly clients: readonly LiveClient[];
  readonly unasked: readonly UnreachableProcess[];
  close(): void;
}

/** A process could not be queried, or its answer breaks the contract. */
export class LiveError extends Error {
  readonly code = 'notAsked';
  readonly fix: string;

  constructor(message: string, fix: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LiveError';
    this.fix = fix;
  }
}

/** Nothing was found, and why. */
export function noProcesses(who: string, why: string): FoundProcesses {
  return { clients: [], unasked: [{ who, why, fix: '' }], close: () => undefined };
}

/**
 * Queries all of these processes at the same time, and closes them. A process whose query fails is among those that could not be queried.
 * Answers are in the order of the processes.
 */
export async function askEach<T>(
  found: FoundProcesses,
  ask: (client: LiveClient) => Promise<T>,
): Promise<{ readonly answers: readonly T[]; readonly unasked: readonly UnreachableProcess[] }> {
  const unasked = [...found.unasked];
  try {
    const answers = await Promise.all(
      found.clients.map(async (client): Promise<readonly T[]> => {
        try {
          return [await ask(client)];
        } catch (error) {
          if (!(error instanceof LiveError)) throw error;
          unasked.push({ who: client.who, ...defined({ node: client.process.node }), why: error.message, fix: error.fix });
          return [];
        }
      }),
    );
    return { answers: answers.flat(), unasked };
  } finally {
    found.close();
  }
}

/** Fetches all pages of a list, up to `most` items. `more` is true when there are others. Rejects with LiveError. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller says what the contract has at the path
export async function fetchAllPages<T>(
  client: Pick<LiveClient, 'ask'>,
  path: string,
  query: Readonly<Record<string, string>>,
  most: number,
): Promise<{ readonly items: readonly T[]; readonly process: LiveProcess; readonly more: boolean }> {
  const items: T[] = [];
  let after: string | undefined;
  for (;;) {
    const page = pageIn<T>(await client.ask(path, { ...query, limit: String(Math.min(5000, most)), ...defined({ after }) }));
    items.push(...page.items);
    // A process that repeats a page or sends an empty one has no more.
    if (page.next === undefined || page.next === after || page.items.length === 0) return { items, process: page.process, more: false };
    if (items.length >= most) return { items, process: page.process, more: true };
    after = page.next;
  }
}

/** Checks the answer: it may come from another version of Herald, or from another program. */
function pageIn<T>(answer: unknown): Page<T> {
  const page = answer as Partial<Page<T>> | null;
  if (page === null || typeof page !== 'object' || !Array.isArray(page.items) || page.process === undefined)
    throw new LiveError("its answer is not one of Herald's", 'check which program answers there');
  return page as Page<T>;
}
