import { BareMetalProvider } from '../../../providers/bare-metal/provider.ts';
import { Controller } from '../../../src/controller/controller.ts';
import type { Condition, RecordedStatus, ServiceStatus, StatusWriter } from '../../../src/controller/status-writer.ts';
import { peersOfNode } from '../../../src/decisions/announcement/peers.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { NodeState, SessionStatus } from '../../../src/model/objects/node-state.ts';
import { parseObject } from '../../../src/model/parse.ts';
import { objectKey } from '../../../src/model/store/store.ts';
import type { HeraldObject, Snapshot } from '../../../src/model/store/snapshot.ts';
import { silentLog } from '../../../src/system/log.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import type { Manifest } from '../../lab/diagnosis/objects.ts';
import { metadata } from '../decisions/fixtures.ts';
import { TestSource } from '../test-source.ts';

/** A controller over manifests, and for each Node with an InternalIP a report that all its sessions are up. Time is virtual. */
export class Cluster {
  readonly #source = new TestSource();
  readonly #clock = new VirtualClock();
  readonly #files = new Map<string, readonly HeraldObject[]>();
  readonly #writer = new Recorder(this.#source);
  #controller: Controller | undefined;

  get snapshot(): Snapshot {
    return this.#source.snapshot;
  }

  /** Milliseconds since the epoch. */
  get now(): number {
    return this.#clock.date().getTime();
  }

  /** Replaces the objects of a file. */
  write(file: string, manifests: readonly Manifest[]): void {
    const objects = manifests.map((raw) => {
      const { object, problems } = parseObject(raw);
      if (object === undefined) throw new Error(`${JSON.stringify(raw)}: ${JSON.stringify(problems)}`);
      return object;
    });
    const kept = new Set(objects.map(nameOf));
    this.#source.atOnce(() => {
      for (const object of this.#files.get(file) ?? []) if (!kept.has(nameOf(object))) this.#source.remove(object);
      this.#source.put(...objects);
    });
    this.#files.set(file, objects);
  }

  async start(): Promise<void> {
    const components = { source: this.#source, providers: [new BareMetalProvider()], writer: this.#writer };
    this.#controller = new Controller({ ...components, clock: this.#clock, random: () => 0, log: silentLog });
    this.#report();
    await this.#controller.start();
    await this.#controller.settled();
  }

  /** Lets time pass in steps of 10 s. Nodes report in each. */
  async advance(milliseconds: number): Promise<void> {
    for (let left = milliseconds; left > 0; left -= 10_000) {
      this.#clock.advance(Math.min(10_000, left));
      this.#report();
      await this.#controller?.settled();
    }
  }

  condition(service: ServiceKey, type: string): Condition | undefined {
    return this.#writer.statuses.get(service)?.conditions.find((one) => one.type === `herald.dev/${type}`);
  }

  async stop(): Promise<void> {
    await this.#controller?.stop();
  }

  #report(): void {
    for (const {
      metadata: { name },
      internalIPs,
    } of this.snapshot.nodes.values()) {
      if (internalIPs.length > 0) this.#source.put(healthyReport(this.snapshot, name, this.#clock.date().toISOString()));
    }
  }
}

const nameOf = (object: HeraldObject): string => `${object.kind} ${objectKey(object)}`;

function healthyReport(snapshot: Snapshot, node: string, updated: string): NodeState {
  const sessions = peersOfNode(snapshot, node).map(({ peer }): SessionStatus => {
    return { peer, address: '', state: 'Established', since: '', localASN: 64_512, peerASN: 65_101, prefixesSent: 1 };
  });
  return { kind: 'NodeState', metadata: metadata(node), updated, consumed: { Service: '1' }, sessions, differing: [] };
}

/** Stores statuses as a directory does, and reports them to the source. */
class Recorder implements StatusWriter {
  readonly statuses = new Map<ServiceKey, ServiceStatus>();
  readonly #source: TestSource;

  constructor(source: TestSource) {
    this.#source = source;
  }

  async recorded(): Promise<RecordedStatus> {
    return { addresses: new Map(), unreadable: new Map() };
  }

  async writeService(key: ServiceKey, status: ServiceStatus): Promise<void> {
    this.statuses.set(key, status);
    this.#source.record(key, status.ingress, status.conditions);
  }

  async releaseService(key: ServiceKey): Promise<void> {
    this.statuses.delete(key);
    this.#source.record(key, undefined);
  }

  async writeObject(): Promise<readonly Condition[]> {
    return [];
  }

  async removeObject(): Promise<void> {
    // Records of configuration objects are not kept.
  }
}
