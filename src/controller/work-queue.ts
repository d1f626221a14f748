import type { Clock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import type { Random } from '../system/random.ts';
import { limits } from './limits.ts';

/**
 * Keys to work on, each at most once in the queue, one at a time. A key added while it is being worked on is worked on again.
 * Work that fails is tried again with exponential back-off and jitter, for that key alone.
 */
export class WorkQueue<K extends string> {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  readonly #work: (key: K) => Promise<void>;
  readonly #first = new Set<K>();
  readonly #keys = new Set<K>();
  readonly #failures = new Map<K, number>();
  readonly #retries = new Map<K, () => void>();
  #started = false;
  #running: Promise<void> | undefined;

  constructor(components: { readonly clock: Clock; readonly random: Random; readonly log: Log }, work: (key: K) => Promise<void>) {
    this.#clock = components.clock;
    this.#random = components.random;
    this.#log = components.log;
    this.#work = work;
  }

  add(key: K): void {
    if (!this.#first.has(key)) this.#keys.add(key);
    this.#run();
  }

  /** Ahead of all that were added otherwise, in the order of the calls. */
  addFirst(key: K): void {
    this.#keys.delete(key);
    this.#first.add(key);
    this.#run();
  }

  start(): void {
    this.#started = true;
    this.#run();
  }

  /** Resolves when the queue is empty; keys that wait for a retry do not count. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /** Finishes the key that is being worked on and forgets the others. */
  async stop(): Promise<void> {
    this.#started = false;
    for (const cancel of this.#retries.values()) cancel();
    this.#retries.clear();
    this.#keys.clear();
    this.#first.clear();
    await this.#running;
  }

  #run(): void {
    if (!this.#started || this.#running !== undefined || this.#next() === undefined) return;
    this.#running = this.#drain().finally(() => {
      this.#running = undefined;
      this.#run();
    });
  }

  #next(): K | undefined {
    const [first] = this.#first;
    const [next] = this.#keys;
    return first ?? next;
  }

  async #drain(): Promise<void> {
    // Work that adds a key at once must find that one is at work already.
    await Promise.resolve();
    for (let key = this.#next(); key !== undefined && this.#started; key = this.#next()) {
      this.#first.delete(key);
      this.#keys.delete(key);
      this.#retries.get(key)?.();
      this.#retries.delete(key);
      try {
        await this.#work(key);
        this.#failures.delete(key);
      } catch (error) {
        this.#retry(key, error);
      }
    }
  }

  #retry(key: K, error: unknown): void {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    // Nobody would cancel a timer that is armed after `stop`.
    if (!this.#started) return;
    const longest = Math.min(limits.retryMaximumMilliseconds, limits.retryMinimumMilliseconds * 2 ** (failures - 1));
    const milliseconds = longest * (0.75 + 0.25 * this.#random());
    this.#log.warn({ key, error, failures, retryInMilliseconds: Math.round(milliseconds) }, 'failed, will be tried again');
    this.#retries.set(
      key,
      this.#clock.after(milliseconds, () => this.add(key)),
    );
  }
}
