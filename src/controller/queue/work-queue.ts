import { backOffDelay } from '../../system/back-off.ts';
import type { Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import type { Random } from '../../system/random.ts';
import { allWithoutWaiting, TurnSlice } from '../../system/time-slice.ts';
import type { QueueFigures } from '../controller-observer.ts';
import { limits } from '../limits.ts';
import type { RandomSurroundings } from '../../system/random.ts';
import type { Urgency } from '../provider-parts.ts';
import { Semaphore } from './semaphore.ts';
import { earlierLine, WaitingLines, type Line } from './waiting-lines.ts';

const retryDelays = {
  minimumMilliseconds: limits.retryMinimumMilliseconds,
  maximumMilliseconds: limits.retryMaximumMilliseconds,
  jitter: 0.25,
};

interface WorkQueueComponents extends RandomSurroundings {
  /** Called when work on a key has ended. `retried`: with an expected error. Absent: nothing is measured. */
  readonly onFinished?: (result: 'done' | 'retried' | 'failed') => void;
}

/**
 * A work queue with unique keys. A key is never at work twice at once; a key that is added while at work runs again afterwards. Work starts
 * in the order of three lines (`addPriority`, `add`, `addLast`), and several keys may be at work together: the part before the first wait (the
 * decision) runs alone and in order, the part after it (a request) runs beside others. Failed work is retried for ever, per key, with
 * exponential back-off and jitter. When an error asks for a pause (Retry-After), no work starts before the pause ends.
 *
 * Remote keys, whose work waits for an API outside the cluster, have slots and a line of their own, so that a slow API delays no other key.
 * The most urgent ones start first, and equally urgent ones in the order in which their turn came.
 */
export class WorkQueue<K extends string> {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  readonly #onFinished: WorkQueueComponents['onFinished'];
  readonly #work: (key: K) => Promise<void>;
  readonly #remoteUrgency: (key: K) => Urgency | undefined;
  readonly #waiting = new WaitingLines<K>();
  /** Remote keys whose turn has come and that wait for a remote slot. */
  readonly #remote = new Semaphore<K>();
  /** When the work on each key began, earliest first. */
  readonly #atWork = new Map<K, number>();
  /** Keys that were added while at work, and where they will wait. */
  readonly #requeued = new Map<K, Line>();
  readonly #failures = new Map<K, number>();
  readonly #retries = new Map<K, () => void>();
  readonly #idleWaiters: (() => void)[] = [];
  #started = false;
  #scheduled = false;
  readonly #turn: TurnSlice;
  #endPause: (() => void) | undefined;
  #pauseEnds = 0;

  /** `remoteUrgency` is asked each time a key's turn comes, because the answer may change. Undefined: the key is not remote. */
  constructor(
    { clock, random, log, onFinished }: WorkQueueComponents,
    work: (key: K) => Promise<void>,
    remoteUrgency: (key: K) => Urgency | undefined = () => undefined,
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#log = log;
    this.#onFinished = onFinished;
    this.#turn = new TurnSlice(clock);
    this.#work = work;
    this.#remoteUrgency = remoteUrgency;
  }

  /** Keys that wait and keys at work. */
  get length(): number {
    return this.#waiting.size + this.#remote.waiting + this.#atWork.size;
  }

  /** Keys that failed and wait for a retry. */
  get retrying(): number {
    return this.#retries.size;
  }

  figures(): QueueFigures {
    const [longest] = this.#atWork.values();
    const longestMilliseconds = longest === undefined ? 0 : this.#clock.now() - longest;
    return { depth: this.length, retries: this.retrying, longestMilliseconds };
  }

  /** Adds a key. If it waits for a retry, it no longer waits: something about it has changed. */
  add(key: K): void {
    this.#enqueue(key, 'next');
  }

  /**
   * Adds a key ahead of all that `add` added, in the order of the calls. Other keys do not run in between: a Service that waits for an
   * address is decided on before a new one. Each key is queued once, so other keys do get their turn.
   */
  addPriority(key: K): void {
    this.#enqueue(key, 'first');
  }

  /**
   * Adds a key behind all others: nothing about it has changed, only something that may concern any key. After ten keys of `add` one of these
   * runs. A key that waits for a retry goes on waiting.
   */
  addLast(key: K): void {
    if (!this.#retries.has(key)) this.#enqueue(key, 'last');
  }

  start(): void {
    this.#started = true;
    this.#schedule();
  }

  /** Resolves when no key is at work and none can start. Keys that wait for a retry or for the end of a pause do not count. */
  async idle(): Promise<void> {
    while (this.#scheduled || this.#atWork.size > 0) await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
  }

  /** Waits for the keys at work and drops the others. */
  async stop(): Promise<void> {
    this.#started = false;
    for (const cancel of this.#retries.values()) cancel();
    this.#endPause?.();
    this.#retries.clear();
    this.#waiting.clear();
    this.#remote.clear();
    this.#requeued.clear();
    await this.idle();
  }

  #enqueue(key: K, line: Line): void {
    if (this.#atWork.has(key)) this.#requeued.set(key, earlierLine(line, this.#requeued.get(key)));
    else if (!this.#isWaitingRemote(key)) this.#waiting.add(key, line);
    this.#schedule();
  }

  /** Starts work in a later microtask, so that keys added together are ordered before the first one starts. */
  #schedule(): void {
    if (!this.#started || this.#scheduled || !this.#canBegin()) return;
    this.#scheduled = true;
    void this.#beginSoon();
  }

  async #beginSoon(): Promise<void> {
    await Promise.resolve();
    while (this.#started && this.#canBegin()) {
      // The loop starts remote keys together: their provider then asks for many objects in one request.
      if (this.#begin() === 'remote') continue;
      await allWithoutWaiting();
      // A reconcile that writes nothing never waits. Ten thousand of them would delay the timers, and the controller would lose its Lease.
      if (this.#turn.isUsedUp()) await this.#turn.yield();
    }
    this.#scheduled = false;
    this.#resolveIdle();
  }

  #canBegin(): boolean {
    return this.#endPause === undefined && (this.#canStartNext() || this.#remote.canStart());
  }

  #canStartNext(): boolean {
    return this.#atWork.size - this.#remote.atWork < limits.keysAtWork && this.#waiting.size > 0;
  }

  /** True when the key already waits for a remote slot, perhaps a more urgent one now. A key no longer remote joins the others. */
  #isWaitingRemote(key: K): boolean {
    if (!this.#remote.has(key)) return false;
    const urgency = this.#remoteUrgency(key);
    if (urgency === undefined) this.#remote.delete(key);
    else this.#remote.add(key, urgency);
    return urgency !== undefined;
  }

  /** Starts the next key, and a remote key that has a slot. Returns what it started; nothing counts as remote. */
  #begin(): 'near' | 'remote' {
    let started: 'near' | 'remote' = 'remote';
    if (this.#canStartNext()) {
      const key = this.#waiting.take();
      const urgency = this.#remoteUrgency(key);
      if (urgency === undefined) {
        this.#start(key);
        started = 'near';
      } else this.#remote.add(key, urgency);
    }
    const key = this.#remote.startNext();
    if (key !== undefined) this.#start(key);
    return started;
  }

  #start(key: K): void {
    this.#retries.get(key)?.();
    this.#retries.delete(key);
    this.#atWork.set(key, this.#clock.now());
    void this.#run(key);
  }

  async #run(key: K): Promise<void> {
    try {
      await this.#work(key);
      this.#onFinished?.('done');
      this.#failures.delete(key);
    } catch (error) {
      this.#onFinished?.(isExpected(error) ? 'retried' : 'failed');
      this.#retry(key, error);
    }
    this.#atWork.delete(key);
    this.#remote.end(key);
    const line = this.#requeued.get(key);
    this.#requeued.delete(key);
    if (line !== undefined) this.#enqueue(key, line);
    this.#schedule();
    this.#resolveIdle();
  }

  #retry(key: K, error: unknown): void {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    // A timer set after `stop` would never be cancelled.
    if (!this.#started) return;
    const asked = pauseAskedFor(error);
    if (asked > 0) this.#pause(asked);
    const milliseconds = Math.max(backOffDelay(failures, retryDelays, this.#random), asked);
    const fields = { key, error, failures, retryInMilliseconds: Math.round(milliseconds) };
    if (isExpected(error) || isFileSystem(error)) this.#log.debug(fields, 'expected error, will be retried');
    else this.#log.warn(fields, 'failed, will be retried');
    const cancel = this.#clock.after(milliseconds, () => this.add(key));
    this.#retries.set(key, cancel);
  }

  /** Pauses all work. The longest requested pause wins. */
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

/** True for errors without a fault of the key: another client wrote, the Lease was lost (logged elsewhere), or Herald stops. */
export function isExpected(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return code === 'conflict' || code === 'notLeading' || code === 'stopping';
}

/** True when the file system of a directory takes no records, which is logged once for all of them. */
function isFileSystem(error: unknown): boolean {
  return ((error ?? {}) as { readonly code?: unknown }).code === 'notWritten';
}

/** Returns the pause in milliseconds that the error asks for, as KubeError does; 0 when it asks for none. */
function pauseAskedFor(error: unknown): number {
  const { retryAfterMilliseconds: asked } = (error ?? {}) as { readonly retryAfterMilliseconds?: unknown };
  return typeof asked === 'number' && Number.isFinite(asked) ? Math.max(0, asked) : 0;
}
