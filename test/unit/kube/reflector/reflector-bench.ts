import { setTimeout as pause } from 'node:timers/promises';
import { KubeClient } from '../../../../src/kube/client/client.ts';
import type { WatchObserver } from '../../../../src/kube/client/client-observer.ts';
import type { KubeError } from '../../../../src/kube/error.ts';
import { objectMeta } from '../../../../src/kube/format/protobuf/kinds/object-meta.ts';
import { message } from '../../../../src/kube/format/protobuf/message.ts';
import type { ObjectTable } from '../../../../src/kube/format/protobuf/object-table.ts';
import { text } from '../../../../src/kube/format/protobuf/types.ts';
import type { RawObject } from '../../../../src/kube/raw-object.ts';
import { Reflector, type ReflectorSink, type Resource } from '../../../../src/kube/reflector/reflector.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { seededRandom } from '../../../../src/system/random.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { FakeApiServer } from '../fake-api-server.ts';
import { encodedObject, frame } from '../format/protobuf/encode.ts';

export const path = '/api/v1/things';

const table: ObjectTable = { kind: 'Thing', message: message({ metadata: [1, objectMeta], spec: [2, text] }) };

export const formats = ['JSON', 'protobuf'] as const;
type Format = (typeof formats)[number];

/** A reflector over a fake API server. The network is real; the test controls pauses, watchdogs and jitter. */
export class ReflectorBench implements ReflectorSink {
  readonly clock = new VirtualClock();
  readonly held = new Map<string, RawObject>();
  /** The sink's calls in order: "+name", "-name", "complete", "trouble CODE", "works". */
  readonly told: string[] = [];
  /** The observer's calls with their counts: "listed", "heard present", "failed gone", "ended". */
  readonly counted = new Map<string, number>();
  readonly server: FakeApiServer;
  /** What the client asks for, and the server can. */
  readonly #format: Format;
  readonly #stop = new AbortController();
  readonly #client: KubeClient;
  #running: Promise<void> = Promise.resolve();
  expired = 0;

  private constructor(server: FakeApiServer, format: Format) {
    this.server = server;
    this.#format = format;
    if (format === 'protobuf') server.tables.set(path, table);
    this.#client = new KubeClient(
      { server: server.url, credentials: async () => ({}), expired: () => void this.expired++ },
      { clock: this.clock },
    );
  }

  /** With objects a, b and c. */
  static async over(format: Format = 'JSON'): Promise<ReflectorBench> {
    const bench = new ReflectorBench(await FakeApiServer.start(), format);
    for (const name of ['a', 'b', 'c']) bench.server.put(path, name);
    return bench;
  }

  run(options: Partial<Resource> = {}): void {
    const components = { client: this.#client, clock: this.clock, random: seededRandom(1), log: silentLog, observer: this.#observer };
    const ofFormat = this.#format === 'protobuf' ? { table } : {};
    this.#running = new Reflector({ path, ...ofFormat, ...options }, this, components).run(this.#stop.signal);
  }

  /** Returns an event of a watch in the format. */
  event(type: string, object: Readonly<Record<string, unknown>>): Buffer {
    if (this.#format === 'JSON') return Buffer.from(`${JSON.stringify({ type, object })}\n`);
    return frame(type, encodedObject(table, object));
  }

  async watching(options: Partial<Resource> = {}): Promise<void> {
    this.run(options);
    await this.until('it watches', () => this.told.includes('complete') && this.server.watchers === 1);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    let running = true;
    this.#running.finally(() => void (running = false)).catch(() => undefined);
    await this.until('it has stopped', () => !running);
    await this.#running;
    this.#client.close();
    await this.server.stop();
  }

  get #observer(): WatchObserver {
    const count = (what: string): void => void this.counted.set(what, (this.counted.get(what) ?? 0) + 1);
    return {
      listed: () => count('listed'),
      watchEvent: (_, type) => count(`heard ${type}`),
      watchFailed: (_, code) => count(`failed ${code}`),
      watchEnded: () => count('ended'),
    };
  }

  get names(): string {
    return [...this.held.keys()].toSorted().join('');
  }

  /** Waits for the network. Time passes only when the test advances it. */
  async until(what: string, holds: () => boolean): Promise<void> {
    for (let i = 0; i < 2500; i++) {
      if (holds()) return;
      // A timer without delay runs the next turn of the event loop.
      this.clock.advance(0);
      await pause(2);
    }
    throw new Error(`never: ${what}; told ${this.told.slice(-10).join(' ')}; asked ${this.server.requests.slice(-10).join(', ')}`);
  }

  /** Waits like `until` and advances time in steps, for effects that come after a pause. */
  async untilLater(what: string, holds: () => boolean, step = 1_000): Promise<void> {
    await this.until(what, () => {
      if (holds()) return true;
      this.clock.advance(step);
      return false;
    });
  }

  present(key: string, object: RawObject): void {
    this.held.set(key, object);
    this.told.push(`+${key}`);
  }

  deleted(key: string): void {
    this.held.delete(key);
    this.told.push(`-${key}`);
  }

  flush(): void {
    // The map is all there is to keep.
  }

  complete(): void {
    this.told.push('complete');
  }

  failed(error: KubeError | undefined): void {
    this.told.push(error === undefined ? 'works' : `trouble ${error.code}`);
  }
}
