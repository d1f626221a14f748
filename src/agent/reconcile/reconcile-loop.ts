import { DataplaneError } from '../../dataplane/dataplane.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Change, Snapshot } from '../../model/store/snapshot.ts';
import type { Source } from '../../sources/source.ts';
import { TokenBucket } from '../../lang/token-bucket.ts';
import { limits } from '../limits.ts';
import type { RandomSurroundings } from '../../system/random.ts';
import { RetryTimer } from './retry-timer.ts';
import { PendingWork } from './pending-work.ts';

interface ReconcileLoopComponents extends RandomSurroundings {
  readonly source: Source;
}

/** One pass: the Services to reconcile, and the state of the loop that runs it. */
export interface PassWork {
  readonly snapshot: Snapshot;
  /** The handler adds the Services that it plans besides. All of them are retried when the pass fails. */
  readonly services: Set<ServiceKey>;
  /** True: the node's own settings and sessions are reconciled as well. */
  readonly node: boolean;
  readonly isStopped: () => boolean;
  /** Returns a function that tells whether a commit made from now on is still valid: the data plane has not lost it, and the loop runs. */
  readonly commitGuard: () => () => boolean;
}

/** The agent's handlers for the loop. */
interface ReconcileHandlers {
  /** Runs a pass: withdraws, commits, announces. */
  readonly reconcile: (work: PassWork) => Promise<void>;
  /** Withdraws routes that are no longer planned. Needs no data plane. */
  readonly withdraw: (snapshot: Snapshot, services: readonly ServiceKey[], node: boolean) => void;
  /** Called when there is work. */
  readonly onQueued: () => void;
  /** Called after each pass, successful or not. */
  readonly onStatusChanged: () => void;
}

/** Runs passes one at a time, each over all changes until then, with intervals. A failed pass is retried with back-off. */
export class ReconcileLoop {
  readonly #components: ReconcileLoopComponents;
  readonly #handlers: ReconcileHandlers;
  readonly #work: PendingWork;
  readonly #retry: RetryTimer;
  readonly #budget = new TokenBucket({ burst: limits.passBurst, refillMilliseconds: limits.passRefillMilliseconds });
  /** Counts how often the data plane lost the committed forwarding. */
  #dataplaneLosses = 0;
  #error: DataplaneError | undefined;
  /** The running pass, or the one that waits for its turn. */
  #pass: Promise<void> | undefined;
  #endWait: (() => void) | undefined;
  #runningSince: number | undefined;
  #stopped = false;

  constructor(components: ReconcileLoopComponents, node: string, handlers: ReconcileHandlers) {
    this.#components = components;
    this.#handlers = handlers;
    this.#work = new PendingWork(node);
    this.#retry = new RetryTimer(components, () => this.#run());
  }

  /** Why the data plane did not take the last changes. Undefined: it took them. */
  get error(): DataplaneError | undefined {
    return this.#error;
  }

  /** True after the first successful pass. */
  get hasSynced(): boolean {
    return this.#work.hasSynced;
  }

  /** Number of Services that wait for the next pass. */
  get waiting(): number {
    return this.#work.waiting;
  }

  /** When the running pass began. Undefined: no pass runs. */
  get runningSince(): number | undefined {
    return this.#runningSince;
  }

  /** Highest resourceVersion that a successful pass used, by kind. */
  get consumed(): Readonly<Record<string, string>> {
    return this.#work.consumed;
  }

  /** Marks everything as pending, so that the next pass covers it. Does not start a pass. */
  markAll(): void {
    this.#work.addAll(this.#components.source.snapshot);
  }

  /** Marks everything as pending and starts a pass. */
  requeueAll(): void {
    this.markAll();
    this.#run();
  }

  /** Starts the first pass and resolves when it ends, also when it failed. */
  async start(): Promise<void> {
    this.#run();
    await this.#pass;
  }

  /** Resolves when no pass runs and none is pending. */
  async settled(): Promise<void> {
    while (this.#pass !== undefined) await this.#pass;
  }

  onChanges(changes: readonly Change[]): void {
    this.#work.addChanges(changes, this.#components.source.snapshot);
    this.#run();
  }

  requeue(services: Iterable<ServiceKey>): void {
    for (const service of services) this.#work.addService(service);
    this.#run();
  }

  /** Called when the content of the kernel is unknown: makes everything pending again. */
  onDataplaneLost(error: DataplaneError): void {
    this.#dataplaneLosses++;
    this.#error = error;
    this.#work.addAll(this.#components.source.snapshot);
    if (!this.#retry.waiting) this.#retryLater(error);
  }

  get isStopped(): boolean {
    return this.#stopped;
  }

  /** Starts no further pass. */
  stop(): void {
    this.#stopped = true;
    this.#retry.stop();
    this.#endWait?.();
  }

  #run(): void {
    if (this.#stopped || this.#work.isEmpty) return;
    this.#handlers.onQueued();
    if (this.#pass !== undefined) return;
    if (this.#retry.waiting) {
      this.#withdrawOnly();
      return;
    }
    const now = this.#components.clock.now();
    const wait = this.#budget.dueAt(now) - now;
    const pass = wait > 0 ? this.#waitForTurn(wait).then(() => this.#onePass()) : this.#onePass();
    this.#pass = pass.finally(() => {
      this.#pass = undefined;
      this.#runningSince = undefined;
      this.#run();
    });
  }

  /** Resolves when the budget allows a pass, or at once when the loop stops. */
  #waitForTurn(milliseconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#components.clock.after(milliseconds, resolve);
    this.#endWait = () => {
      cancel();
      resolve();
    };
    return promise;
  }

  /** After a failure the loop waits before it uses the data plane again. Routes that are no longer planned are withdrawn meanwhile. */
  #withdrawOnly(): void {
    const work = this.#work.takeNew();
    this.#handlers.withdraw(this.#components.source.snapshot, work.services, work.node);
    this.#work.requeueFailed(work);
    this.#handlers.onStatusChanged();
  }

  async #onePass(): Promise<void> {
    // While the pass waited for its turn, the loop was stopped or the data plane failed.
    if (this.#stopped || this.#retry.waiting) return;
    this.#runningSince = this.#components.clock.now();
    this.#budget.spend(this.#runningSince);
    const work = this.#work.take();
    const services = new Set(work.services);
    const isIntact = this.#commitGuard();
    try {
      await this.#handlers.reconcile({
        snapshot: this.#components.source.snapshot,
        services,
        node: work.node,
        isStopped: () => this.#stopped,
        commitGuard: () => this.#commitGuard(),
      });
      this.#work.markDone(work);
      if (isIntact()) {
        this.#retry.succeeded();
        this.#error = undefined;
      }
    } catch (error) {
      if (!(error instanceof DataplaneError)) throw error;
      this.#work.requeueFailed({ ...work, services: [...services] });
      this.#error = error;
      if (!this.#stopped) this.#retryLater(error);
    }
    this.#handlers.onStatusChanged();
  }

  #commitGuard(): () => boolean {
    const losses = this.#dataplaneLosses;
    return () => !this.#stopped && losses === this.#dataplaneLosses;
  }

  #retryLater(error: DataplaneError): void {
    const retryInMilliseconds = this.#retry.failed();
    this.#components.log.error({ error: error.message, retryInMilliseconds }, 'the data plane took no change');
  }
}
