import assert from 'node:assert';
import { serviceKey, type Metadata, type ServiceKey } from '../../model/objects/metadata.ts';
import { parseObject } from '../../model/parse.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Change, HeraldObject, Snapshot } from '../../model/store/snapshot.ts';
import { Store } from '../../model/store/store.ts';
import { formatAddress } from '../../net/address.ts';
import type { Source } from '../../sources/source.ts';
import { silentLog } from '../../system/log.ts';
import { VirtualClock } from '../../system/virtual-clock.ts';
import { Controller } from '../controller.ts';
import type { Provider, ProviderComponents, ServiceMetadata } from '../provider-module.ts';
import type { OptionalParts } from '../provider-parts.ts';
import type { StatusWriter } from '../status-writer.ts';
import type { ProviderSubject, ProviderWorld } from './subject.ts';

/** A cluster in memory in which Herald's controller runs with one provider, on a virtual clock. */
export class InMemoryCluster implements Source {
  readonly clock = new VirtualClock();
  readonly world: ProviderWorld;
  readonly #subject: ProviderSubject;
  readonly #store = new Store();
  readonly #listeners = new Set<(changes: readonly Change[]) => void>();
  #stop = new AbortController();
  #provider: Provider | undefined;
  #controller: Controller | undefined;
  #version = 0;

  constructor(subject: ProviderSubject) {
    this.#subject = subject;
    this.world = subject.world(this.clock);
    for (const object of subject.objects ?? []) this.#store.upsert(read(object));
  }

  get snapshot(): Snapshot {
    return this.#store;
  }

