import { LruMap } from './lru-map.ts';

interface Bucket {
  readonly tokens: number;
  /** When the tokens were counted. */
  readonly at: number;
}

interface EventBudgetOptions {
  /** Tokens that a bucket holds. */
  readonly burst: number;
  /** Time until the next token. */
  readonly tokenMilliseconds: number;
  /** Buckets that are remembered. */
  readonly buckets: number;
}

/** Token buckets that limit Events by key. */
export class EventBudget {
  readonly #options: EventBudgetOptions;
  readonly #buckets: LruMap<string, Bucket>;

  constructor(options: EventBudgetOptions) {
    this.#options = options;
    this.#buckets = new LruMap(options.buckets);
  }

  /** Takes a token; `now` in milliseconds. False when the bucket is empty. */
  take(key: string, now: number): boolean {
    const { burst, tokenMilliseconds } = this.#options;
    const { tokens, at } = this.#buckets.get(key) ?? { tokens: burst, at: now };
    const filled = Math.min(burst, tokens + (now - at) / tokenMilliseconds);
    const granted = filled >= 1;
    this.#buckets.set(key, { tokens: granted ? filled - 1 : filled, at: now });
    return granted;
  }
}
