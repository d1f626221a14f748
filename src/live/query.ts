import { limits } from './limits.ts';

/** A wrong parameter; the answer is 400. */
export class LiveQueryError extends Error {
  readonly code = 'invalidParameter';
  readonly fix: string;

  constructor(message: string, fix: string) {
    super(message);
    this.name = 'LiveQueryError';
    this.fix = fix;
  }
}

/** The parameters of a request for a list. */
export class LiveQuery {
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly after: string | undefined;
  readonly #parameters: URLSearchParams;

  /** Throws LiveQueryError for an unknown parameter. `most`: maximum of items in a page, whatever `limit` says. */
  constructor(parameters: URLSearchParams, known: readonly string[], most: number = limits.maximumPageItems) {
    const all = ['limit', 'after', ...known];
    for (const name of parameters.keys())
      if (!all.includes(name))
        throw new LiveQueryError(`there is no parameter ${JSON.stringify(name)}`, `the parameters are ${all.join(', ')}`);
    this.#parameters = parameters;
    const limit = Number(parameters.get('limit') ?? limits.pageItems);
    if (!Number.isInteger(limit) || limit < 1 || limit > limits.maximumPageItems)
      throw new LiveQueryError('limit is not a number of items', `write 1 to ${limits.maximumPageItems}`);
    this.limit = Math.min(limit, most);
    this.after = this.text('after');
  }

  /** Returns the value; undefined if it is not given. */
  text(name: string): string | undefined {
    return this.#parameters.get(name) ?? undefined;
  }

  /** Throws LiveQueryError if the value is none of `values`. */
  oneOf<T extends string>(name: string, values: readonly T[]): T | undefined {
    const given = this.text(name);
    const found = values.find((value) => value === given);
    if (given !== undefined && found === undefined)
      throw new LiveQueryError(`${name} is ${JSON.stringify(given)}`, `write ${values.join(' or ')}`);
    return found;
  }

  /** Returns milliseconds since the epoch. Throws LiveQueryError if the value is not a time. */
  time(name: string): number | undefined {
    const given = this.text(name);
    if (given === undefined) return undefined;
    // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
    const at = Date.parse(given);
    if (Number.isNaN(at)) throw new LiveQueryError(`${name} is not a time`, 'write RFC 3339, as in 2026-01-31T12:00:00Z');
    return at;
  }
}

/** Returns a page of a list that is sorted by a unique key. Takes linear time, which is little compared to writing the items as JSON. */
export function pageOf<T>(
  items: Iterable<T>,
  keyOf: (item: T) => string,
  { limit, after }: Pick<LiveQuery, 'limit' | 'after'>,
): { items: T[]; next?: string } {
  const page: T[] = [];
  for (const item of items) {
    // The item with the key `after` may be gone by now.
    if (after !== undefined && keyOf(item) <= after) continue;
    const last = page.at(-1);
    if (last !== undefined && page.length === limit) return { items: page, next: keyOf(last) };
    page.push(item);
  }
  return { items: page };
}
