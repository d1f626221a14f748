import { Worker } from 'node:worker_threads';
import { defined } from '../../lang/defined.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import type { Connection } from '../client/connection.ts';
import { KubeError } from '../error.ts';
import { limits } from '../limits.ts';
import type { Candidacy, ElectionOptions } from './election.ts';
import { Fence } from './fence.ts';
import type { ElectionThreadOptions, FromElection, ToElection } from './worker/messages.ts';

export interface ElectionThreadComponents {
  readonly connection: Connection;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * An election in a thread of its own, so that a leader with much to do keeps its Lease. That thread has its own connections to the API server;
 * it gets the credentials from this one, and stops renewing when this one hangs.
 */
export class ElectionThread implements Candidacy {
  readonly #components: ElectionThreadComponents;
  readonly #options: ElectionOptions;
  readonly #fence = new Fence();
  readonly #elected = Promise.withResolvers<boolean>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #lost = Promise.withResolvers<void>();
  readonly #term = new AbortController();
  #worker: Worker | undefined;
  #cancel: Cancel | undefined;
  #refusal: string | undefined;

  constructor(components: ElectionThreadComponents, options: ElectionOptions) {
    this.#components = components;
    this.#options = options;
  }

  /** Resolves to true when we lead, however long it takes, and to false when `resign` came first. */
  campaign(): Promise<boolean> {
    const { connection, userAgent } = this.#components;
    const { server, whenUnreachable } = connection;
    const workerData: ElectionThreadOptions = {
      ...this.#options,
      ...defined({ whenUnreachable }),
      server: server.href,
      userAgent,
      fence: this.#fence.memory,
    };
    // The compiled program ends in `.js`.
    const program = new URL(import.meta.url.endsWith('.ts') ? './worker/thread.ts' : './worker/thread.js', import.meta.url);
    this.#worker = new Worker(program, { workerData, name: 'election', resourceLimits: { maxYoungGenerationSizeMb: 4 } });
    // An error in the thread is a bug. Without a listener for `error` it ends the process, as an error in the main thread does.
    this.#worker.on('message', (message: FromElection) => this.#onMessage(message));
    void this.#sendCredentials();
    return this.#elected.promise;
  }

  /** True when a write may begin: we lead, and renewed the Lease so recently that no other process can lead. */
  mayWrite(): boolean {
    return this.#fence.isOpen(this.#components.clock);
  }

  /** Aborts when we no longer lead. */
  get term(): AbortSignal {
    return this.#term.signal;
  }

  /** Returns why the API server refuses us the Lease, with the fix. Undefined while it does not, and when it does not answer. */
  refusal(): string | undefined {
    return this.#refusal;
  }

  /** Resolves when the Lease was lost. Never resolves after it was released. */
  get lost(): Promise<void> {
    return this.#lost.promise;
  }

  /** Releases the Lease, so that another process leads at once. Also resolves when the release failed: the Lease then expires. */
  resign(): Promise<void> {
    if (this.#worker === undefined) this.#end();
    else this.#send({ type: 'stop' });
    return this.#ended.promise;
  }

  #onMessage(message: FromElection): void {
    switch (message.type) {
      case 'elected':
        return this.#elected.resolve(message.elected);
      case 'termEnded':
        return this.#term.abort(new KubeError('notLeading', 'given up: another controller may lead by now'));
      case 'refusal':
        this.#refusal = message.refusal;
        return;
      case 'expired':
        this.#components.connection.expired();
        return void this.#sendCredentials();
      case 'log':
        return this.#components.log[message.level](message.fields, message.message);
      case 'ended':
        if (message.because === 'lost') this.#lost.resolve();
        this.#end();
    }
  }

  #end(): void {
    this.#cancel?.();
    this.#worker = undefined;
    this.#elected.resolve(false);
    this.#ended.resolve();
  }

  /** Sends them again and again: they are renewed from time to time, and the thread learns that this one works. */
  async #sendCredentials(): Promise<void> {
    const { clock, connection } = this.#components;
    this.#cancel?.();
    this.#cancel = clock.after(limits.credentialsSentMilliseconds, () => void this.#sendCredentials());
    this.#send(
      await connection.credentials().then(
        (credentials) => ({ type: 'credentials', credentials }) as const,
        (error: unknown) => {
          if (!(error instanceof KubeError)) throw error;
          return { type: 'noCredentials', message: error.message, fix: error.fix } as const;
        },
      ),
    );
  }

  #send(message: ToElection): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker?.postMessage(message);
  }
}
