import type { KeptInPool, PoolUsage } from '../decisions/allocation/allocator.ts';
import { keepsHolding } from '../decisions/allocation/claim.ts';
import { whyHeldTwice } from '../decisions/allocation/held-twice.ts';
import { inOrderOfCreation, inOrderOfService } from '../decisions/allocation/order.ts';
import { serviceKey, type ServiceKey } from '../model/metadata.ts';
import { fix, reason, says, type Reason } from '../model/reasons.ts';
import { assignedAddresses, type Ingress, type Service } from '../model/service.ts';
import type { Change } from '../model/snapshot.ts';
import { formatAddress, sameAddress, type Address } from '../net/address.ts';
import type { Source } from '../sources/source.ts';
import type { Clock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import type { Random } from '../system/random.ts';
import { ConditionWatch } from './affected.ts';
import { Contests } from './contests.ts';
import { noEvents, type EventSink } from './events/event-sink.ts';
import { SourceEvents } from './events/source-events.ts';
import { limits } from './limits.ts';
import { ConfigurationStatuses } from './configuration/configuration-statuses.ts';
import { agentsBehind, serviceConditions } from './conditions.ts';
import type { Provider, Reconciliation, RecordedAddresses } from './provider.ts';
import { ServiceStatuses } from './services/service-statuses.ts';
import type { Recorded, StatusWriter } from './status-writer.ts';
import { WorkQueue } from './work-queue.ts';

/** A Service that a provider serves, as it was when the provider did so last. */
interface Owned {
  readonly provider: Provider;
  readonly service: Service;
  readonly ingress: readonly Ingress[];
}

export interface ControllerComponents {
  readonly source: Source;
  readonly providers: readonly Provider[];
  readonly writer: StatusWriter;
  /** Absent: what happens is in the log only. */
  readonly events?: EventSink;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * The only allocator and the only writer of Service status. Level-based: a change names a Service, and the Service is then
 * made what the snapshot says, whatever happened in between. One Service at a time, in the order in which they came.
 */
export class Controller {
  readonly #components: ControllerComponents;
  readonly #queue: WorkQueue<ServiceKey>;
  readonly #owned = new Map<ServiceKey, Owned>();
  readonly #conditions = new ConditionWatch();
  /** Services whose agents have yet to report on their latest form. */
  readonly #behind = new Set<ServiceKey>();
  readonly #statuses: ServiceStatuses;
  readonly #configuration: ConfigurationStatuses;
  readonly #sourceEvents: SourceEvents;
  /** Services that we have written about, or another of us before. */
  readonly #written = new Set<ServiceKey>();
  readonly #contests = new Contests();
  #reserved: RecordedAddresses = new Map();
  /** Services whose record could not be read at start, with its file. */
  #unreadable: ReadonlyMap<ServiceKey, string> = new Map();
  readonly #unsubscribe: (() => void)[] = [];
  #stopped = false;
  #cancelWatch: (() => void) | undefined;

  constructor(components: ControllerComponents) {
    this.#components = components;
    this.#queue = new WorkQueue(components, (key) => this.#reconcile(key));
    const { events = noEvents, providers } = components;
    this.#statuses = new ServiceStatuses({ ...components, events }, (key) => this.#queue.add(key));
    this.#sourceEvents = new SourceEvents(components.source, events, (key) => {
      const { snapshot } = components.source;
      const service = snapshot.services.get(key);
      return service !== undefined && providers.every((provider) => !provider.claim(service, snapshot).mine);
    });
    const usage = (): PoolUsage[] => providers.flatMap((provider) => provider.usage?.() ?? []);
    const kept = (): KeptInPool[] => providers.flatMap((provider) => provider.kept?.() ?? []);
    this.#configuration = new ConfigurationStatuses({ ...components, events, usage, kept });
  }

  /** Takes over what was assigned, then works until `stop`. The source must have started. */
  async start(): Promise<void> {
    const { source, providers, writer, log } = this.#components;
    const { snapshot } = source;
    const recorded = await writer.recorded();
    this.#statuses.adopt(recorded);
    this.#reserved = withoutManifest(recorded.addresses, source);
    this.#withhold(recorded.unreadable);
    for (const [key, addresses] of this.#reserved) {
      log.warn({ service: key, addresses: addresses.map(formatAddress) }, 'the Service cannot be read: its addresses stay reserved');
    }
    for (const provider of providers) {
      provider.adopt(snapshot, recorded.addresses, recorded.uids ?? new Map());
      provider.keep?.(recorded.released ?? []);
    }
    this.#unsubscribe.push(
      source.onChange((changes) => this.#changed(changes)),
      source.onProblem(() => {
        this.#releaseMended();
        this.#configuration.problemsChanged();
        this.#sourceEvents.look();
      }),
    );
    this.#takeOver(recorded);
    const keys = inOrderOfService(snapshot, recorded.waitingSince ?? new Map());
    for (const key of new Set([...keys, ...recorded.addresses.keys(), ...recorded.unreadable.keys()])) this.#queue.add(key);
    this.#queue.start();
    this.#passTime();
    this.#configuration.start();
    this.#sourceEvents.look();
    log.info({ services: snapshot.services.size, pools: snapshot.pools.size }, 'controller started');
  }

  /** Resolves when nothing is left to do. */
  async settled(): Promise<void> {
    await this.#queue.idle();
    await this.#configuration.settled();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#cancelWatch?.();
    this.#statuses.stop();
    await Promise.all([this.#queue.stop(), this.#configuration.stop()]);
  }

  /** Silence is no change that a source could tell of, nor is the end of a time: both are looked for. */
  #passTime(): void {
    const { source, clock, providers } = this.#components;
    const now = clock.date().getTime();
    for (const provider of providers) for (const key of provider.expire(now)) this.#queue.addFirst(key);
    this.#configuration.usageChanged();
    for (const key of this.#conditions.silenced(source.snapshot, now)) this.#queue.add(key);
    this.#configuration.passTime();
    for (const key of this.#contests.ended(clock.now())) this.#queue.add(key);
    this.#cancelWatch = clock.after(limits.reportWatchMilliseconds, () => this.#passTime());
  }

  #changed(changes: readonly Change[]): void {
    const { source, providers } = this.#components;
    if (changes.some(({ kind }) => kind === 'HeraldConfig')) this.#contests.forgetAll();
    // Those that wait come before those that came just now, in whatever order the source tells of a Service and of a pool for it.
    for (const provider of providers) for (const key of provider.affected(changes, source.snapshot)) this.#queue.addFirst(key);
    const told = changes.flatMap(({ kind, key }) => (kind === 'Service' ? [key as ServiceKey] : []));
    for (const key of inOrderOfCreation(told, source.snapshot)) this.#queue.add(key);
    for (const key of this.#conditions.affected(changes, source.snapshot, this.#behind)) this.#queue.add(key);
    if (this.#reserved.size > 0 || this.#unreadable.size > 0) this.#releaseMended();
    this.#configuration.changed(changes);
  }

  async #reconcile(key: ServiceKey): Promise<void> {
    const { snapshot } = this.#components.source;
    const service = snapshot.services.get(key);
    if (service === undefined) {
      const unclear = this.#unreadable.has(key) && hiddenByErrors(this.#components.source, this.#unreadable.values())(key);
      if (!this.#reserved.has(key) && !unclear) await this.#forget(key, undefined, 'the Service is gone');
      return;
    }
    const before = this.#servedBefore(key, service);
    const provider = this.#components.providers.find((provider) => provider.claim(service, snapshot).mine);
    if (provider === undefined) return this.#leave(key, service, before);
    if (before !== undefined && before.provider !== provider)
      await this.#release(key, before.provider, `provider ${provider.name} serves the Service`);
    const found = assignedAddresses(service);
    // Who comes to us with addresses keeps them: another controller gave them, and somebody uses them.
    if (!this.#written.has(key)) this.#adopt(provider, service, found, 'free');
    else if (this.#isContested(key, service)) {
      // What the other one takes away is the Service's again when the contest is over.
      if (found.length > 0) this.#adopt(provider, service, found, 'always');
      this.#owned.set(key, { provider, service, ingress: service.ingress });
      return this.#write(key, service, reason('StatusContested', { times: limits.overwrites }));
    }
    const { ingress, reason: unmet, details, warnings = [], repaired = [] } = await provider.reconcile(service, snapshot);
    this.#configuration.usageChanged();
    const gone =
      before?.provider === provider ? before.ingress.filter(({ address }) => !ingress.some((now) => same(now.address, address))) : [];
    const [twice] = addressesIn(gone).flatMap((address) => whyHeldTwice(snapshot, service, address) ?? []);
    this.#sayReleased(key, addressesIn(gone), twice === undefined ? 'the Service asks for something else' : says(twice));
    this.#owned.set(key, { provider, service, ingress });
    await this.#write(key, { ...service, ingress }, unmet, details, twice);
    this.#statuses.remark(service, warnings, repaired);
    for (const other of provider.written(key)) this.#queue.addFirst(other);
  }

  /** Whether another program writes the addresses of the Service again and again, so that we do not any more. */
  #isContested(key: ServiceKey, service: Service): boolean {
    const { writer, clock } = this.#components;
    if (writer.overwritten?.(key, service.metadata) === true) this.#contests.overwritten(key, clock.now());
    return this.#contests.isLost(key, clock.now());
  }

  /** A Service that is not ours, or not any more. */
  async #leave(key: ServiceKey, service: Service, before: Owned | undefined): Promise<void> {
    const { source, writer } = this.#components;
    const claim = before?.provider.claim(service, source.snapshot);
    const keeps = before !== undefined && claim !== undefined && !claim.mine && keepsHolding(before.service, service, claim);
    const wouldBe = this.#ownerOf(key);
    if (writer.leaveService !== undefined && wouldBe !== undefined && (keeps || before === undefined)) {
      await writer.leaveService(key, service.metadata);
      this.#disown(key);
      this.#statuses.leave(key);
      // Its addresses are another controller's to change. Whatever they are, nobody else is given them.
      if (service.ingress.length === 0) return this.#release(key, wouldBe, 'the Service is of another class');
      return this.#adopt(wouldBe, service, assignedAddresses(service), 'always');
    }
    if (keeps && before.ingress.length > 0) {
      await this.#write(key, { ...service, ingress: before.ingress }, claim.reason);
      for (const other of before.provider.written(key)) this.#queue.addFirst(other);
      return;
    }
    // What we wrote for it goes, what others wrote stays.
    await this.#forget(key, service, claim === undefined || claim.mine ? 'no provider serves the Service' : says(claim.reason));
  }

  /** What others wrote is held as theirs; what they gave up for it, others may have waited for. */
  #adopt(provider: Provider, service: Service, addresses: readonly Address[], when: 'free' | 'always'): void {
    for (const other of provider.adoptOne(service, addresses, this.#components.source.snapshot, when)) this.#queue.addFirst(other);
    this.#configuration.usageChanged();
  }

  #disown(key: ServiceKey): void {
    this.#owned.delete(key);
    this.#written.delete(key);
    this.#contests.forget(key);
    this.#behind.delete(key);
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
    if (ingress.length > 0 && agentsBehind(source.snapshot, assigned, now)) this.#behind.add(key);
    else this.#behind.delete(key);
    // Writing would destroy what people may still read in a broken record.
    if (this.#unreadable.has(key)) return;
    const unmet = { reason, details, ...(moved === undefined ? {} : { moved }) };
    await this.#statuses.write(key, assigned, unmet, serviceConditions(source.snapshot, assigned, unmet, now));
    this.#written.add(key);
    this.#contests.answered(key);
  }

  async #forget(key: ServiceKey, service: Service | undefined, why: string): Promise<void> {
    const owner = this.#owned.get(key)?.provider;
    const providers = owner === undefined ? this.#components.providers : [owner];
    this.#depart(key, providers);
    // As long as it is on record that the Service has the address, nobody else is given it.
    await this.#components.writer.removeService(key, service?.metadata);
    for (const provider of providers) await this.#release(key, provider, why);
    this.#disown(key);
    this.#statuses.forget(key, why);
    if (this.#unreadable.has(key)) this.#withhold(new Map([...this.#unreadable].filter(([other]) => other !== key)));
  }

  /** How the Service was served last; undefined where that was another one of its name, which is gone. */
  #servedBefore(key: ServiceKey, { metadata }: Service): Owned | undefined {
    const before = this.#owned.get(key);
    if (before === undefined || before.service.metadata.uid === metadata.uid) return before;
    this.#disown(key);
    return undefined;
  }

  /** Whatever becomes of its record, and whoever comes under its name: the one that was served is no more. */
  #depart(key: ServiceKey, providers: readonly Provider[]): void {
    this.#owned.delete(key);
    for (const provider of providers) provider.leave(key);
  }

  async #release(key: ServiceKey, provider: Provider, why: string): Promise<void> {
    this.#owned.delete(key);
    const { addresses, retry } = await provider.release(key, this.#components.clock.date().getTime());
    this.#configuration.usageChanged();
    this.#sayReleased(key, addresses, why);
    for (const other of retry) this.#queue.addFirst(other);
  }

  /** What is on record is held from the beginning, also where HeraldConfig says by now that the Service is not ours. */
  #takeOver({ addresses, uids }: Recorded): void {
    for (const [key, held] of addresses) {
      this.#written.add(key);
      const service = this.#components.source.snapshot.services.get(key);
      const provider = this.#ownerOf(key);
      if (service === undefined || provider === undefined) continue;
      const uid = uids?.get(key) ?? service.metadata.uid;
      // The snapshot may be older than the record.
      const known = addressesIn(service.ingress);
      const current = known.length === held.length && known.every((address, index) => same(address, held[index]));
      const ingress = current ? service.ingress : held.map((address) => ({ address, ipMode: 'VIP' as const }));
      this.#owned.set(key, { provider, service: { ...service, metadata: { ...service.metadata, uid } }, ingress });
    }
  }

  /** Whose a Service is of which only the record is known. */
  #ownerOf(key: ServiceKey): Provider | undefined {
    const { source, providers } = this.#components;
    const { snapshot } = source;
    const service = snapshot.services.get(key);
    const claims = service === undefined ? [] : providers.map((provider) => ({ provider, claim: provider.claim(service, snapshot) }));
    const other = claims.find(({ claim }) => !claim.mine && claim.reason.code === 'OtherLoadBalancerClass');
    return (claims.find(({ claim }) => claim.mine) ?? other)?.provider;
  }

  /** No address is given as long as a record cannot be read: it may be the one that the record is about. */
  #withhold(unreadable: ReadonlyMap<ServiceKey, string>): void {
    const { providers, log } = this.#components;
    if (unreadable.size === 0 && this.#unreadable.size === 0) return;
    this.#unreadable = unreadable;
    const [file] = unreadable.values();
    const why = file === undefined ? undefined : reason('RecordUnreadable', { file });
    for (const provider of providers) provider.withhold(why);
    if (why === undefined) log.info({}, 'all records can be read: addresses are given again');
    else log.error({ files: [...unreadable.values()], fix: fix(why) }, 'records cannot be read: no address is given');
    for (const key of this.#components.source.snapshot.services.keys()) this.#queue.add(key);
  }

  /** Looks again at the records that could not be read. */
  async #readAgain(): Promise<void> {
    const { source, providers, writer } = this.#components;
    const { snapshot } = source;
    const recorded = await writer.recorded();
    if (this.#stopped) return;
    const left = new Map([...this.#unreadable].filter(([key]) => recorded.unreadable.has(key)));
    if (left.size === this.#unreadable.size) return;
    for (const key of this.#unreadable.keys()) {
      const service = snapshot.services.get(key);
      const addresses = recorded.addresses.get(key);
      if (service === undefined || addresses === undefined || left.has(key)) continue;
      const provider = providers.find((provider) => provider.claim(service, snapshot).mine);
      if (provider !== undefined) this.#adopt(provider, service, addresses, 'always');
    }
    this.#withhold(left);
  }

  /** Reservations end when the Service can be read again, or when nothing unreadable is left that it could be in. */
  #releaseMended(): void {
    const { source, providers, log, clock } = this.#components;
    if (this.#unreadable.size > 0) {
      for (const key of this.#unreadable.keys()) if (!source.snapshot.services.has(key)) this.#queue.add(key);
      this.#readAgain().catch((error: unknown) => log.error({ error }, 'the records cannot be read'));
    }
    if (this.#reserved.size === 0) return;
    const isHidden = hiddenByErrors(source, this.#unreadable.values());
    for (const key of this.#reserved.keys()) {
      const readable = source.snapshot.services.has(key);
      if (!readable && isHidden(key)) continue;
      this.#reserved = new Map([...this.#reserved].filter(([other]) => other !== key));
      if (readable) continue;
      for (const provider of providers) {
        provider
          .release(key, clock.date().getTime())
          .then(({ addresses, retry }) => {
            this.#sayReleased(key, addresses, 'the Service, which could not be read, is gone');
            return retry.forEach((other) => this.#queue.addFirst(other));
          })
          .catch((error: unknown) => log.error({ error, service: key }, 'release failed'));
      }
      this.#queue.add(key);
    }
  }

  #sayReleased(key: ServiceKey, addresses: readonly Address[], why: string): void {
    this.#statuses.released(key, addresses.map(formatAddress), why);
  }
}

/** Recorded Services that the source cannot show, while something is broken that could be them. */
function withoutManifest(recorded: RecordedAddresses, source: Source): RecordedAddresses {
  const isHidden = hiddenByErrors(source, []);
  return new Map([...recorded].filter(([key]) => !source.snapshot.services.has(key) && isHidden(key)));
}

/** Whether something is broken that could be the Service, the files given apart: an error of which it is known what other object it is in hides none. */
function hiddenByErrors(source: Source, apart: Iterable<string>): (key: ServiceKey) => boolean {
  const files = new Set<string | undefined>(apart);
  const errors = source.problems().filter(({ severity, file }) => severity === 'error' && !files.has(file));
  const known = new Set(errors.map(({ about }) => (about?.kind === 'Service' ? serviceKey(about) : undefined)));
  const unknown = errors.some(({ about }) => about === undefined);
  return (key) => unknown || known.has(key);
}

function addressesIn(ingress: readonly Ingress[]): Address[] {
  return ingress.flatMap(({ address }) => address ?? []);
}

function same(a: Address | undefined, b: Address | undefined): boolean {
  return a !== undefined && b !== undefined && sameAddress(a, b);
}
