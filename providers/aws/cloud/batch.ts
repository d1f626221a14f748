import { AwsError } from './error.ts';

/**
 * Asks for ids of several callers together. While one request is on its way, callers gather for the next one, so a batch grows only when
 * AWS is slower than its callers, and a lone caller never waits. Every request starts after all of its callers came: no answer is older
 * than the question.
 */
export class Batch<Item> {
  readonly #size: number;
  readonly #ask: (ids: readonly string[]) => Promise<readonly Item[]>;
  readonly #idOf: (item: Item) => string;
  #waiting: Caller<Item>[] = [];
  #isAsking = false;

  /** `size`: ids of one request. `idOf`: the id by which an item was asked for. */
  constructor(size: number, ask: (ids: readonly string[]) => Promise<readonly Item[]>, idOf: (item: Item) => string) {
    this.#size = size;
    this.#ask = ask;
    this.#idOf = idOf;
  }

  /** Resolves to the items with these ids. Rejects like a request for these ids alone. */
  load(ids: readonly string[]): Promise<readonly Item[]> {
    if (ids.length >= this.#size) return this.#ask(ids);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ids, resolve, reject });
      if (!this.#isAsking) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isAsking = true;
    // Callers of the same turn share the first request.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#askFor(this.#takeCallers());
    this.#isAsking = false;
  }

  #takeCallers(): Caller<Item>[] {
    const ids = new Set<string>();
    const end = this.#waiting.findIndex((caller) => {
      for (const id of caller.ids) ids.add(id);
      return ids.size > this.#size;
    });
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
  }

  async #askFor(callers: readonly Caller<Item>[]): Promise<void> {
    const ids = [...new Set(callers.flatMap((caller) => caller.ids))];
    try {
      const items = await this.#ask(ids);
      for (const caller of callers) caller.resolve(items.filter((item) => caller.ids.includes(this.#idOf(item))));
    } catch (error) {
      // AWS refuses a whole request because of one missing id: each caller gets its own answer.
      const isMissing = error instanceof AwsError && error.code === 'notFound';
      if (isMissing && callers.length > 1) for (const caller of callers) await this.#askFor([caller]);
      else for (const caller of callers) caller.reject(error);
    }
  }
}

interface Caller<Item> {
  readonly ids: readonly string[];
  readonly resolve: (items: readonly Item[]) => void;
  readonly reject: (error: unknown) => void;
}
