import { BareMetalProvider } from '../../../../providers/bare-metal/provider.ts';
import { Controller } from '../../../../src/controller/controller.ts';
import type { CompatProgram } from '../../../../src/model/reading/compat-programs.ts';
import { parseAnyObject } from '../../../../src/model/metallb/read.ts';
import { KubernetesStatusWriter } from '../../../../src/sources/kubernetes/records/status-writer.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import { config, pool } from '../../decisions/fixtures.ts';
import { FakeServices } from '../../sources/kubernetes/fake-services.ts';
import { TestSource } from '../../test-source.ts';
import { MetalLBController } from './metallb-controller.ts';

interface Event {
  readonly key: string;
  readonly object: unknown;
}

const addressesOf = (size: number): string[] => Array.from({ length: size }, (_, index) => `192.0.2.${index + 1}`);

/** Records the Services that it is asked to release. */
class NotingProvider extends BareMetalProvider {
  readonly released: string[];

  constructor(released: string[]) {
    super();
    this.released = released;
  }

  override release(key: ServiceKey, snapshot: Snapshot, now: number): ReturnType<BareMetalProvider['release']> {
    this.released.push(key);
    return super.release(key, snapshot, now);
  }
}

/** Herald's controller and MetalLB's on one API server. Each sees all changes in order, but late. */
export class TwoControllers {
  readonly server = new FakeServices();
  readonly metallb: MetalLBController;
  readonly clock = new VirtualClock();
  readonly source = new TestSource();
  /** Services that Herald's provider was asked to release. */
  readonly released: string[] = [];
  readonly #toHerald: Event[] = [];
  readonly #toMetalLB: Event[] = [];
  #compat: readonly CompatProgram[] = [];
  #controller: Controller | undefined;
  /** True while MetalLB's controller runs. When it starts, it sees every Service. */
  metallbRuns = true;

  constructor(size = 8) {
    this.metallb = new MetalLBController(this.server, addressesOf(size));
    this.server.changed = (key, object) => {
      this.#toHerald.push({ key, object });
      this.#toMetalLB.push({ key, object });
    };
    this.source.put(config({ defaultClass: false }), pool({ name: 'main', addresses: [`192.0.2.1-192.0.2.${size}`] }));
  }

  /** Changes `compat` as the source does: Services are read in the new way before HeraldConfig is on and until after it is off. */
  compat(word: 'metallb' | 'none'): void {
    const compat: readonly CompatProgram[] = word === 'none' ? [] : [word];
    const settings = config({ defaultClass: compat.length > 0, compat });
    if (compat.length === 0) this.source.put(settings);
    this.#compat = compat;
    for (const object of this.server.objects.values()) this.#show(object);
    this.source.put(settings);
  }

  create(key: string, further: { readonly loadBalancerClass?: string } = {}): void {
    const spec = { ...further, type: 'LoadBalancer', clusterIP: '10.96.0.9', clusterIPs: ['10.96.0.9'], ports: [{ port: 80 }] };
    this.server.put(key, { spec, status: {}, metadata: { generation: 1 } }, `uid-${key}-${this.server.writes.length}`);
  }

  annotate(key: string, annotations: object): void {
    const object = this.server.objects.get(key);
    if (object !== undefined) this.server.put(key, { metadata: { ...object.metadata, annotations } }, String(object.metadata['uid']));
  }

  async startHerald(): Promise<void> {
    const records = new KubernetesStatusWriter({ client: this.server, snapshot: this.source.store, clock: this.clock, log: silentLog });
    const components = { source: this.source, writer: records, clock: this.clock, random: () => 0, log: silentLog };
    this.#controller = new Controller({ ...components, providers: [new NotingProvider(this.released)] });
    await this.#controller.start();
  }

  async stopHerald(): Promise<void> {
    await this.#controller?.stop();
    this.#controller = undefined;
  }

  tellHerald(): boolean {
    const event = this.#toHerald.shift();
    if (event === undefined) return false;
    if (event.object !== undefined) this.#show(event.object);
    else this.source.atOnce(() => this.#gone(event.key));
    return true;
  }

  tellMetalLB(): boolean {
    if (!this.metallbRuns) return false;
    const event = this.#toMetalLB.shift();
    if (event !== undefined) this.metallb.see(event.key, event.object);
    return event !== undefined;
  }

  /** Lets started work continue and a little time pass. */
  async breathe(milliseconds = 200): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
    this.clock.advance(milliseconds);
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
  }

  /** Advances the clock and runs what falls due on the way at its time. */
  async wait(milliseconds: number): Promise<void> {
    for (let passed = 0; passed < milliseconds; passed += 5000) await this.breathe(5000);
  }

  /** Runs until neither controller has anything to see or to do. */
  async quiet(): Promise<void> {
    for (let calm = 0; calm < 5;) {
      const told = [this.tellHerald(), this.tellMetalLB()];
      await this.breathe();
      calm = told.includes(true) ? 0 : calm + 1;
    }
  }

  address(key: string): string | undefined {
    const status = this.server.objects.get(key)?.['status'] as { loadBalancer?: { ingress?: { ip: string }[] } } | undefined;
    return status?.loadBalancer?.ingress?.map(({ ip }) => ip).join();
  }

  addresses(): Record<string, string | undefined> {
    return Object.fromEntries([...this.server.objects.keys()].map((key) => [key, this.address(key)]));
  }

  conditions(key: string): string[] {
    const status = this.server.objects.get(key)?.['status'] as
      | { conditions?: { type: string; status: string; reason: string }[] }
      | undefined;
    return (status?.conditions ?? []).map(({ type, status, reason }) => `${type} ${status} ${reason}`);
  }

  #show(raw: unknown): void {
    const { object } = parseAnyObject(raw, { compat: this.#compat, namespace: 'metallb-system' });
    if (object !== undefined) this.source.put(object);
  }

  #gone(key: string): void {
    const service = this.source.store.services.get(key as ServiceKey);
    if (service !== undefined) this.source.remove(service);
  }
}
