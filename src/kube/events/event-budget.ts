import { OldestFirst } from './lru-map.ts';

interface Bucket {
  readonly tokens: number;
  /** When these were counted. */
  readonly at: number;
}

interface EventBudgetOptions {
  /** Tokens that a bucket holds. */
  readonly burst: number;
  /** Until there is one more. */
  readonly tokenMilliseconds: number;
  /** Buckets that are remembered. */
  readonly buckets: number;
}

/** Token buckets: how many Events somebody may have. */
export class EventBudget {
  readonly #options: EventBudgetOptions;
  readonly #buckets: OldestFirst<string, Bucket>;

  constructor(options: EventBudgetOptions) {
    this.#options = options;
    this.#buckets = new OldestFirst(options.buckets);
  }

  /** `now` in milliseconds. False: he has had his share. */
  take(key: string, now: number): boolean {
    const { burst, tokenMilliseconds } = this.#options;
    const { tokens, at } = this.#buckets.get(key) ?? { tokens: burst, at: now };
    const filled = Math.min(burst, tokens + (now - at) / tokenMilliseconds);
    const granted = filled >= 1;
    this.#buckets.set(key, { tokens: granted ? filled - 1 : filled, at: now });
    return granted;
  }
}
