import assert from 'node:assert';
import { sleep, type Clock } from '../../system/clock.ts';
import { timeSliceMilliseconds } from '../../system/limits.ts';
import type { Log } from '../../system/log.ts';
import type { Random } from '../../system/random.ts';
import { limits } from '../limits.ts';

interface WorkQueueComponents {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Keys to work on, each at most once in the queue and never twice at the same time: a key added while it is being worked on is worked on
 * again. Work begins strictly in order, and a few keys may be at it together: what the work does before it first waits is done alone and in
 * order (a decision), what it waits for runs beside that of others (a request). Work that fails is tried again with exponential back-off
 * and jitter, for that key alone, for ever; where whoever refused it asks for a pause (Retry-After), nothing begins before that is over.
 *
 * Keys whose work waits for something outside of the cluster, which may take minutes or never answer, are set aside: they have slots and a line of
 * their own, in the order in which their turn came, so that they keep nobody else from his.
 */
export class WorkQueue<K extends string> {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  readonly #work: (key: K) => Promise<void>;
  readonly #isRemote: (key: K) => boolean;
  readonly #priorityKeys = new Set<K>();
  readonly #keys = new Set<K>();
  /** Their turn has come, and they wait for a slot of those that wait outside. */
  readonly #remoteKeys = new Set<K>();
  readonly #atWork = new Set<K>();
  /** Of those at work. */
  readonly #remoteAtWork = new Set<K>();
  /** Added while at work, and whether ahead of the others. */
  readonly #requeued = new Map<K, boolean>();
  readonly #failures = new Map<K, number>();
  readonly #retries = new Map<K, () => void>();
  readonly #idleWaiters: (() => void)[] = [];
  #started = false;
  #scheduled = false;
  /** Milliseconds of work that was not waited for, since others had their turn. */
  #worked = 0;
  #endPause: (() => void) | undefined;
  #pauseEnds = 0;

  /** `waitsOutside` is asked each time that the turn of a key comes: the answer may have changed since it was added. */
  constructor(
    { clock, random, log }: WorkQueueComponents,
    work: (key: K) => Promise<void>,
    waitsOutside: (key: K) => boolean = () => false,
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#log = log;
    this.#work = work;
    this.#isRemote = waitsOutside;
  }

  /** Keys that wait for their turn, and those at work. */
  get length(): number {
    return this.#priorityKeys.size + this.#keys.size + this.#remoteKeys.size + this.#atWork.size;
  }

  /** Keys that failed and wait to be tried again. */
  get retrying(): number {
    return this.#retries.size;
  }

