import { defined } from '../lang/defined.ts';
import { keepsAddress } from '../decisions/allocation/claim.ts';
import { whyHeldTwice } from '../decisions/allocation/held-twice.ts';
import { inOrderOfCreation, inOrderOfService } from '../decisions/allocation/order.ts';
import { serviceKey, type ServiceKey } from '../model/objects/metadata.ts';
import { isEndangered, isUnserved, reason, reasonText, type Reason } from '../model/reasons.ts';
import { assignedAddresses, type Service } from '../model/objects/service.ts';
import { changedSinceDecision } from '../model/objects/sharing-terms.ts';
import { sameContent } from '../model/store/same-content.ts';
import type { Change, Snapshot } from '../model/store/snapshot.ts';
import { formatAddress, type Address } from '../net/address.ts';
import type { Source } from '../sources/source.ts';
import { AffectedServices } from './services/affected-services.ts';
import { CompetingWriters } from './services/competing-writers.ts';
import { noControllerObserver, type ControllerObserver, type QueueFigures, type QueueName } from './controller-observer.ts';
import { noEvents, type EventSink } from './events/event-sink.ts';
import { SourceEvents } from './events/source-events.ts';
import { limits } from './limits.ts';
import type { RandomSurroundings } from '../system/random.ts';
import { ConfigurationStatuses } from './configuration/configuration-statuses.ts';
import { RemovedNodes } from './configuration/removed-nodes.ts';
import { serviceConditions } from './services/service-conditions.ts';
import { DelayedRequeue } from './queue/delayed-requeue.ts';
import { DeferredServices } from './queue/deferred-services.ts';
import { completeProvider, keptInPools, poolUsage, type CompleteProvider } from './complete-provider.ts';
import type { Provider, Reconciliation } from './provider.ts';
import { goneAddresses, ServedServices, type Served } from './services/served-services.ts';
import { ServiceStatuses } from './services/service-statuses.ts';
import { AddressOwners } from './services/address-owners.ts';
import { DeniedExternalIPs, externalIPsCondition } from './services/denied-external-ips.ts';
import { UnclaimedServices } from './services/unclaimed-services.ts';
import { UnreadableServices } from './services/unreadable-services.ts';
import { UnreleasedResources } from './services/unreleased-resources.ts';
import type { StatusWriter } from './status-writer.ts';
import { WorkQueue } from './queue/work-queue.ts';

interface ControllerComponents extends RandomSurroundings {
  readonly source: Source;
  readonly providers: readonly Provider[];
  readonly writer: StatusWriter;
  /** Absent: Events are only logged. */
  readonly events?: EventSink;
  /** Absent: nothing is measured. */
  readonly observer?: ControllerObserver;
}

/**
 * Assigns addresses to Services and writes their status; no other part does either. Level-based: a change only requeues its Service, and
 * the work then makes the Service what the current snapshot says. Decisions on Services are made one at a time, in the order of the queue.
 */
export class Controller {
  readonly #components: Omit<ControllerComponents, 'providers'> & { readonly providers: readonly CompleteProvider[] };
  readonly #observer: ControllerObserver;
  readonly #queue: WorkQueue<ServiceKey>;
  /** Services whose provider asked to reconcile them again. */
  readonly #again: DelayedRequeue<ServiceKey>;
  readonly #served: ServedServices;
  readonly #unreadable: UnreadableServices;
  readonly #unreleased: UnreleasedResources;
  readonly #unclaimed: UnclaimedServices;
  readonly #deniedIPs: DeniedExternalIPs;
  readonly #addressOwners: AddressOwners;
  readonly #affected = new AffectedServices();
  readonly #statuses: ServiceStatuses;
  readonly #configuration: ConfigurationStatuses;
  readonly #removedNodes: RemovedNodes;
  readonly #sourceEvents: SourceEvents;
  readonly #competingWriters = new CompetingWriters();
  readonly #deferred = new DeferredServices((key) => this.#queue.addLast(key));
  readonly #unsubscribe: (() => void)[] = [];
  #cancelTimeoutCheck: (() => void) | undefined;

