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
import { shuffled, type Truth } from './truth.ts';

export const textsOf = (ingress: readonly Ingress[] = []): string[] =>
  ingress.flatMap(({ address }) => (address === undefined ? [] : [formatAddress(address)]));

/** How the next writes go: they work, are refused, or take effect while the answer is lost. */
export type Fate = 'works' | 'refused' | 'lost';

/** Remembers what there was when it decided on a Service: until that is written, more may have come. */
class WatchedProvider extends BareMetalProvider {
  readonly seen = new Map<ServiceKey, ReadonlyMap<ServiceKey, Service>>();

  override reconcile(service: Service, snapshot: Snapshot): Promise<Reconciliation> {
    this.seen.set(serviceKey(service.metadata), new Map(snapshot.services));
    return super.reconcile(service, snapshot);
  }
}

/** One controller over the truth, of which it hears late and in any order; every write is held against what must never happen. */
export class Running implements StatusWriter {
  readonly clock = new VirtualClock();
  readonly source: TestSource;
  readonly #truth: Truth;
  readonly #random: Random;
  readonly #mayMove: Set<ServiceKey>;
  readonly #pending = new Map<string, { readonly kind: KindName; readonly key: string }>();
  readonly #unheard = new Set<ServiceKey>();
  /** What each Service had when its status was written last, or should have been. */
  readonly #decided = new Map<ServiceKey, { readonly uid: string; readonly addresses: readonly string[] }>();
  readonly allocator = createAllocator([]);
  readonly #provider = new WatchedProvider(this.allocator);
  readonly #violations: string[] = [];
  #controller: Controller | undefined;
  fate: Fate = 'works';
  /** Writes take effect in the order in which they were begun. */
  punctual = false;
  /** Another one has taken over: nothing of this one takes effect any more. */
  fenced = false;

  /**
   * `mayMove`: Services whose owner has asked for something that is not written down yet. `stale`: one that has not heard of
   * everything, which this one has not either.
   */
  constructor(truth: Truth, random: Random, mayMove: Set<ServiceKey>, stale?: Running) {
    this.#truth = truth;
    this.#random = random;
    this.#mayMove = mayMove;
    const objects = new Map(truth.objects().map((object) => [`${object.kind}/${objectKey(object)}`, object]));
    const records = new Map([...truth.records].map(([key, { ingress }]) => [key, ingress]));
    if (stale !== undefined) this.#knowWhatKnew(stale, objects, records);
    this.source = new TestSource(...shuffled(random, [...objects.values()]));
    for (const [key, ingress] of shuffled(random, [...records])) this.source.store.setIngress(key, ingress);
  }