  /** A key that waits for a retry need not wait any longer: something about it has changed. */
  add(key: K): void {
    if (this.#atWork.has(key)) this.#requeued.set(key, this.#requeued.get(key) ?? false);
    else if (!this.#priorityKeys.has(key) && !this.#isWaitingRemote(key)) this.#keys.add(key);
    this.#schedule();
  }

  /**
   * Ahead of all that were added otherwise, in the order of the calls. There is no turn for the others in between: who waits for an
   * address must be looked at before somebody new is. Each of them is there once, so their end comes.
   */
  addPriority(key: K): void {
    if (this.#atWork.has(key)) this.#requeued.set(key, true);
    else if (!this.#isWaitingRemote(key)) {
      this.#keys.delete(key);
      this.#priorityKeys.add(key);
    }
    this.#schedule();
  }

  start(): void {
    this.#started = true;
    this.#schedule();
  }

  /** Resolves when nothing is at work and nothing can begin; keys that wait for a retry, or for the end of a pause, do not count. */
  async idle(): Promise<void> {
    while (this.#scheduled || this.#atWork.size > 0) await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
  }

  /** Finishes the keys that are being worked on and forgets the others. */
  async stop(): Promise<void> {
    this.#started = false;
    for (const cancel of this.#retries.values()) cancel();
    this.#endPause?.();
    this.#retries.clear();
    this.#keys.clear();
    this.#priorityKeys.clear();
    this.#remoteKeys.clear();
    this.#requeued.clear();
    await this.idle();
  }

  /** Not at once: what is added together is put in order before any of it begins. */
  #schedule(): void {
    if (!this.#started || this.#scheduled || !this.#canBegin()) return;
    this.#scheduled = true;
    void this.#beginSoon();
  }

  async #beginSoon(): Promise<void> {
    // Work that finds everything as it should be waits for nothing: ten thousand such keys must not keep a timer waiting.
    if (this.#worked >= timeSliceMilliseconds) {
      await sleep(this.#clock, 0);
      this.#worked = 0;
    } else await Promise.resolve();
    this.#scheduled = false;
    const began = this.#clock.now();
    while (this.#started && this.#canBegin()) this.#begin();
    this.#worked += this.#clock.now() - began;
    this.#resolveIdle();
  }

  #canBegin(): boolean {
    return this.#endPause === undefined && (this.#canStartNext() || this.#canStartRemote());
  }

  #canStartNext(): boolean {
    return this.#atWork.size - this.#remoteAtWork.size < limits.keysAtWork && this.#priorityKeys.size + this.#keys.size > 0;
  }

  #canStartRemote(): boolean {
    return this.#remoteAtWork.size < limits.remoteKeysAtWork && this.#remoteKeys.size > 0;
  }

  /** A key that waits aside keeps its place there, whoever adds it; one that need not wait there any more joins the others. */
  #isWaitingRemote(key: K): boolean {
    if (!this.#remoteKeys.has(key)) return false;
    if (this.#isRemote(key)) return true;
    this.#remoteKeys.delete(key);
    return false;
  }

  #begin(): void {
    if (this.#canStartNext()) {
      const [key] = this.#priorityKeys.size > 0 ? this.#priorityKeys : this.#keys;
      assert(key !== undefined);
      this.#priorityKeys.delete(key);
      this.#keys.delete(key);
      if (this.#isRemote(key)) this.#remoteKeys.add(key);
      else this.#start(key);
    }
    if (!this.#canStartRemote()) return;
    const [key] = this.#remoteKeys;
    assert(key !== undefined);
    this.#remoteKeys.delete(key);
    this.#remoteAtWork.add(key);
    this.#start(key);
  }

  #start(key: K): void {
    this.#retries.get(key)?.();
    this.#retries.delete(key);
    this.#atWork.add(key);
    void this.#run(key);
  }

  async #run(key: K): Promise<void> {
    try {
      await this.#work(key);
      this.#failures.delete(key);
    } catch (error) {
      this.#retry(key, error);
    }
    this.#atWork.delete(key);
    this.#remoteAtWork.delete(key);
    const ahead = this.#requeued.get(key);
    this.#requeued.delete(key);
    if (ahead === true) this.addPriority(key);
    else if (ahead === false) this.add(key);
    this.#schedule();
    this.#resolveIdle();
  }

  #retry(key: K, error: unknown): void {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    // Nobody would cancel a timer that is armed after `stop`.
    if (!this.#started) return;
    const asked = pauseAskedFor(error);
    if (asked > 0) this.#pause(asked);
    const longest = Math.min(limits.retryMaximumMilliseconds, limits.retryMinimumMilliseconds * 2 ** (failures - 1));
    const milliseconds = Math.max(longest * (0.75 + 0.25 * this.#random()), asked);
    const fields = { key, error, failures, retryInMilliseconds: Math.round(milliseconds) };
    if (isExpected(error)) this.#log.debug(fields, 'to be decided anew');
    else this.#log.warn(fields, 'failed, will be tried again');
    this.#retries.set(
      key,
      this.#clock.after(milliseconds, () => this.add(key)),
    );
  }

  /** Of several that ask, the one that asks for longest has it. */
  #pause(milliseconds: number): void {
    const ends = this.#clock.now() + milliseconds;
    if (this.#endPause !== undefined && ends <= this.#pauseEnds) return;
    this.#endPause?.();
    this.#pauseEnds = ends;
    const cancel = this.#clock.after(milliseconds, () => {
      this.#endPause = undefined;
      this.#schedule();
    });
    this.#endPause = () => {
      cancel();
      this.#endPause = undefined;
    };
  }

  #resolveIdle(): void {
    if (this.#scheduled || this.#atWork.size > 0) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }
}

/** Somebody wrote in between; or the Lease was lost, which is said once for all: nothing is wrong with the key. */
export function isExpected(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return code === 'conflict' || code === 'notLeading';
}

/** Milliseconds; 0: none. Whoever refuses says it as KubeError does. */
function pauseAskedFor(error: unknown): number {
  const { retryAfterMilliseconds: asked } = (error ?? {}) as { readonly retryAfterMilliseconds?: unknown };
  return typeof asked === 'number' && Number.isFinite(asked) ? Math.max(0, asked) : 0;
}