  constructor(given: ControllerComponents) {
    const providers = given.providers.map(completeProvider);
    const components = { ...given, providers };
    this.#components = components;
    const { events = noEvents, observer = noControllerObserver, clock } = components;
    this.#observer = observer;
    this.#queue = new WorkQueue(
      { ...components, onFinished: (result) => observer.reconcileFinished('services', result) },
      (key) => this.#reconcile(key),
      (key) => this.#served.remoteUrgency(key, components.source.snapshot),
    );
    this.#again = new DelayedRequeue(clock, (key) => this.#queue.add(key), limits.requeueStepMilliseconds);
    this.#served = new ServedServices(providers);
    this.#unreadable = new UnreadableServices(components, {
      requeue: (key, when) => (when === 'first' ? this.#queue.addPriority(key) : this.#queue.add(key)),
      adopt: (provider, service, addresses) => this.#adopt(provider, service, addresses, 'always'),
      released: (key, addresses, why) => this.#recordReleased(key, addresses, why),
    });
    this.#unreleased = new UnreleasedResources({ ...components, events });
    this.#unclaimed = new UnclaimedServices({ ...components, events });
    this.#deniedIPs = new DeniedExternalIPs({ ...components, events });
    this.#addressOwners = new AddressOwners({ ...components, events });
    this.#statuses = new ServiceStatuses({ ...components, events, observer }, (key) => this.#queue.add(key));
    this.#removedNodes = new RemovedNodes(components);
    this.#sourceEvents = new SourceEvents(components.source, events, (key) => {
      const { snapshot } = components.source;
      const service = snapshot.services.get(key);
      return service !== undefined && providers.every((provider) => !provider.claim(service, snapshot).mine);
    });
    const pools = { usage: () => poolUsage(providers), kept: () => keptInPools(providers) };
    this.#configuration = new ConfigurationStatuses({ ...components, events, observer, ...pools });
  }

  /** Adopts what was assigned, then works until `stop`. The source must have started. */
  async start(): Promise<void> {
    const { source, providers, writer, log } = this.#components;
    const { snapshot } = source;
    const recorded = await writer.recorded();
    this.#statuses.adopt(recorded, snapshot);
    this.#deniedIPs.adopt(recorded);
    this.#addressOwners.adopt(snapshot);
    this.#affected.adopt(snapshot);
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
    this.#deferred.adopt(recorded, (key) => this.#served.remoteUrgency(key, snapshot) === undefined);
    const keys = inOrderOfService(snapshot, recorded.waitingSince ?? new Map());
    for (const key of new Set([...keys, ...recorded.addresses.keys(), ...recorded.unreadable.keys()])) this.#queue.add(key);
    this.#queue.start();
    this.#checkTimeouts();
    this.#configuration.start(recorded.pools ?? []);
    this.#sourceEvents.recordProblems();
    log.info({ services: snapshot.services.size, pools: snapshot.pools.size }, 'controller started');
  }

  figures(): Readonly<Record<QueueName, QueueFigures>> {
    return { services: this.#queue.figures(), configuration: this.#configuration.figures() };
  }

  /** Resolves when no work is left. */
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
    this.#again.stop();
  }

  /** Checks timeouts and silent agents periodically, because sources report changes only. */
  #checkTimeouts(): void {
    const { source, clock, providers } = this.#components;
    const now = clock.date().getTime();
    for (const provider of providers) for (const key of provider.runDue(now)) this.#queue.addPriority(key);
    this.#configuration.usageChanged();
    for (const key of this.#affected.afterSilence(source.snapshot, now)) this.#queue.addLast(key);
    this.#configuration.checkTimeouts();
    this.#deferred.judgeNow();
    for (const key of this.#competingWriters.takeExpired(clock.now())) this.#queue.add(key);
    this.#unclaimed.reportDue(source.snapshot, clock.now());
    this.#removedNodes.check();
    this.#cancelTimeoutCheck = clock.after(limits.reportWatchMilliseconds, () => this.#checkTimeouts());
  }

  #changed(changes: readonly Change[]): void {
    const { source, providers } = this.#components;
    if (changes.some(({ kind }) => kind === 'HeraldConfig')) this.#competingWriters.forgetAll();
    // Waiting Services come before changed ones, whichever change the source reports first.
    for (const provider of providers) for (const key of provider.affected(changes, source.snapshot)) this.#queue.addPriority(key);
    const changed = changes.flatMap(({ kind, key }) => (kind === 'Service' ? [key as ServiceKey] : []));
    const { named, others } = this.#affected.afterChanges(changes, source.snapshot);
    for (const key of [...changed, ...named]) this.#deferred.forgetService(key);
    for (const key of inOrderOfCreation(changed, source.snapshot)) this.#queue.add(key);
    for (const key of named) this.#queue.add(key);
    for (const key of others) this.#queue.addLast(key);
    for (const key of this.#deniedIPs.affected(changes)) this.#queue.add(key);
    this.#addressOwners.changed(changes, source.snapshot);
    this.#unreadable.recheck();
    this.#configuration.changed(changes);
  }

  async #reconcile(key: ServiceKey): Promise<void> {
    const { snapshot } = this.#components.source;
    const found = snapshot.services.get(key);
    const wasJudged = this.#deferred.take(key);
    if (found === undefined) {
      this.#unclaimed.forget(key);
      this.#deniedIPs.forget(key);
      if (!this.#unreadable.mayBeThere(key)) await this.#releaseService(key, undefined, 'the Service is gone');
      return;
    }
    const service = this.#statuses.withRecordedPools(found);
    this.#deniedIPs.observe(key, service, snapshot);
    const before = this.#servedBefore(key, service);
    const provider = this.#served.claimant(service, snapshot);
    if (provider === undefined) {
      this.#unclaimed.observe(key, service, snapshot, this.#components.clock.now());
      return this.#reconcileUnclaimed(key, service, before);
    }
    this.#unclaimed.forget(key);
    const others = this.#served.holders(key, service).filter((holder) => holder !== provider);
    const arrived = assignedAddresses(service);
    // A Service that arrives with addresses keeps them: another controller assigned them, and clients may use them.
    if (!this.#served.isWritten(key)) {
      if (others.length === 0) this.#adopt(provider, service, arrived, 'free');
    } else if (this.#hasCompetingWriter(key, service)) {
      // The Service keeps the address that the other program removed, and gets it back when the other program stops.
      if (arrived.length > 0) this.#adopt(provider, service, arrived, 'always');
      this.#served.recordServed(key, { provider, service, ingress: service.ingress });
      return this.#write(key, service, reason('StatusContested', { times: limits.overwrites }));
    }
    const asked = others.length === 0 ? service : { ...service, ingress: [] };
    const result = await this.#reconcileWith(provider, asked, snapshot);
    const { ingress: given, reason: unmet, details, warnings = [] } = result;
    this.#configuration.usageChanged();
    // The previous provider keeps serving the Service until the new one does.
    const isHandedOver = given.length > 0 || service.ingress.length === 0 || service.metadata.deleting;
    const ingress = others.length === 0 || isHandedOver ? given : service.ingress;
    const gone = before?.provider === provider ? goneAddresses(before.ingress, ingress) : [];
    const [twice] = gone.flatMap((address) => whyHeldTwice(snapshot, service, address) ?? []);
    this.#recordReleased(key, gone, twice === undefined ? 'the Service asks for something else' : reasonText(twice));
    this.#served.recordServed(key, { provider, service, ingress });
    const isAsRecorded = unmet === undefined && sameContent(service.ingress, ingress) && !changedSinceDecision(service);
    if (wasJudged && isAsRecorded && others.length === 0) this.#deferred.judgeLater(key);
    else {
      await this.#write(key, { ...service, ingress }, unmet, details, {
        moved: twice,
        remark: warnings.find(isUnserved) ?? warnings.find(isEndangered),
      });
      this.#statuses.recordRemarks(service, result, provider.name);
    }
    for (const other of provider.statusWritten(key)) this.#queue.addPriority(other);
    await this.#releaseFromAll(key, service, isHandedOver ? others : [], `provider ${provider.name} serves the Service`);
  }

  async #reconcileWith(provider: CompleteProvider, service: Service, snapshot: Snapshot): Promise<Reconciliation> {
    const { clock } = this.#components;
    const began = clock.now();
    let outcome: Reconciliation | undefined;
    try {
      outcome = await provider.reconcile(service, snapshot);
      const { againAfterMilliseconds: wait } = outcome;
      if (wait !== undefined) this.#again.requeueAt(serviceKey(service.metadata), clock.now() + wait);
      return outcome;
    } finally {
      this.#observer.reconciled(provider.name, outcome, clock.now() - began);
    }
  }

  /** Returns true when Herald yields to another program that keeps overwriting the addresses of the Service. */
  #hasCompetingWriter(key: ServiceKey, service: Service): boolean {
    const { writer, clock } = this.#components;
    if (writer.overwritten?.(key, service.metadata) === true) this.#competingWriters.recordOverwrite(key, clock.now());
    return this.#competingWriters.hasYielded(key, clock.now());
  }

  /** Reconciles a Service that no provider claims: disowns it, keeps its addresses or releases everything. */
  async #reconcileUnclaimed(key: ServiceKey, service: Service, before: Served | undefined): Promise<void> {
    const { source, writer } = this.#components;
    const claim = before?.provider.claim(service, source.snapshot);
    const keeps = before !== undefined && claim !== undefined && !claim.mine && keepsAddress(before.service, service, claim);
    const byRecord = this.#served.claimantByRecord(key, source.snapshot);
    if (writer.disownService !== undefined && byRecord !== undefined && (keeps || before === undefined)) {
      await writer.disownService(key, service.metadata);
      this.#forgetService(key);
      this.#statuses.disown(key);
      // Resources outside the cluster are released all the same: the other controller does not know them.
      const remote = this.#served.holders(key, service).filter((holder) => holder.remote === true);
      const free = service.ingress.length === 0;
      await this.#releaseFromAll(key, service, free ? new Set([byRecord, ...remote]) : remote, 'the Service is of another class');
      // The other controller may change the addresses. Herald assigns them to no other Service.
      if (free) return;
      return this.#adopt(byRecord, service, assignedAddresses(service), 'always');
    }
    if (keeps && before.ingress.length > 0) {
      await this.#write(key, { ...service, ingress: before.ingress }, claim.reason);
      for (const other of before.provider.statusWritten(key)) this.#queue.addPriority(other);
      return;
    }
    // Removes only what Herald wrote.
    const why = claim === undefined || claim.mine ? 'no provider serves the Service' : reasonText(claim.reason);
    await this.#releaseService(key, service, why);
  }

  /** Makes the provider hold addresses that another program wrote, and requeues Services that wait for addresses which that frees. */
  #adopt(provider: CompleteProvider, service: Service, addresses: readonly Address[], when: 'free' | 'always'): void {
    for (const other of provider.adoptService(service, addresses, this.#components.source.snapshot, when)) this.#queue.addPriority(other);
    this.#configuration.usageChanged();
  }

  #forgetService(key: ServiceKey): void {
    this.#served.forgetService(key);
    this.#competingWriters.forgetService(key);
  }

  /** Writes the status of the Service. `assigned`: the Service with the addresses that it holds. */
  async #write(
    key: ServiceKey,
    assigned: Service,
    reason: Reason | undefined,
    details: Reconciliation['details'] = [],
    { moved, remark }: { readonly moved?: Reason | undefined; readonly remark?: Reason | undefined } = {},
  ): Promise<void> {
    const { source, clock } = this.#components;
    const now = clock.date().getTime();
    // A write would destroy a broken record that a person could still read.
    if (this.#unreadable.hasBrokenRecord(key)) return;
    const unmet = { reason, details, ...defined({ moved, remark }) };
    await this.#statuses.write(key, assigned, unmet, serviceConditions(source.snapshot, assigned, unmet, now));
    this.#served.markWritten(key);
    this.#competingWriters.recordRewrite(key);
  }

  async #releaseService(key: ServiceKey, service: Service | undefined, why: string): Promise<void> {
    const owner = this.#served.get(key)?.provider;
    const holders = this.#served.holders(key, service);
    const providers = owner === undefined ? this.#components.providers : new Set([owner, ...holders]);
    this.#served.stopServing(key);
    // A Service that gets the same name from now on is a new one, even while the record still exists.
    for (const provider of providers) provider.disown(key);
    // The addresses stay assigned until the record no longer shows them.
    const isReported = await this.#removeStatus(key, service);
    await this.#releaseFromAll(key, service, providers, why);
    const hasRemaining = service !== undefined && this.#unreleased.conditionOf(key, service) !== undefined;
    if (isReported && !hasRemaining) await this.#removeStatus(key, service);
    // A second write after the first would be refused; the next reconcile writes the condition.
    if (hasRemaining && !isReported) this.#queue.add(key);
    this.#forgetService(key);
    this.#statuses.forget(key, why);
    this.#unreadable.forgetRecord(key);
  }

  /** Returns how the Service was served last. Forgets an earlier Service of the same name, and then returns undefined. */
  #servedBefore(key: ServiceKey, service: Service): Served | undefined {
    const before = this.#served.lastServed(key, service);
    if (before === undefined && this.#served.get(key) !== undefined) this.#forgetService(key);
    return before;
  }

  /** Removes our status, but not conditions about external IPs and about resources that remain. True if the latter is there. */
  async #removeStatus(key: ServiceKey, service: Service | undefined): Promise<boolean> {
    const { writer, source } = this.#components;
    const remaining = service === undefined ? undefined : this.#unreleased.conditionOf(key, service);
    // The status of a LoadBalancer that no provider serves is another controller's.
    const denied = service === undefined || service.type === 'LoadBalancer' ? undefined : externalIPsCondition(source.snapshot, service);
    const conditions = [remaining, denied].filter((one) => one !== undefined);
    if (service === undefined || conditions.length === 0) await writer.releaseService(key, service?.metadata);
    else await writer.writeService(key, { ingress: [], conditions }, service.metadata);
    return remaining !== undefined;
  }

  async #releaseFromAll(key: ServiceKey, service: Service | undefined, providers: Iterable<CompleteProvider>, why: string): Promise<void> {
    let remaining: Reason | undefined;
    for (const provider of providers) remaining = (await this.#releaseFrom(key, provider, why)) ?? remaining;
    this.#unreleased.recordAttempt(key, service, remaining);
  }

  /** Releases the Service from one provider. Resolves to why something remains, or undefined. */
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