  #knowWhatKnew(stale: Running, objects: Map<string, HeraldObject>, records: Map<ServiceKey, readonly Ingress[]>): void {
    for (const [id, { kind, key }] of stale.#pending) {
      const known = stale.source.find(kind, key);
      if (known === undefined) objects.delete(id);
      else objects.set(id, known);
      this.#pending.set(id, { kind, key });
    }
    for (const key of stale.#unheard) {
      const known = stale.source.snapshot.services.get(key)?.ingress ?? [];
      if (known.length === 0) records.delete(key);
      else records.set(key, known);
      this.#unheard.add(key);
    }
  }

  async start(): Promise<void> {
    const { source, clock } = this;
    const components = { source, providers: [this.#provider], writer: this, clock, random: () => 0, log: silentLog };
    this.#controller = new Controller(components);
    await this.#controller.start();
  }

  /** Something changed of which the controller hears when it is delivered. */
  tell(kind: KindName, key: string): void {
    this.#pending.set(`${kind}/${key}`, { kind, key });
    // Where the record is a part of the Service it may have gone with it.
    if (this.#truth.attached && kind === 'Service') this.#unheard.add(key as ServiceKey);
  }

  /** Everything that changed comes in one batch, in any order; or some of it. */
  deliver({ some = false } = {}): void {
    const batch = shuffled(this.#random, [...this.#pending.values()]).filter(() => !some || this.#random.chance(2));
    for (const { kind, key } of batch) this.#pending.delete(`${kind}/${key}`);
    this.source.atOnce(() => {
      for (const { kind, key } of batch) {
        const object = this.#truth.find(kind, key);
        const before = this.source.find(kind, key);
        if (object !== undefined) this.source.put(object);
        else if (before !== undefined) this.source.remove(before);
      }
      for (const key of shuffled(this.#random, [...this.#unheard])) {
        if (this.#pending.has(`Service/${key}`)) continue;
        this.source.record(key, this.#truth.records.get(key)?.ingress);
        this.#unheard.delete(key);
      }
    });
  }

  /** Nothing is left to hear, to try again, or to wait for. */
  async settle(): Promise<void> {
    this.fate = 'works';
    // What is written comes back as a change once more.
    for (let round = 0; round < 4; round++) {
      this.deliver();
      await this.#controller?.settled();
      this.clock.advance(100_000);
      await this.#controller?.settled();
    }
    assert.deepEqual(this.#violations, []);
    for (const [key, { since }] of this.#truth.records) if (since === undefined) this.#mayMove.delete(key);
  }

  async halt(): Promise<void> {
    this.fenced = true;
    await this.#controller?.stop();
    assert.deepEqual(this.#violations, []);
  }

  async recorded(): Promise<RecordedStatus> {
    const addresses = [...this.#truth.records].map(([key, { ingress }]) => [key, ingress.flatMap(({ address }) => address ?? [])] as const);
    const since = [...this.#truth.records].flatMap(([key, { since }]) =>
      since === undefined ? [] : [[key, String(since).padStart(12, '0')] as const],
    );
    return {
      addresses: new Map(shuffled(this.#random, addresses)),
      ...(this.#truth.attached ? { uids: this.#uids() } : {}),
      unreadable: new Map(),
      released: [...this.#truth.released.values()].flat(),
      waitingSince: new Map(shuffled(this.#random, since)),
    };
  }

  async writeService(key: ServiceKey, { ingress, conditions }: ServiceStatus, { uid }: ObservedVersion): Promise<void> {
    if (this.#truth.attached && this.#truth.services.get(key)?.metadata.uid !== uid) return this.#missed(key);
    const decided = this.#decided.get(key);
    const held = decided?.uid === uid ? decided.addresses : textsOf(this.#truth.records.get(key)?.ingress);
    for (const address of textsOf(ingress)) if (!held.includes(address)) this.#expectFree(key, address);
    this.#decided.set(key, { uid, addresses: textsOf(ingress) });
    await this.#underWay();
    this.#expectToWork();
    const met = conditions[0]?.status === 'True';
    const record = this.#truth.records.get(key);
    const before = textsOf(record?.ingress);
    const after = textsOf(ingress);
    const gone = before.filter((address) => !after.includes(address));
    const doubles = gone.filter((address) => this.#isDouble(key, address));
    // Who must have both families has them of one pool: where that has no other for the one that is doubled, both go.
    const both = this.#truth.services.get(key)?.ipFamilyPolicy === 'RequireDualStack';
    const lost = both && doubles.length > 0 ? [] : gone.filter((address) => !doubles.includes(address));
    this.#must(lost.length === 0 || this.#mayMove.has(key), `${key} loses ${lost.join()} without having asked for it`);
    const since = met ? undefined : (record?.since ?? this.#truth.writes++);
    this.#truth.records.set(key, { ingress, ...defined({ since }) });
    this.#unheard.add(key);
    if (this.fate === 'lost') throw new Error('the answer is lost');
  }

  /** The Service is gone by now, or another one has its name: that will be heard of. */
  async #missed(key: ServiceKey): Promise<void> {
    await this.#underWay();
    this.#expectToWork();
    if (this.#truth.services.has(key)) throw new Error('another one has its name by now');
  }

  async releaseService(key: ServiceKey): Promise<void> {
    await this.#underWay();
    this.#expectToWork();
    const held = textsOf(this.#truth.records.get(key)?.ingress);
    this.#must(held.length === 0 || this.#mayMove.has(key), `${key} loses ${held.join()} without having asked for it`);
    this.#truth.records.delete(key);
    this.#unheard.add(key);
    this.#decided.delete(key);
    if (this.fate === 'lost') throw new Error('the answer is lost');
  }

  /** The status of pools is no business of this test. */
  async writeObject({ name }: ObjectReference, { fields }: ObjectRecord): Promise<undefined> {
    await this.#underWay();
    this.#expectToWork();
    this.#truth.released.set(name, readReleased(fields));
  }

  async removeObject(_kind: string, name: string): Promise<void> {
    this.#truth.released.delete(name);
  }

  #uids(): Map<ServiceKey, string> {
    return new Map([...this.#truth.services].map(([key, { metadata }]) => [key, metadata.uid]));
  }

  /** Several writes are on their way at once, and arrive in any order. */
  async #underWay(): Promise<void> {
    for (let turns = this.punctual ? 0 : this.#random.below(6); turns >= 0; turns--) await Promise.resolve();
  }

  /** The controller would take an error for one of the API server, and try again. */
  #must(condition: boolean, what: string): void {
    if (!condition) this.#violations.push(what);
  }

  #expectToWork(): void {
    if (this.fenced) throw new Error('another controller works here');
    if (this.fate === 'refused') throw new Error('refused');
  }

  /** On record of two that may not share it, as far as the controller knew: after a restart nobody can tell whose doing that was, and one of them gives way. */
  #isDouble(key: ServiceKey, address: string): boolean {
    const { snapshot } = this.source;
    const services = this.#provider.seen.get(key) ?? snapshot.services;
    const mine = services.get(key);
    return [...this.#truth.records].some(([other, { ingress }]) => {
      const theirs = services.get(other);
      if (other === key || mine === undefined || theirs === undefined || !textsOf(ingress).includes(address)) return false;
      return whyNotShared(allocationRequest(mine, snapshot), allocationRequest(theirs, snapshot)) !== undefined;
    });
  }

  /** Nobody has the address on record who may not share it, as far as the controller knew when it decided. */
  #expectFree(key: ServiceKey, address: string): void {
    const { snapshot } = this.source;
    // What a Service keeps that is of another class by now is written without a decision.
    const services = this.#provider.seen.get(key) ?? snapshot.services;
    const mine = services.get(key);
    if (mine === undefined) return this.#must(false, `${key} is written, which nobody has seen`);
    for (const [other, { ingress }] of this.#truth.records) {
      const theirs = services.get(other);
      if (other === key || theirs?.type !== 'LoadBalancer' || !textsOf(ingress).includes(address)) continue;
      const why = whyNotShared(allocationRequest(mine, snapshot), allocationRequest(theirs, snapshot));
      this.#must(why === undefined, `${key} is given ${address} of ${other}: ${why}`);
    }
  }
}
