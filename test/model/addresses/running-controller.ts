import assert from 'node:assert';
import { defined } from '../../../src/lang/defined.ts';
import { BareMetalProvider } from '../../../providers/bare-metal/provider.ts';
import { Controller } from '../../../src/controller/controller.ts';
import type { ObservedVersion, ObjectRecord, RecordedStatus, ServiceStatus, StatusWriter } from '../../../src/controller/status-writer.ts';
import { createAllocator } from '../../../src/decisions/allocation/allocator.ts';
import { allocationRequest } from '../../../src/decisions/allocation/request.ts';
import { whyNotShared } from '../../../src/decisions/allocation/ledger/sharing.ts';
import type { Reconciliation } from '../../../src/controller/provider.ts';
import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Ingress, Service } from '../../../src/model/objects/service.ts';
import type { HeraldObject, KindName, Snapshot } from '../../../src/model/store/snapshot.ts';
import { formatAddress } from '../../../src/net/address.ts';
import { silentLog } from '../../../src/system/log.ts';
import type { ObjectReference } from '../../../src/model/objects/object-event.ts';
import { readReleased } from '../../../src/model/parse/released-address.ts';
import { objectKey } from '../../../src/model/store/store.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import type { Random } from '../../fuzz/random.ts';
import { TestSource } from '../../unit/test-source.ts';
import { shuffled, type ClusterState } from './cluster-state.ts';

export const textsOf = (ingress: readonly Ingress[] = []): string[] =>
  ingress.flatMap(({ address }) => (address === undefined ? [] : [formatAddress(address)]));

/** The outcome of the next writes: they succeed, are refused, or succeed while the reply is lost. */
export type Fate = 'works' | 'refused' | 'lost';

/** Remembers the Services that existed when it decided on a Service. Until the decision is written, more may have been created. */
class RecordingProvider extends BareMetalProvider {
  readonly seen = new Map<ServiceKey, ReadonlyMap<ServiceKey, Service>>();

  override reconcile(service: Service, snapshot: Snapshot): Promise<Reconciliation> {
    this.seen.set(serviceKey(service.metadata), new Map(snapshot.services));
    return super.reconcile(service, snapshot);
  }
}

/** A controller over the true state. It sees changes late and in any order, and every write is checked against the rules. */
export class RunningController implements StatusWriter {
  readonly clock = new VirtualClock();
  readonly source: TestSource;
  readonly #state: ClusterState;
  readonly #random: Random;
  readonly #mayMove: Set<ServiceKey>;
  readonly #pending = new Map<string, { readonly kind: KindName; readonly key: string }>();
  readonly #undeliveredRecords = new Set<ServiceKey>();
  /** The addresses of each Service at the last write of its status, also if that write failed. */
  readonly #decided = new Map<ServiceKey, { readonly uid: string; readonly addresses: readonly string[] }>();
  readonly allocator = createAllocator([]);
  readonly #provider = new RecordingProvider(this.allocator);
  readonly #violations: string[] = [];
  #controller: Controller | undefined;
  fate: Fate = 'works';
  /** True: writes take effect in the order in which they began. */
  punctual = false;
  /** True: another controller has taken over, and no write of this one takes effect any more. */
  fenced = false;

  /**
   * `mayMove`: Services whose owner has asked for a change that is not written yet. `stale`: a controller that has not seen everything;
   * this one starts with the same knowledge.
   */
  constructor(state: ClusterState, random: Random, mayMove: Set<ServiceKey>, stale?: RunningController) {
    this.#state = state;
    this.#random = random;
    this.#mayMove = mayMove;
    const objects = new Map(state.objects().map((object) => [`${object.kind}/${objectKey(object)}`, object]));
    const records = new Map([...state.records].map(([key, { ingress }]) => [key, ingress]));
    if (stale !== undefined) this.#copyKnowledgeOf(stale, objects, records);
    this.source = new TestSource(...shuffled(random, [...objects.values()]));
    for (const [key, ingress] of shuffled(random, [...records])) this.source.store.setIngress(key, ingress);
  }

