import { effectivePools } from '../decisions/allocation/pools.ts';
import { serviceKey, type ServiceKey } from '../model/metadata.ts';
import { says, type Reason } from '../model/reasons.ts';
import type { Service } from '../model/service.ts';
import type { Change } from '../model/snapshot.ts';
import { formatAddress } from '../net/address.ts';
import type { Source } from '../sources/source.ts';
import type { Clock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import type { Random } from '../system/random.ts';
import { ConditionWatch } from './affected.ts';
import { limits } from './limits.ts';
import { acceptedCondition, agentsBehind, serviceConditions } from './conditions.ts';
import type { Provider, ReservedAddresses } from './provider.ts';
import type { StatusWriter } from './status-writer.ts';
import { WorkQueue } from './work-queue.ts';

export interface ControllerComponents {
  readonly source: Source;
  readonly providers: readonly Provider[];
  readonly writer: StatusWriter;
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
  readonly #owners = new Map<ServiceKey, Provider>();
  readonly #conditions = new ConditionWatch();
  /** Services whose agents have yet to report on their latest form. */
  readonly #behind = new Set<ServiceKey>();
  /** The last "no" that was logged, so that the same one is logged once. */
  readonly #logged = new Map<ServiceKey, string>();
  #reserved: ReservedAddresses = new Map();
  #unsubscribe: (() => void) | undefined;
  #cancelWatch: (() => void) | undefined;

  constructor(components: ControllerComponents) {
    this.#components = components;
    this.#queue = new WorkQueue(components, (key) => this.#reconcile(key));
  }

  /** Takes over what was assigned, then works until `stop`. The source must have started. */
  async start(): Promise<void> {
    const { source, providers, writer, log } = this.#components;
    const { snapshot } = source;
    this.#reserved = unreadable(await writer.recorded(), source);
    for (const [key, addresses] of this.#reserved) {
      log.warn({ service: key, addresses: addresses.map(formatAddress) }, 'the Service cannot be read: its addresses stay reserved');
    }
    for (const provider of providers) provider.adopt(snapshot, this.#reserved);
    this.#unsubscribe = source.onChange((changes) => this.#changed(changes));
    const recorded = new Set((await writer.recorded()).keys());
    // What holds an address goes first: it must not lose it to one that waits.
    const keys = [...snapshot.services].toSorted(([, a], [, b]) => b.ingress.length - a.ingress.length).map(([key]) => key);
    for (const key of new Set([...keys, ...recorded])) this.#queue.add(key);
    this.#queue.start();
    this.#watchReports();
    await this.#acceptConfiguration();
    log.info({ services: snapshot.services.size, pools: snapshot.pools.size }, 'controller started');
  }

  /** Resolves when nothing is left to do. */
  settled(): Promise<void> {
    return this.#queue.idle();
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    this.#cancelWatch?.();
    await this.#queue.stop();
  }

  /** Silence is no change that a source could tell of: it is looked for. */
  #watchReports(): void {
    const { source, clock } = this.#components;
    for (const key of this.#conditions.silenced(source.snapshot, clock.date().getTime())) this.#queue.add(key);
    this.#cancelWatch = clock.after(limits.reportWatchMilliseconds, () => this.#watchReports());
  }

  #changed(changes: readonly Change[]): void {
    const { source, providers } = this.#components;
    for (const { kind, key } of changes) if (kind === 'Service') this.#queue.add(key as ServiceKey);
    for (const provider of providers) for (const key of provider.affected(changes, source.snapshot)) this.#queue.add(key);
    for (const key of this.#conditions.affected(changes, source.snapshot, this.#behind)) this.#queue.add(key);
    this.#releaseMended();
    if (changes.some(({ kind }) => kind === 'IPAddressPool')) {
      this.#acceptConfiguration().catch((error: unknown) => this.#components.log.error({ error }, 'status of pools not written'));
    }
  }

  async #reconcile(key: ServiceKey): Promise<void> {
    const service = this.#components.source.snapshot.services.get(key);
    if (service === undefined) {
      if (!this.#reserved.has(key)) await this.#forget(key);
      return;
    }
    const { snapshot } = this.#components.source;
    const owner = this.#components.providers.find((provider) => provider.claim(service, snapshot).mine);
    const before = this.#owners.get(key);
    if (before !== undefined && before !== owner) await this.#release(key, before);
    if (owner === undefined) {
      // Not ours: what we wrote for it goes, what others wrote stays.
      await this.#forget(key);
      return;
    }
    this.#owners.set(key, owner);
    const { ingress, reason, retry } = await owner.reconcile(service, snapshot);
    for (const other of retry) this.#queue.add(other);
    const assigned: Service = { ...service, ingress };
    if (ingress.length > 0 && agentsBehind(snapshot, service)) this.#behind.add(key);
    else this.#behind.delete(key);
    this.#say(key, assigned, reason);
    const { writer, clock } = this.#components;
    await writer.writeService(key, { ingress, conditions: serviceConditions(snapshot, assigned, reason, clock.date().getTime()) });
  }

  async #forget(key: ServiceKey): Promise<void> {
    const owner = this.#owners.get(key);
    if (owner !== undefined) await this.#release(key, owner);
    this.#behind.delete(key);
    this.#logged.delete(key);
    await this.#components.writer.removeService(key);
  }

  async #release(key: ServiceKey, owner: Provider): Promise<void> {
    this.#owners.delete(key);
    const { retry } = await owner.release(key);
    for (const other of retry) this.#queue.add(other);
  }

  /** Reservations end when the Service can be read again, or when nothing unreadable is left that it could be in. */
  #releaseMended(): void {
    if (this.#reserved.size === 0) return;
    const { source, providers, log } = this.#components;
    const broken = source.problems().some(({ severity }) => severity === 'error');
    for (const key of this.#reserved.keys()) {
      const readable = source.snapshot.services.has(key);
      if (!readable && broken) continue;
      this.#reserved = new Map([...this.#reserved].filter(([other]) => other !== key));
      if (readable) continue;
      log.info({ service: key }, 'the Service is gone: its reserved addresses are free');
      for (const provider of providers) {
        provider
          .release(key)
          .then(({ retry }) => retry.forEach((other) => this.#queue.add(other)))
          .catch((error: unknown) => log.error({ error, service: key }, 'release failed'));
      }
      this.#queue.add(key);
    }
  }

  async #acceptConfiguration(): Promise<void> {
    const { source, writer } = this.#components;
    const { refused } = effectivePools(source.snapshot.pools);
    for (const name of source.snapshot.pools.keys())
      await writer.writeObject('IPAddressPool', name, [acceptedCondition(refused.get(name))]);
  }

  #say(key: ServiceKey, service: Service, reason: Reason | undefined): void {
    const addresses = service.ingress.flatMap(({ address }) => (address === undefined ? [] : [formatAddress(address)]));
    const text = JSON.stringify([addresses, reason?.code]);
    if (this.#logged.get(key) === text) return;
    this.#logged.set(key, text);
    const { log } = this.#components;
    if (reason === undefined) log.info({ service: serviceKey(service.metadata), addresses }, 'address assigned');
    else log.warn({ service: key, addresses, code: reason.code, reason: says(reason) }, 'address not assigned');
  }
}

/** Recorded Services that the source cannot show, while something in it is broken. */
function unreadable(recorded: ReservedAddresses, source: Source): ReservedAddresses {
  if (!source.problems().some(({ severity }) => severity === 'error')) return new Map();
  return new Map([...recorded].filter(([key]) => !source.snapshot.services.has(key)));
}
