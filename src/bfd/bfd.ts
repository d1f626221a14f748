import { Worker } from 'node:worker_threads';
import { loadLibc } from '../system/ffi/libc.ts';
import { newDiscards } from './counters.ts';
import { minimumInterval } from './limits.ts';
import type { ManagerStatus } from './manager.ts';
import type { SessionOptions } from './session-options.ts';
import type { Transition } from './session-status.ts';
import type { Answers, Message, Question, Refusal, WorkerOptions } from './worker/messages.ts';

export interface BfdOptions {
  /** Milliseconds: shorter intervals of sessions are made this, with a warning in their status. Default 10. */
  readonly minimumInterval?: number;
  /** The thread asks for real-time priority (SCHED_FIFO), and goes on without where it may not have it. Default: no. */
  readonly realTime?: boolean;
}

/** Why BFD cannot run here. */
export class BfdUnavailableError extends Error {
  readonly code = 'ERR_BFD_UNAVAILABLE';

  constructor() {
    super('BFD needs Linux, and the native module koffi, by which it looks at the TTL of what it receives');
    this.name = 'BfdUnavailableError';
  }
}

type Listener = (name: string, transition: Transition) => void;

/**
 * BFD sessions in a thread of their own. Whoever uses them says which there are to be, and hears of changes; the times are the thread's,
 * so that a main thread that is busy hears late, and no peer notices.
 */
export class Bfd {
  readonly #worker: Worker;
  readonly #listeners = new Set<Listener>();
  /** Answers come in the order of questions. */
  readonly #waiting: PromiseWithResolvers<Answers[keyof Answers]>[] = [];
  readonly #started = Promise.withResolvers<boolean>();
  readonly #ended: Promise<void>;
  #stopping: Promise<void> | undefined;

  /** Throws BfdUnavailableError. */
  constructor(options: BfdOptions = {}) {
    if (loadLibc() === undefined) throw new BfdUnavailableError();
    const workerData: WorkerOptions = { minimumInterval: options.minimumInterval ?? minimumInterval, realTime: options.realTime ?? false };
    // The compiled program has another name.
    const program = new URL(import.meta.url.endsWith('.ts') ? './worker/thread.ts' : './worker/thread.js', import.meta.url);
    this.#worker = new Worker(program, { workerData, name: 'bfd' });
    this.#worker.on('message', (message: Message) => this.#onMessage(message));
    // An error in the thread is a bug: without a listener for it the process ends, as by one in the main thread.
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#worker.once('exit', () => resolve());
    this.#ended = promise;
  }

  /** Resolves when the thread runs: whether it has real-time priority. */
  started(): Promise<boolean> {
    return this.#started.promise;
  }

  /**
   * Exactly these sessions, named differently and each with another peer. Those that are no longer wanted say goodbye (AdminDown), those
   * with other intervals change them by a Poll Sequence. Resolves with what cannot be, and why; the others are as they should be.
   */
  async set(sessions: readonly SessionOptions[]): Promise<readonly Refusal[]> {
    return (await this.#ask({ type: 'set', sessions })) as Answers['set'];
  }

  /** Calls the listener with every step of a session's state machine; the result takes it off again. */
  onChange(listener: Listener): () => void {
    // A function of its own, so that one listener may be put on twice and taken off once.
    const call: Listener = (name, transition) => listener(name, transition);
    this.#listeners.add(call);
    return () => void this.#listeners.delete(call);
  }

  async status(): Promise<ManagerStatus> {
    return (await this.#ask({ type: 'status' })) as Answers['status'];
  }

  /** The latest steps of a session, oldest first. */
  async history(name: string): Promise<readonly Transition[]> {
    return (await this.#ask({ type: 'history', name })) as Answers['history'];
  }

  /**
   * Says AdminDown to every peer, so that it keeps its routes, and resolves when the thread has ended. There are no sessions from now on:
   * whoever asks hears that, and whoever wants some has none.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    await this.#ask({ type: 'stop' });
    await this.#ended;
  }

  async #ask(question: Question): Promise<Answers[keyof Answers]> {
    // Beside its goodbyes the thread would answer out of turn, and after them not at all.
    if (this.#stopping !== undefined) return whenStopped()[question.type];
    const answer = Promise.withResolvers<Answers[keyof Answers]>();
    this.#waiting.push(answer);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage(question);
    return answer.promise;
  }

  #onMessage(message: Message): void {
    switch (message.type) {
      case 'started':
        this.#started.resolve(message.realTime);
        return;
      case 'answer':
        this.#waiting.shift()?.resolve(message.value);
        return;
      case 'changed':
        for (const listener of this.#listeners) listener(message.name, message.transition);
    }
  }
}

const whenStopped = (): Answers => ({ set: [], status: { sessions: [], discards: newDiscards() }, history: [], stop: undefined });