  get provider(): Provider {
    assert(this.#provider, 'start comes first');
    return this.#provider;
  }

  /** Returns a method of an optional part. Fails when the provider does not have it. */
  part<N extends keyof OptionalParts>(method: N): NonNullable<OptionalParts[N]> {
    const found = this.provider[method] as NonNullable<OptionalParts[N]> | undefined;
    assert(found, `the provider lacks ${method}`);
    return found.bind(this.provider) as NonNullable<OptionalParts[N]>;
  }

  /** Returns a copy of the cluster to which the Service of the subject was added. */
  snapshotWithService(): Snapshot {
    const copy = new Store();
    for (const object of [...(this.#subject.objects ?? []), this.#subject.service]) copy.upsert(read(object));
    return copy;
  }

  /** The Service of the subject: as it is in the cluster, or as it would be created. */
  get served(): Service {
    const object = read(this.#subject.service);
    assert(object.kind === 'Service', 'the subject names a Service');
    return this.#store.services.get(serviceKey(object.metadata)) ?? object;
  }

  get key(): ServiceKey {
    return serviceKey(this.served.metadata);
  }

  /** The ingress of the Service's status, as text. */
  get ingress(): readonly string[] {
    const { ingress = [] } = this.#store.services.get(this.key) ?? {};
    return ingress.map(({ address, hostname }) => (address === undefined ? (hostname ?? '') : formatAddress(address)));
  }

  get resources(): readonly string[] {
    return [...(this.world.resources?.() ?? [])].toSorted();
  }

  /** Makes a provider as a starting process does, but starts no controller. */
  async makeProvider(): Promise<Provider> {
    const provider = await this.world.createProvider(this.#components());
    this.#provider = provider;
    return provider;
  }

  /** Ends the running process, if any, and starts another one. */
  async start(): Promise<void> {
    this.#stop.abort();
    await this.#controller?.stop();
    this.#stop = new AbortController();
    this.#controller = new Controller({
      source: this,
      providers: [await this.makeProvider()],
      writer: this.#writer(),
      clock: this.clock,
      random: () => 0.5,
      log: silentLog,
    });
    await this.#controller.start();
    await this.#flush();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#controller?.stop();
  }

  /** Advances the clock in steps of ten seconds until the condition holds. Fails with `what` after two hours. */
  async until(what: string, isSo: () => boolean): Promise<void> {
    for (let passed = 0; !isSo(); passed += 10) {
      assert(
        passed < 7200,
        `${what}: not after two hours; the Service has ${JSON.stringify(this.ingress)}, outside is ${JSON.stringify(this.resources)}`,
      );
      await this.advance(10);
    }
  }

  async advance(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed += 10) {
      this.clock.advance(10_000);
      await this.#flush();
    }
  }

  /** Creates or changes the Service as its owner does. `changes`: fields of its spec or metadata. */
  async apply(changes: { readonly spec?: object; readonly metadata?: object } = {}): Promise<void> {
    const manifest = this.#subject.service as { readonly metadata: object; readonly spec: object };
    const object = read({
      ...manifest,
      metadata: { ...manifest.metadata, ...changes.metadata },
      spec: { ...manifest.spec, ...changes.spec },
    });
    assert(object.kind === 'Service');
    const { ingress = [], metadata: { finalizers = [] } = {} } = this.#store.services.get(this.key) ?? {};
    // The API server removes the addresses of a Service that is no longer a load balancer.
    const kept = object.type === 'LoadBalancer' ? ingress : [];
    this.#put({ ...object, metadata: { ...object.metadata, finalizers, uid: 'uid' }, ingress: kept });
    await this.#flush();
  }

  /** Deletes as an API server does: the Service is gone once it has no finalizer. */
  async delete(): Promise<void> {
    if ((this.served.metadata.finalizers ?? []).length === 0) this.#notify(this.#store.remove('Service', this.key));
    else this.#change(this.key, { deleting: true });
    await this.#flush();
  }

  onChange(listener: (changes: readonly Change[]) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  onProblem(): () => void {
    return () => undefined;
  }

  kept(): readonly [] {
    return [];
  }

  problems(): readonly [] {
    return [];
  }

  async close(): Promise<void> {}

  /** Runs everything that can run without advancing the clock. */
  async #flush(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => void setImmediate(resolve));
  }

  #notify(changes: readonly Change[]): void {
    if (changes.length > 0) for (const listener of this.#listeners) listener(changes);
  }

  #put(service: Service): void {
    this.#notify(this.#store.upsert({ ...service, metadata: { ...service.metadata, resourceVersion: `${++this.#version}` } }));
  }

  #change(key: ServiceKey, change: Partial<Metadata>): void {
    const service = this.#store.services.get(key);
    if (service !== undefined) this.#put({ ...service, metadata: { ...service.metadata, ...change } });
  }

  #components(): ProviderComponents {
    return {
      clock: this.clock,
      random: () => 0.5,
      log: silentLog,
      stopped: this.#stop.signal,
      variables: {},
      mayWrite: () => true,
      ...(this.#subject.withoutMetadata === true ? {} : { serviceMetadata: (finalizer: string) => this.#metadata(finalizer) }),
    };
  }

  #metadata(finalizer: string): ServiceMetadata {
    const setFinalizers = async (key: ServiceKey, change: (before: readonly string[]) => readonly string[]): Promise<void> => {
      const service = this.#store.services.get(key);
      const before = service?.metadata.finalizers ?? [];
      const finalizers = change(before);
      if (service === undefined || finalizers.length === before.length) return;
      if (service.metadata.deleting && finalizers.length === 0) this.#notify(this.#store.remove('Service', key));
      else this.#change(key, { finalizers });
    };
    return {
      addFinalizer: (key) => setFinalizers(key, (before) => [...new Set([...before, finalizer])]),
      removeFinalizer: (key) => setFinalizers(key, (before) => before.filter((name) => name !== finalizer)),
      annotate: async (key, wanted) => {
        const before = this.#store.services.get(key)?.metadata.annotations ?? {};
        const annotations = Object.entries({ ...before, ...wanted }).filter((one): one is [string, string] => one[1] !== undefined);
        this.#change(key, { annotations: Object.fromEntries(annotations) });
        return true;
      },
    };
  }

  #writer(): StatusWriter {
    const { services } = this.#store;
    return {
      recorded: async () => ({
        addresses: new Map([...services].map(([key, { ingress }]) => [key, ingress.flatMap(({ address }) => address ?? [])] as const)),
        unreadable: new Map(),
      }),
      writeService: async (key, { ingress }) => this.#notify(this.#store.setIngress(key, ingress)),
      releaseService: async (key) => this.#notify(this.#store.setIngress(key, undefined)),
      writeObject: async () => undefined,
      removeObject: async () => undefined,
    };
  }
}

function read(manifest: object): HeraldObject {
  const { object, problems } = parseObject(manifest, { unchosen: 'left open' });
  const wrong = problems.map(({ field, message }) => `${JSON.stringify(field)} ${message}`);
  assert(object !== undefined && wrong.length === 0, `a manifest of the subject is not valid: ${wrong.join('; ')}`);
  return object;
}
