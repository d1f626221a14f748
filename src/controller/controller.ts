import { defined } from '../lang/defined.ts';
import { keepsHolding } from '../decisions/allocation/claim.ts';
import { whyHeldTwice } from '../decisions/allocation/held-twice.ts';
import { inOrderOfCreation, inOrderOfService } from '../decisions/allocation/order.ts';
import type { ServiceKey } from '../model/objects/metadata.ts';
import { reason, reasonText, type Reason } from '../model/reasons.ts';
import { assignedAddresses, type Service } from '../model/objects/service.ts';
import type { Change, Snapshot } from '../model/store/snapshot.ts';
import { formatAddress, type Address } from '../net/address.ts';
import type { Source } from '../sources/source.ts';
import type { Clock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import type { Random } from '../system/random.ts';
import { AffectedServices } from './services/affected-services.ts';
import { CompetingWriters } from './services/competing-writers.ts';
import { noControllerObserver, type ControllerObserver, type QueueFigures, type QueueName } from './controller-observer.ts';
import { noEvents, type EventSink } from './events/event-sink.ts';
import { SourceEvents } from './events/source-events.ts';
import { limits } from './limits.ts';
import { ConfigurationStatuses } from './configuration/configuration-statuses.ts';
import { hasUnobservedGeneration, serviceConditions } from './services/service-conditions.ts';
import { InstrumentedReconciler } from './queue/measured-work.ts';
import { completeProvider, keptInPools, poolUsage, type CompleteProvider } from './complete-provider.ts';
import type { Provider, Reconciliation } from './provider.ts';
import { goneAddresses, ServedServices, type Served } from './services/served-services.ts';
import { ServiceStatuses } from './services/service-statuses.ts';
import { UnreadableServices } from './services/unreadable-services.ts';
import { UnreleasedResources } from './services/unreleased-resources.ts';
import type { StatusWriter } from './status-writer.ts';
import { WorkQueue } from './queue/work-queue.ts';

interface ControllerComponents {
  readonly source: Source;
  readonly providers: readonly Provider[];
  readonly writer: StatusWriter;
  /** Absent: what happens is in the log only. */
  readonly events?: EventSink;
  /** Absent: nothing is measured. */
  readonly observer?: ControllerObserver;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * The only allocator and the only writer of Service status. Level-based: a change names a Service, and the Service is then
 * made what the snapshot says, whatever happened in between. One Service at a time, in the order in which they came.
 */
export class Controller {
  readonly #components: Omit<ControllerComponents, 'providers'> & { readonly providers: readonly CompleteProvider[] };
  readonly #observer: ControllerObserver;
  readonly #work: InstrumentedReconciler<ServiceKey>;
  readonly #queue: WorkQueue<ServiceKey>;
  readonly #served: ServedServices;
  readonly #unreadable: UnreadableServices;
  readonly #unreleased: UnreleasedResources;
  readonly #affected = new AffectedServices();
  /** Services whose agents have yet to report on their latest form. */
  readonly #awaitingAgents = new Set<ServiceKey>();
  readonly #statuses: ServiceStatuses;
  readonly #configuration: ConfigurationStatuses;
  readonly #sourceEvents: SourceEvents;
  readonly #competingWriters = new CompetingWriters();
  readonly #unsubscribe: (() => void)[] = [];
  #cancelTimeoutCheck: (() => void) | undefined;

  constructor(given: ControllerComponents) {
    const providers = given.providers.map(completeProvider);
    const components = { ...given, providers };
    this.#components = components;
    const { events = noEvents, observer = noControllerObserver, clock } = components;
    this.#observer = observer;
    this.#work = new InstrumentedReconciler('services', (key) => this.#reconcile(key), { observer, clock });
    this.#queue = new WorkQueue(
      components,
      (key) => this.#work.run(key),
      (key) => this.#served.isRemote(key, components.source.snapshot),
    );
    this.#served = new ServedServices(providers);
    this.#unreadable = new UnreadableServices(components, {
      requeue: (key, when) => (when === 'first' ? this.#queue.addPriority(key) : this.#queue.add(key)),
      adopt: (provider, service, addresses) => this.#adopt(provider, service, addresses, 'always'),
      released: (key, addresses, why) => this.#recordReleased(key, addresses, why),
    });
    this.#unreleased = new UnreleasedResources({ ...components, events });
    this.#statuses = new ServiceStatuses({ ...components, events, observer }, (key) => this.#queue.add(key));
    this.#sourceEvents = new SourceEvents(components.source, events, (key) => {
      const { snapshot } = components.source;
      const service = snapshot.services.get(key);
      return service !== undefined && providers.every((provider) => !provider.claim(service, snapshot).mine);
    });
    const pools = { usage: () => poolUsage(providers), kept: () => keptInPools(providers) };
    this.#configuration = new ConfigurationStatuses({ ...components, events, observer, ...pools });
  }

  /** Takes over what was assigned, then works until `stop`. The source must have started. */
  async start(): Promise<void> {
    const { source, providers, writer, log } = this.#components;
    const { snapshot } = source;
    const recorded = await writer.recorded();
    this.#statuses.adopt(recorded, snapshot);
    this.#unreadable.adopt(recorded);
    for (const provider of providers) {
      provider.adopt(snapshot, recorded.addresses, recorded.uids ?? new Map());
      provider.restoreKept(recorded.released ?? []);
    }
    this.#unsubscribe.push(
      source.onChange((changes) => this.#changed(changes)),
      source.onProblem(() => {
        this.#unreadable.recheck();
        this.#configuration.problemsChanged();
        this.#sourceEvents.recordProblems();
      }),
    );
    this.#served.adopt(recorded, snapshot);
    const keys = inOrderOfService(snapshot, recorded.waitingSince ?? new Map());
    for (const key of new Set([...keys, ...recorded.addresses.keys(), ...recorded.unreadable.keys()])) this.#queue.add(key);
    this.#queue.start();
    this.#checkTimeouts();
    this.#configuration.start();
    this.#sourceEvents.recordProblems();
    log.info({ services: snapshot.services.size, pools: snapshot.pools.size }, 'controller started');
  }

  figures(): Readonly<Record<QueueName, QueueFigures>> {
    return { services: this.#work.figures(this.#queue), configuration: this.#configuration.figures() };
  }

  /** Resolves when nothing is left to do. */
  async settled(): Promise<void> {
    await this.#queue.idle();
    await this.#configuration.settled();
  }

  async stop(): Promise<void> {
    this.#unreadable.stop();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#cancelTimeoutCheck?.();
    this.#statuses.stop();
    await Promise.all([this.#queue.stop(), this.#configuration.stop()]);
  }

  /** Silence is no change that a source could tell of, nor is the end of a time: both are looked for. */
  #checkTimeouts(): void {
    const { source, clock, providers } = this.#components;
    const now = clock.date().getTime();
    for (const provider of providers) for (const key of provider.runDue(now)) this.#queue.addPriority(key);
    this.#configuration.usageChanged();
    for (const key of this.#affected.afterSilence(source.snapshot, now)) this.#queue.add(key);
    this.#configuration.checkTimeouts();
    for (const key of this.#competingWriters.takeExpired(clock.now())) this.#queue.add(key);
    this.#cancelTimeoutCheck = clock.after(limits.reportWatchMilliseconds, () => this.#checkTimeouts());
  }

  #changed(changes: readonly Change[]): void {
    const { source, providers } = this.#components;
    if (changes.some(({ kind }) => kind === 'HeraldConfig')) this.#competingWriters.forgetAll();
    // Those that wait come before those that came just now, in whatever order the source tells of a Service and of a pool for it.
    for (const provider of providers) for (const key of provider.affected(changes, source.snapshot)) this.#queue.addPriority(key);
    const told = changes.flatMap(({ kind, key }) => (kind === 'Service' ? [key as ServiceKey] : []));
    for (const key of inOrderOfCreation(told, source.snapshot)) this.#queue.add(key);
    for (const key of this.#affected.afterChanges(changes, source.snapshot, this.#awaitingAgents)) this.#queue.add(key);
    this.#unreadable.recheck();
    this.#configuration.changed(changes);
  }

  async #reconcile(key: ServiceKey): Promise<void> {
    const { snapshot } = this.#components.source;
    const service = snapshot.services.get(key);
    if (service === undefined) {
      if (!this.#unreadable.mayBeThere(key)) await this.#releaseService(key, undefined, 'the Service is gone');
      return;
    }
    const before = this.#servedBefore(key, service);
    const provider = this.#served.claimant(service, snapshot);
    if (provider === undefined) return this.#reconcileUnclaimed(key, service, before);
    const others = this.#served.holders(key, service).filter((holder) => holder !== provider);
    const found = assignedAddresses(service);
    // Who comes to us with addresses keeps them: another controller gave them, and somebody uses them.
    if (!this.#served.isWritten(key)) {
      if (others.length === 0) this.#adopt(provider, service, found, 'free');
    } else if (this.#hasCompetingWriter(key, service)) {
      // What the other one takes away is the Service's again when the contest is over.
      if (found.length > 0) this.#adopt(provider, service, found, 'always');
      this.#served.recordServed(key, { provider, service, ingress: service.ingress });
      return this.#write(key, service, reason('StatusContested', { times: limits.overwrites }));
    }
    const asked = others.length === 0 ? service : { ...service, ingress: [] };
    const { ingress: given, reason: unmet, details, warnings = [], repaired = [] } = await this.#reconcileWith(provider, asked, snapshot);
    this.#configuration.usageChanged();
    // Whoever served it before goes on until it is served anew.
    const isHandedOver = given.length > 0 || service.ingress.length === 0 || service.metadata.deleting;
    const ingress = others.length === 0 || isHandedOver ? given : service.ingress;
    const gone = before?.provider === provider ? goneAddresses(before.ingress, ingress) : [];
    const [twice] = gone.flatMap((address) => whyHeldTwice(snapshot, service, address) ?? []);
    this.#recordReleased(key, gone, twice === undefined ? 'the Service asks for something else' : reasonText(twice));
    this.#served.recordServed(key, { provider, service, ingress });
    await this.#write(key, { ...service, ingress }, unmet, details, twice);
    this.#statuses.recordWarnings(service, warnings, repaired);
    for (const other of provider.statusWritten(key)) this.#queue.addPriority(other);
    await this.#releaseFromAll(key, service, isHandedOver ? others : [], `provider ${provider.name} serves the Service`);
  }

  async #reconcileWith(provider: CompleteProvider, service: Service, snapshot: Snapshot): Promise<Reconciliation> {
    const { clock } = this.#components;
    const began = clock.now();
    let outcome: Reconciliation | undefined;
    try {
      outcome = await provider.reconcile(service, snapshot);
      return outcome;
    } finally {
      this.#observer.reconciled(provider.name, outcome, clock.now() - began);
    }
  }

  /** Whether another program writes the addresses of the Service again and again, so that we do not any more. */
  #hasCompetingWriter(key: ServiceKey, service: Service): boolean {
    const { writer, clock } = this.#components;
    if (writer.overwritten?.(key, service.metadata) === true) this.#competingWriters.recordOverwrite(key, clock.now());
    return this.#competingWriters.hasYielded(key, clock.now());
  }

  /** A Service that is not ours, or not any more. */
  async #reconcileUnclaimed(key: ServiceKey, service: Service, before: Served | undefined): Promise<void> {
    const { source, writer } = this.#components;
    const claim = before?.provider.claim(service, source.snapshot);
    const keeps = before !== undefined && claim !== undefined && !claim.mine && keepsHolding(before.service, service, claim);
    const wouldBe = this.#served.claimantByRecord(key, source.snapshot);
    if (writer.disownService !== undefined && wouldBe !== undefined && (keeps || before === undefined)) {
      await writer.disownService(key, service.metadata);
      this.#forgetService(key);
      this.#statuses.disown(key);
      // What was made for it outside of the cluster goes all the same: the other controller knows nothing of that.
      const outside = this.#served.holders(key, service).filter(({ remote }) => remote === true);
      const free = service.ingress.length === 0;
      await this.#releaseFromAll(key, service, free ? new Set([wouldBe, ...outside]) : outside, 'the Service is of another class');
      // Its addresses are another controller's to change. Whatever they are, nobody else is given them.
      if (free) return;
      return this.#adopt(wouldBe, service, assignedAddresses(service), 'always');
    }
    if (keeps && before.ingress.length > 0) {
      await this.#write(key, { ...service, ingress: before.ingress }, claim.reason);
      for (const other of before.provider.statusWritten(key)) this.#queue.addPriority(other);
      return;
    }
    // What we wrote for it goes, what others wrote stays.
    await this.#releaseService(
      key,
      service,
      claim === undefined || claim.mine ? 'no provider serves the Service' : reasonText(claim.reason),
    );
  }

  /** What others wrote is held as theirs; what they gave up for it, others may have waited for. */
  #adopt(provider: CompleteProvider, service: Service, addresses: readonly Address[], when: 'free' | 'always'): void {
    for (const other of provider.adoptService(service, addresses, this.#components.source.snapshot, when)) this.#queue.addPriority(other);
    this.#configuration.usageChanged();
  }

  #forgetService(key: ServiceKey): void {
    this.#served.forgetService(key);
    this.#competingWriters.forgetService(key);
    this.#awaitingAgents.delete(key);
  }

  /** `assigned` has the addresses that the Service holds. */
  async #write(
    key: ServiceKey,
    assigned: Service,
    reason: Reason | undefined,
    details: Reconciliation['details'] = [],
    moved?: Reason,
  ): Promise<void> {
    const { source, clock } = this.#components;
    const { ingress } = assigned;
    const now = clock.date().getTime();
    if (ingress.length > 0 && hasUnobservedGeneration(source.snapshot, assigned, now)) this.#awaitingAgents.add(key);
    else this.#awaitingAgents.delete(key);
    // Writing would destroy what people may still read in a broken record.
    if (this.#unreadable.hasBrokenRecord(key)) return;
    const unmet = { reason, details, ...defined({ moved }) };
    await this.#statuses.write(key, assigned, unmet, serviceConditions(source.snapshot, assigned, unmet, now));
    this.#served.markWritten(key);
    this.#competingWriters.recordRewrite(key);
  }

  async #releaseService(key: ServiceKey, service: Service | undefined, why: string): Promise<void> {
    const owner = this.#served.get(key)?.provider;
    const holders = this.#served.holders(key, service);
    const providers = owner === undefined ? this.#components.providers : new Set([owner, ...holders]);
    this.#served.stopServing(key);
    // Whatever becomes of its record, and whoever comes under its name: the one that was served is no more.
    for (const provider of providers) provider.disown(key);
    // As long as it is on record that the Service has the address, nobody else is given it.
    const isTold = await this.#removeStatus(key, service);
    await this.#releaseFromAll(key, service, providers, why);
    const isLeft = service !== undefined && this.#unreleased.conditionOf(key, service) !== undefined;
    if (isTold && !isLeft) await this.#removeStatus(key, service);
    // Its condition is for the next look: over what was just written nothing more can be written.
    if (isLeft && !isTold) this.#queue.add(key);
    this.#forgetService(key);
    this.#statuses.forget(key, why);
    this.#unreadable.forgetRecord(key);
  }

  /** How the Service was served last; undefined where that was another one of its name, which is gone. */
  #servedBefore(key: ServiceKey, service: Service): Served | undefined {
    const before = this.#served.lastServed(key, service);
    if (before === undefined && this.#served.get(key) !== undefined) this.#forgetService(key);
    return before;
  }

  /** Takes away what we wrote. True: what is left of the Service nevertheless, as it turned out before, is what is said of it now. */
  async #removeStatus(key: ServiceKey, service: Service | undefined): Promise<boolean> {
    const { writer } = this.#components;
    const left = service === undefined ? undefined : this.#unreleased.conditionOf(key, service);
    if (service === undefined || left === undefined) await writer.removeService(key, service?.metadata);
    else await writer.writeService(key, { ingress: [], conditions: [left] }, service.metadata);
    return left !== undefined;
  }

  async #releaseFromAll(key: ServiceKey, service: Service | undefined, providers: Iterable<CompleteProvider>, why: string): Promise<void> {
    let left: Reason | undefined;
    for (const provider of providers) left = (await this.#releaseFrom(key, provider, why)) ?? left;
    this.#unreleased.recordAttempt(key, service, left);
  }

  /** Resolves to why something of the Service is still there. */
  async #releaseFrom(key: ServiceKey, provider: CompleteProvider, why: string): Promise<Reason | undefined> {
    const { source, clock } = this.#components;
    const { addresses = [], requeue = [], remaining } = await provider.release(key, source.snapshot, clock.date().getTime());
    this.#configuration.usageChanged();
    this.#recordReleased(key, addresses, why);
    for (const other of requeue) this.#queue.addPriority(other);
    return remaining;
  }

  #recordReleased(key: ServiceKey, addresses: readonly Address[], why: string): void {
    this.#statuses.logReleased(key, addresses.map(formatAddress), why);
  }
}
