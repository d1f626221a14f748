import { Worker } from 'node:worker_threads';
import { firstUnknownName } from '../lang/closest-name.ts';
import { RequestChannel } from '../lang/request-channel.ts';
import { loadLibc } from '../system/ffi/libc.ts';
import { newDiscards } from './counters.ts';
import { minimumInterval } from './limits.ts';
import type { ManagerStatus } from './manager.ts';
import type { SessionOptions } from './session-options.ts';
import type { Transition } from './session-status.ts';
import type { Answers, FeedMessage, Message, Question, Refusal, StateFeed, WorkerOptions } from './worker/messages.ts';

export interface BfdOptions {
  /** Shortest interval in milliseconds. Shorter intervals of sessions are raised to it, with a warning in their status. Default 10. */
  readonly minimumInterval?: number;
  /** Asks for real-time priority (SCHED_FIFO). Without the permission the thread runs at normal priority. Default: no. */
  readonly realTime?: boolean;
}

/** BFD cannot run on this host. */
export class BfdUnavailableError extends Error {
  readonly code = 'ERR_BFD_UNAVAILABLE';

  constructor() {
    super('BFD needs Linux and the native module koffi, with which it checks the TTL of received packets');
    this.name = 'BfdUnavailableError';
  }
}

/** An option that `new Bfd` does not have, such as a misspelt one. */
export class BfdOptionsError extends Error {
  readonly code = 'ERR_BFD_OPTIONS';
  readonly option: string;

  constructor(option: string, nearest: string | undefined) {
    super(`${option}: Bfd has no such option${nearest === undefined ? '' : `, did you mean ${nearest}?`}`);
    this.name = 'BfdOptionsError';
    this.option = option;
  }
}

/** Gets the name of the session. */
export type BfdListener = (name: string, transition: Transition) => void;

/**
 * BFD sessions in a thread of their own. The caller sets the sessions and gets their changes. The thread does all timing, so a busy main
 * thread gets changes late but loses no session.
 */
export class Bfd {
  readonly #worker: Worker;
  readonly #listeners = new Set<BfdListener>();
  readonly #requests: RequestChannel<Answers>;
  readonly #started = Promise.withResolvers<boolean>();
  readonly #ended: Promise<void>;
  #stopping: Promise<void> | undefined;

  /** Throws BfdOptionsError and BfdUnavailableError. */
  constructor(options: BfdOptions = {}) {
    const unknown = firstUnknownName(Object.keys(options), ['minimumInterval', 'realTime'] satisfies (keyof BfdOptions)[]);
    if (unknown !== undefined) throw new BfdOptionsError(unknown.name, unknown.nearest);
    if (loadLibc() === undefined) throw new BfdUnavailableError();
    const workerData: WorkerOptions = { minimumInterval: options.minimumInterval ?? minimumInterval, realTime: options.realTime ?? false };
    // The compiled program ends in `.js`.
    const program = new URL(import.meta.url.endsWith('.ts') ? './worker/thread.ts' : './worker/thread.js', import.meta.url);
    this.#worker = new Worker(program, { workerData, name: 'bfd' });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#requests = new RequestChannel((request) => this.#worker.postMessage(request), whenStopped);
    this.#worker.on('message', (message: Message) => this.#onMessage(message));
    // An error in the thread is a bug. Without a listener for `error` it ends the process, as an error in the main thread does.
    this.#ended = new Promise((resolve) => void this.#worker.once('exit', () => resolve()));
  }

  /** Resolves when the thread runs, with true if it has real-time priority. */
  started(): Promise<boolean> {
    return this.#started.promise;
  }

  /**
   * Makes these the sessions, exactly. Each needs its own name and peer. Removed sessions send AdminDown; changed intervals apply by a Poll
   * Sequence. Resolves with the sessions that were refused and why; the others are set.
   */
  set(sessions: readonly SessionOptions[]): Promise<readonly Refusal[]> {
    return this.#ask({ type: 'set', sessions });
  }

  /** Calls the listener with every state change of a session. The returned function removes it. */
  onChange(listener: BfdListener): () => void {
    // A new function, so that a listener added twice can be removed once.
    const call: BfdListener = (name, transition) => listener(name, transition);
    this.#listeners.add(call);
    return () => void this.#listeners.delete(call);
  }

  /** Has the thread tell another thread the states of the sessions, so that it does not wait for the main thread. */
  feed({ port, wake }: StateFeed): void {
    if (this.#requests.closed) return;
    const message: FeedMessage = { type: 'feed', port, wake };
    this.#worker.postMessage(message, [port]);
  }

  status(): Promise<ManagerStatus> {
    return this.#ask({ type: 'status' });
  }

  /** Returns the latest state changes of a session, oldest first. */
  history(name: string): Promise<readonly Transition[]> {
    return this.#ask({ type: 'history', name });
  }

  /**
   * Sends AdminDown to every peer, so that it keeps its routes. Resolves when the thread has ended. Later calls get an empty answer, and no
   * session starts.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    // While it closes its sessions the thread would answer out of order, and afterwards not at all.
    await this.#requests.askLast({ type: 'stop' });
    await this.#ended;
  }

  #ask<Q extends Question>(question: Q): Promise<Answers[Q['type']]> {
    return this.#requests.ask(question);
  }

  #onMessage(message: Message): void {
    switch (message.type) {
      case 'started':
        this.#started.resolve(message.realTime);
        return;
      case 'answer':
        this.#requests.answered(message.value);
        return;
      case 'changed':
        for (const listener of this.#listeners) listener(message.name, message.transition);
    }
  }
}

const whenStopped = (): Answers => ({ set: [], status: { sessions: [], discards: newDiscards() }, history: [], stop: undefined });
