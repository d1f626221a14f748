import { DataplaneError } from '../../dataplane/dataplane.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Change, Snapshot } from '../../model/store/snapshot.ts';
import type { Source } from '../../sources/source.ts';
import type { Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import type { Random } from '../../system/random.ts';
import { BackOff } from './back-off.ts';
import { PendingWork } from './pending-work.ts';

interface ReconcileLoopComponents {
  readonly source: Source;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** What a pass does: the agent. `node`: the node's own settings and sessions are to be looked at as well. */
export interface ReconcileHandlers {
  /** Everything: withdraw, commit, announce. Adds to `services` those that are planned with them: if the pass fails, all are work again. */
  readonly reconcile: (snapshot: Snapshot, services: Set<ServiceKey>, node: boolean) => Promise<void>;
  /** Only what needs no data plane. */
  readonly withdraw: (snapshot: Snapshot, services: readonly ServiceKey[], node: boolean) => void;
  /** There is work. */
  readonly onQueued: () => void;
  /** A pass is over, well or badly. */
  readonly onStatusChanged: () => void;
}

/** When a pass runs, and over what: one at a time, over everything that has changed meanwhile; one that failed is done again after a pause. */
export class ReconcileLoop {
  readonly #components: ReconcileLoopComponents;
  readonly #effects: ReconcileHandlers;
  readonly #work: PendingWork;
  readonly #retry: BackOff;
  /** How often the data plane has lost what was committed. */
  #losses = 0;
  #error: string | undefined;
  #pass: Promise<void> | undefined;
  #since: number | undefined;
  #stopped = false;

  constructor(components: ReconcileLoopComponents, node: string, effects: ReconcileHandlers) {
    this.#components = components;
    this.#effects = effects;
    this.#work = new PendingWork(node);
    this.#retry = new BackOff(components, () => this.#run());
  }

  /** Why the data plane did not take the last changes. */
  get error(): string | undefined {
    return this.#error;
  }

  /** A pass was carried out. */
  get hasSynced(): boolean {
    return this.#work.hasSynced;
  }

  /** Services that wait for the next pass. */
  get waiting(): number {
    return this.#work.waiting;
  }

  /** When the pass that is running began. */
  get runningSince(): number | undefined {
    return this.#since;
  }

  /** Highest resourceVersion acted upon, by kind. */
  get consumed(): Readonly<Record<string, string>> {
    return this.#work.consumed;
  }

  /** Whatever pass comes first is over everything. */
  markAll(): void {
    this.#work.addAll(this.#components.source.snapshot);
  }

  /** A pass over everything. */
  requeueAll(): void {
    this.markAll();
    this.#run();
  }

  /** Resolves after the first pass, also when it failed. */
  async start(): Promise<void> {
    this.#run();
    await this.#pass;
  }

  /** Resolves when no pass is running or wanted. */
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

  /** Tells, when asked, whether what was committed since now is still there and still wanted. */
  commitGuard(): () => boolean {
    const losses = this.#losses;
    return () => !this.#stopped && losses === this.#losses;
  }

  /** What the kernel has is unknown: everything is work again. */
  onDataplaneLost(error: DataplaneError): void {
    this.#losses++;
    this.#error = error.message;
    this.#work.addAll(this.#components.source.snapshot);
    if (!this.#retry.waiting) this.#retryLater(error);
  }

  /** No pass begins any more. */
  stop(): void {
    this.#stopped = true;
    this.#retry.stop();
  }

  #run(): void {
    if (this.#stopped || this.#work.isEmpty) return;
    this.#effects.onQueued();
    if (this.#pass !== undefined) return;
    if (this.#retry.waiting) {
      this.#withdrawOnly();
      return;
    }
    this.#since = this.#components.clock.now();
    this.#pass = this.#onePass().finally(() => {
      this.#pass = undefined;
      this.#since = undefined;
      this.#run();
    });
  }

  /** While the data plane is left alone after a failure, routes that are no longer wanted go all the same. */
  #withdrawOnly(): void {
    const work = this.#work.takeNew();
    this.#effects.withdraw(this.#components.source.snapshot, work.services, work.node);
    this.#work.requeueFailed(work);
    this.#effects.onStatusChanged();
  }

  async #onePass(): Promise<void> {
    const work = this.#work.take();
    const services = new Set(work.services);
    const isIntact = this.commitGuard();
    try {
      await this.#effects.reconcile(this.#components.source.snapshot, services, work.node);
      this.#work.markDone(work);
      if (isIntact()) {
        this.#retry.succeeded();
        this.#error = undefined;
      }
    } catch (error) {
      if (!(error instanceof DataplaneError)) throw error;
      this.#work.requeueFailed({ ...work, services: [...services] });
      this.#error = error.message;
      if (!this.#stopped) this.#retryLater(error);
    }
    this.#effects.onStatusChanged();
  }

  #retryLater(error: DataplaneError): void {
    const retryInMilliseconds = this.#retry.failed();
    this.#components.log.error({ error: error.message, retryInMilliseconds }, 'the data plane took no change');
  }
}
