import { limits } from '../limits.ts';
import { OldestFirst } from './oldest-first.ts';

interface Bucket {
  readonly tokens: number;
  /** When these were counted. */
  readonly at: number;
}

/** How many Events an object may have: a token bucket each, with client-go's sizes. One that flaps must not fill the API server. */
export class EventBudget {
  readonly #buckets = new OldestFirst<string, Bucket>(limits.eventObjects);

  /** `now` in milliseconds. False: the object has had its share. */
  take(object: string, now: number): boolean {
    const { tokens, at } = this.#buckets.get(object) ?? { tokens: limits.eventBurst, at: now };
    const filled = Math.min(limits.eventBurst, tokens + (now - at) / limits.eventTokenMilliseconds);
    const granted = filled >= 1;
    this.#buckets.set(object, { tokens: granted ? filled - 1 : filled, at: now });
    return granted;
  }
}
