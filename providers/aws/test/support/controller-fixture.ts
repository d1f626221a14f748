import { addBuiltInProviders } from '../../../../test/support/built-in-providers.ts';
import { AwsProvider } from '../../../../providers/aws/provider.ts';
import type { Cloud } from '../../../../providers/aws/cloud/cloud.ts';
import { isWrite, type Input, type Operation, type Output } from '../../../../providers/aws/cloud/operations.ts';
import { finalizer, type ServiceMetadata } from '../../../../providers/aws/model/service-metadata.ts';
import type { Pacer } from '../../../../providers/aws/sdk/pacer.ts';
import type { AwsSettings } from '../../../../providers/aws/model/settings.ts';
import { SwitchedOffAws } from '../../../../providers/aws/switched-off.ts';
import { BareMetalProvider } from '../../../../providers/bare-metal/provider.ts';
import { Controller } from '../../../../src/controller/controller.ts';
import type { RecordedStatus, ServiceStatus, StatusWriter } from '../../../../src/controller/status-writer.ts';
import { serviceKey, type Metadata, type ServiceKey } from '../../../../src/model/objects/metadata.ts';
import type { ObjectEvent } from '../../../../src/model/objects/object-event.ts';
import type { Service } from '../../../../src/model/objects/service.ts';
import type { HeraldObject } from '../../../../src/model/store/snapshot.ts';
import { formatAddress } from '../../../../src/net/address.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { FakeCloud } from '../moto/fake/cloud.ts';
import { populate } from '../moto/fake/world.ts';
import { config, pool } from '../../../../test/unit/decisions/fixtures.ts';
import { TestSource } from '../../../../test/unit/test-source.ts';
import { node, settings } from './stack-fixture.ts';

addBuiltInProviders();

/**
 * A cluster with both providers: an API server, AWS, and the controller, as one process after the other. Each effect of the controller is a
 * step before and one after it. A dead process never returns from a step.
 */
export class ControllerFixture {
  readonly cloud = new FakeCloud();
  readonly source = new TestSource();
  readonly statuses = new Map<ServiceKey, ServiceStatus>();
  readonly events: ObjectEvent[] = [];
  /** False as with manifests from a directory: there are no finalizers, and a removed Service is gone at once. */
  hasMetadata = true;
  /** The controller has --aws-cluster-name. */
  servesAws = true;
  /** AWS answers no call at all. */
  awsHangs = false;
  /** Sends the calls at AWS' rates. Absent: at once. */
  pacer: Pacer | undefined;
  /** As with an API server: what other controllers write to their Services stays. */
  leavesOthers = false;
  /** How many times the Service is changed just before the controller annotates it. */
  conflicts = 0;
  /** Steps of the processes so far, and the step at which the process dies. */
  steps = 0;
  diesAt: number | undefined;
  settings: AwsSettings = { ...settings, retireSeconds: 60, orphanSeconds: 3600 };
  #process = 0;
  #controller: Controller | undefined;
  #version = 1;

  constructor(...objects: readonly HeraldObject[]) {
    populate(this.cloud.world);
    this.source.put(
      config({ defaultClass: false }),
      node(0),
      node(1),
      pool({ name: 'main', addresses: ['192.0.2.1-192.0.2.9'] }),
      ...objects,
    );
  }

  /** Kills the running process, as SIGKILL would, and starts another one. */
  async start(): Promise<void> {
    this.kill();
    const process = this.#process;
    const { clock } = this.cloud.world;
    const aws = new AwsProvider({
      classless: 'classic',
      connect: () => Promise.resolve({ cloud: this.#cloudOf(process), settings: this.settings }),
      ...(this.hasMetadata ? { metadata: this.#metadataOf(process) } : {}),
      clock,
      random: () => 0,
      log: silentLog,
    });
    this.#controller = new Controller({
      source: this.source,
      providers: [new BareMetalProvider(), this.servesAws ? aws : new SwitchedOffAws()],
      writer: this.#writerOf(process),
      events: { record: (event) => void this.events.push(event) },
      clock,
      random: () => 0,
      log: silentLog,
    });
    await this.#controller.start();
    await this.turn();
  }

  kill(): void {
    this.#process++;
    // A dead process waits forever.
    void this.#controller?.stop();
    this.#controller = undefined;
  }

  /** Ends the running process as SIGTERM does: it waits for the work in progress. */
  async stop(): Promise<void> {
    const controller = this.#controller;
    this.#controller = undefined;
    await controller?.stop();
    this.#process++;
  }

  get hasDied(): boolean {
    return this.diesAt !== undefined && this.steps >= this.diesAt;
  }

  async run(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed += 10) {
      this.cloud.world.clock.advance(10_000);
      await this.turn();
    }
  }

  /** Runs everything that can run without time passing. */
  async turn(): Promise<void> {
    for (let turn = 0; turn < 4; turn++) await new Promise(setImmediate);
  }

  /** Applies what the owner of a Service writes. */
  apply(service: Service): ServiceKey {
    const key = serviceKey(service.metadata);
    const before = this.service(key);
    const { finalizers = [] } = before?.metadata ?? {};
    this.#put({ ...service, metadata: { ...service.metadata, finalizers }, ingress: before?.ingress ?? [] });
    return key;
  }

  /** Deletes as an API server does: the Service is gone when it has no finalizer. */
  delete(key: ServiceKey): void {
    const service = this.service(key);
    if (service === undefined) return;
    if ((service.metadata.finalizers ?? []).length === 0) this.source.remove(service);
    else this.#change(key, { deleting: true });
  }

  /** Removes the Service without a deletion: its finalizer was removed by hand, or a backup without it was restored. */
  vanish(key: ServiceKey): void {
    const service = this.service(key);
    if (service !== undefined) this.source.remove(service);
  }

  service(key: ServiceKey): Service | undefined {
    return this.source.snapshot.services.get(key);
  }

  /** The published addresses or host names. */
  ingress(key: ServiceKey): string[] {
    return (this.service(key)?.ingress ?? []).map(({ address, hostname }) =>
      address === undefined ? (hostname ?? '').replace(/-.*/, '') : formatAddress(address),
    );
  }

  condition(key: ServiceKey): string {
    const [condition] = this.statuses.get(key)?.conditions ?? [];
    return condition === undefined ? 'absent' : `${condition.status} ${condition.reason}`;
  }

  #put(service: Service): void {
    this.source.put({ ...service, metadata: { ...service.metadata, resourceVersion: `${++this.#version}` } });
  }