  #copyKnowledgeOf(stale: RunningController, objects: Map<string, HeraldObject>, records: Map<ServiceKey, readonly Ingress[]>): void {
    for (const [id, { kind, key }] of stale.#pending) {
      const known = stale.source.find(kind, key);
      if (known === undefined) objects.delete(id);
      else objects.set(id, known);
      this.#pending.set(id, { kind, key });
    }
    for (const key of stale.#undeliveredRecords) {
      const known = stale.source.snapshot.services.get(key)?.ingress ?? [];
      if (known.length === 0) records.delete(key);
      else records.set(key, known);
      this.#undeliveredRecords.add(key);
    }
  }

  async start(): Promise<void> {
    const { source, clock } = this;
    const components = { source, providers: [this.#provider], writer: this, clock, random: () => 0, log: silentLog };
    this.#controller = new Controller(components);
    await this.#controller.start();
  }

  /** Records a change, which the controller sees at the next delivery. */
  recordChange(kind: KindName, key: string): void {
    this.#pending.set(`${kind}/${key}`, { kind, key });
    // A record that is part of its Service may have been deleted with it.
    if (this.#state.attached && kind === 'Service') this.#undeliveredRecords.add(key as ServiceKey);
  }

  /** Delivers all changes, or some of them, as one batch in random order. */
  deliver({ some = false } = {}): void {
    const batch = shuffled(this.#random, [...this.#pending.values()]).filter(() => !some || this.#random.chance(2));
    for (const { kind, key } of batch) this.#pending.delete(`${kind}/${key}`);
    this.source.atOnce(() => {
      for (const { kind, key } of batch) {
        const object = this.#state.find(kind, key);
        const before = this.source.find(kind, key);
        if (object !== undefined) this.source.put(object);
        else if (before !== undefined) this.source.remove(before);
      }
      for (const key of shuffled(this.#random, [...this.#undeliveredRecords])) {
        if (this.#pending.has(`Service/${key}`)) continue;
        this.source.record(key, this.#state.records.get(key)?.ingress);
        this.#undeliveredRecords.delete(key);
      }
    });
  }

  /** Delivers and retries until nothing is left to do. */
  async settle(): Promise<void> {
    this.fate = 'works';
    // Each write comes back as a change.
    for (let round = 0; round < 4; round++) {
      this.deliver();
      await this.#controller?.settled();
      this.clock.advance(100_000);
      await this.#controller?.settled();
    }
    assert.deepEqual(this.#violations, []);
    for (const [key, { since }] of this.#state.records) if (since === undefined) this.#mayMove.delete(key);
  }

  async halt(): Promise<void> {
    this.fenced = true;
    await this.#controller?.stop();
    assert.deepEqual(this.#violations, []);
  }

  async recorded(): Promise<RecordedStatus> {
    const addresses = [...this.#state.records].map(([key, { ingress }]) => [key, ingress.flatMap(({ address }) => address ?? [])] as const);
    const since = [...this.#state.records].flatMap(([key, { since }]) =>
      since === undefined ? [] : [[key, String(since).padStart(12, '0')] as const],
    );
    return {
      addresses: new Map(shuffled(this.#random, addresses)),
      ...(this.#state.attached ? { uids: this.#uids() } : {}),
      unreadable: new Map(),
      released: [...this.#state.released.values()].flat(),
      waitingSince: new Map(shuffled(this.#random, since)),
    };
  }

  async writeService(key: ServiceKey, { ingress, conditions }: ServiceStatus, { uid }: ObservedVersion): Promise<void> {
    if (this.#state.attached && this.#state.services.get(key)?.metadata.uid !== uid) return this.#refuseStaleWrite(key);
    const decided = this.#decided.get(key);
    const held = decided?.uid === uid ? decided.addresses : textsOf(this.#state.records.get(key)?.ingress);
    for (const address of textsOf(ingress)) if (!held.includes(address)) this.#expectFree(key, address);
    this.#decided.set(key, { uid, addresses: textsOf(ingress) });
    await this.#delayWrite();
    this.#applyFate();
    const met = conditions[0]?.status === 'True';
    const record = this.#state.records.get(key);
    const before = textsOf(record?.ingress);
    const after = textsOf(ingress);
    const gone = before.filter((address) => !after.includes(address));
    const doubles = gone.filter((address) => this.#isDoublyHeld(key, address));
    // A Service with RequireDualStack has both addresses in one pool. If that pool has no replacement for a doubly assigned address, both
    // are lost.
    const both = this.#state.services.get(key)?.ipFamilyPolicy === 'RequireDualStack';
    const lost = both && doubles.length > 0 ? [] : gone.filter((address) => !doubles.includes(address));
    this.#check(lost.length === 0 || this.#mayMove.has(key), `${key} loses ${lost.join()} without having asked for it`);
    const since = met ? undefined : (record?.since ?? this.#state.writes++);
    this.#state.records.set(key, { ingress, ...defined({ since }) });
    this.#undeliveredRecords.add(key);
    if (this.fate === 'lost') throw new Error('the reply is lost');
  }

  /** The Service was deleted or recreated under the same name. A later delivery reports that. */
  async #refuseStaleWrite(key: ServiceKey): Promise<void> {
    await this.#delayWrite();
    this.#applyFate();
    if (this.#state.services.has(key)) throw new Error('the Service was recreated under the same name');
  }

  async releaseService(key: ServiceKey): Promise<void> {
    await this.#delayWrite();
    this.#applyFate();
    const held = textsOf(this.#state.records.get(key)?.ingress);
    this.#check(held.length === 0 || this.#mayMove.has(key), `${key} loses ${held.join()} without having asked for it`);
    this.#state.records.delete(key);
    this.#undeliveredRecords.add(key);
    this.#decided.delete(key);
    if (this.fate === 'lost') throw new Error('the reply is lost');
  }

  /** Only released addresses matter here. The rest of a pool's status is not checked. */
  async writeObject({ name }: ObjectReference, { fields }: ObjectRecord): Promise<undefined> {
    await this.#delayWrite();
    this.#applyFate();
    this.#state.released.set(name, readReleased(fields));
  }

  async removeObject(_kind: string, name: string): Promise<void> {
    this.#state.released.delete(name);
  }

  #uids(): Map<ServiceKey, string> {
    return new Map([...this.#state.services].map(([key, { metadata }]) => [key, metadata.uid]));
  }

  /** Delays a write: several writes are in flight at once and complete in any order. */
  async #delayWrite(): Promise<void> {
    for (let turns = this.punctual ? 0 : this.#random.below(6); turns >= 0; turns--) await Promise.resolve();
  }

  /** Records a violation. The controller would treat a thrown error as one of the API server and retry. */
  #check(condition: boolean, what: string): void {
    if (!condition) this.#violations.push(what);
  }

  #applyFate(): void {
    if (this.fenced) throw new Error('another controller works here');
    if (this.fate === 'refused') throw new Error('refused');
  }

  /**
   * True if two Services that may not share the address have it on record, as far as the controller knew. After a restart the controller
   * cannot know which was first, so one of them loses it.
   */
  #isDoublyHeld(key: ServiceKey, address: string): boolean {
    const { snapshot } = this.source;
    const services = this.#provider.seen.get(key) ?? snapshot.services;
    const mine = services.get(key);
    return [...this.#state.records].some(([other, { ingress }]) => {
      const theirs = services.get(other);
      if (other === key || mine === undefined || theirs === undefined || !textsOf(ingress).includes(address)) return false;
      return whyNotShared(allocationRequest(mine, snapshot), allocationRequest(theirs, snapshot)) !== undefined;
    });
  }

  /** Checks that no Service that may not share the address had it on record, as far as the controller knew when it decided. */
  #expectFree(key: ServiceKey, address: string): void {
    const { snapshot } = this.source;
    // Addresses that a Service keeps although it now has another class are written without a decision.
    const services = this.#provider.seen.get(key) ?? snapshot.services;
    const mine = services.get(key);
    if (mine === undefined) return this.#check(false, `${key} is written, but the controller has not seen it`);
    for (const [other, { ingress }] of this.#state.records) {
      const theirs = services.get(other);
      if (other === key || theirs?.type !== 'LoadBalancer' || !textsOf(ingress).includes(address)) continue;
      const why = whyNotShared(allocationRequest(mine, snapshot), allocationRequest(theirs, snapshot));
      this.#check(why === undefined, `${key} is given ${address} of ${other}: ${why?.why}`);
    }
  }
}
