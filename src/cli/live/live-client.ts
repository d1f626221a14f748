import { defined } from '../../lang/defined.ts';
import type { LiveProcess, Page } from '../../live/contract.ts';

/** A running process that can be asked. */
export interface LiveClient {
  /** For people: "the agent of node1", "the controller herald-controller-5f". */
  readonly who: string;
  readonly process: LiveProcess;
  /** The answer of a path, with its query. Rejects with LiveError. */
  ask(path: string, query: Readonly<Record<string, string>>): Promise<unknown>;
}

/** A process that could not be asked, and why. */
export interface UnreachableProcess {
  readonly who: string;
  /** Of an agent, where its node is known. */
  readonly node?: string;
  readonly why: string;
  readonly fix: string;
}

export interface FoundProcesses {
  readonly clients: readonly LiveClient[];
  readonly unasked: readonly UnreachableProcess[];
  close(): void;
}

/** Somebody could not be asked, or has answered something else than what the contract says. */
export class LiveError extends Error {
  readonly code = 'notAsked';
  readonly fix: string;

  constructor(message: string, fix: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LiveError';
    this.fix = fix;
  }
}

/** All pages of a list, up to `most` items; `more`: there are others. Rejects with LiveError. */
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
    // One that answers the same for ever, or nothing, has no more.
    if (page.next === undefined || page.next === after || page.items.length === 0) return { items, process: page.process, more: false };
    if (items.length >= most) return { items, process: page.process, more: true };
    after = page.next;
  }
}

/** Whoever answers may be of another version, or no process of Herald at all. */
function pageIn<T>(answer: unknown): Page<T> {
  const page = answer as Partial<Page<T>> | null;
  if (page === null || typeof page !== 'object' || !Array.isArray(page.items) || page.process === undefined)
    throw new LiveError('its answer is not what Herald would say', 'check which program answers there');
  return page as Page<T>;
}