  #change(key: ServiceKey, change: Partial<Metadata>): void {
    const service = this.service(key);
    if (service !== undefined) this.#put({ ...service, metadata: { ...service.metadata, ...change } });
  }

  /** Never returns in a dead process. */
  async #step(process: number): Promise<void> {
    if (process === this.#process && !this.hasDied) this.steps++;
    if (process !== this.#process || this.hasDied) await new Promise(() => undefined);
  }

  async #effect<T>(process: number, effect: () => T | Promise<T>): Promise<T> {
    await this.#step(process);
    const result = await effect();
    await this.#step(process);
    return result;
  }

  #cloudOf(process: number): Cloud {
    return {
      call: async <O extends Operation>(operation: O, input: Input<O>): Promise<Output<O>> => {
        if (this.awsHangs) return new Promise<never>(() => undefined);
        if (this.pacer !== undefined) return this.pacer.send(operation, {}, () => this.cloud.call(operation, input));
        if (isWrite(operation)) return this.#effect(process, () => this.cloud.call(operation, input));
        // A process that dies while it reads leaves the same state as after its last write.
        if (process !== this.#process || this.hasDied) await new Promise(() => undefined);
        return this.cloud.call(operation, input);
      },
    };
  }

  #metadataOf(process: number): ServiceMetadata {
    const setFinalizers = (key: ServiceKey, change: (before: readonly string[]) => readonly string[]): Promise<void> =>
      this.#effect(process, () => {
        const service = this.service(key);
        const before = service?.metadata.finalizers ?? [];
        const finalizers = change(before);
        if (service === undefined || finalizers.length === before.length) return;
        if (service.metadata.deleting && finalizers.length === 0) this.source.remove(service);
        else this.#change(key, { finalizers });
      });
    return {
      addFinalizer: (key) => setFinalizers(key, (before) => [...new Set([...before, finalizer])]),
      removeFinalizer: (key) => setFinalizers(key, (before) => before.filter((name) => name !== finalizer)),
      annotate: (key, wanted) =>
        this.#effect(process, () => {
          const annotations: Record<string, string> = { ...this.service(key)?.metadata.annotations };
          for (const [name, value] of Object.entries(wanted)) {
            if (value === undefined) delete annotations[name];
            else annotations[name] = value;
          }
          if (this.conflicts-- > 0) return false;
          this.#change(key, { annotations });
          return true;
        }),
    };
  }

  #writerOf(process: number): StatusWriter {
    const { statuses, source } = this;
    return {
      recorded: async (): Promise<RecordedStatus> => ({
        addresses: new Map(
          [...source.snapshot.services].map(([key, { ingress }]) => [key, ingress.flatMap(({ address }) => address ?? [])] as const),
        ),
        conditions: new Map([...statuses].map(([key, { conditions }]) => [key, conditions])),
        unreadable: new Map(),
      }),
      writeService: (key, status) =>
        this.#effect(process, () => {
          statuses.set(key, status);
          source.record(key, status.ingress);
        }),
      releaseService: (key) =>
        this.#effect(process, () => {
          statuses.delete(key);
          source.record(key, undefined);
        }),
      ...(this.leavesOthers ? { disownService: (key) => this.#effect(process, () => void statuses.delete(key)) } : {}),
      writeObject: async () => undefined,
      removeObject: async () => undefined,
    };
  }
}
