import { Reflector, type ReflectorComponents } from '../../kube/reflector.ts';
import { clusterConfig } from '../../model/default-config.ts';
import type { ServiceKey } from '../../model/metadata.ts';
import type { Change, Kind, Snapshot } from '../../model/snapshot.ts';
import { Store } from '../../model/store.ts';
import { problemText, type Source, type SourceProblem } from '../source.ts';
import { Subscribers } from '../subscribers.ts';
import { Collection, type CollectionEvents } from './collection.ts';
import { kindsOfAgent, kindsOfController, reports } from './kinds.ts';
import { limits } from './limits.ts';
import { PeerSecrets } from './peer-secrets.ts';

export interface KubernetesSourceOptions {
  /** The node whose agent reads. Undefined: the controller, which reads more. */
  readonly node?: string;
}

/** Kinds that decide which Secrets are wanted. */
const naming: ReadonlySet<Kind> = new Set<Kind>(['BGPPeer', 'Node']);

/**
 * The API server as a source of objects. `start` waits for it as long as it takes; from then on the snapshot stays whatever
 * happens to the connection, and catches up when it is back.
 */
export class KubernetesSource implements Source {
  readonly #store = new Store(clusterConfig);
  readonly #changes = new Subscribers<readonly Change[]>();
  readonly #problemListeners = new Subscribers<readonly SourceProblem[]>();
  readonly #collections: Collection[];
  readonly #reflectors: readonly Reflector[];
  readonly #secrets: PeerSecrets;
  readonly #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  #complete = false;
  /** Begins to read what other agents report, if that is still to begin. */
  #readReports: (() => Promise<void>) | undefined;

  constructor(components: ReflectorComponents, { node }: KubernetesSourceOptions = {}) {
    const events: CollectionEvents = {
      changed: (changes) => this.#changed(changes),
      problemsChanged: () => this.#problemListeners.tell(this.problems()),
    };
    const kinds = node === undefined ? kindsOfController : kindsOfAgent;
    this.#collections = kinds.map((kind) => new Collection(kind, this.#store, events));
    this.#reflectors = kinds.map(({ resource }, index) => new Reflector(resource, this.#collections[index] as Collection, components));
    if (node !== undefined) {
      this.#readReports = () => {
        const collection = new Collection(reports, this.#store, events);
        this.#collections.push(collection);
        return new Reflector(reports.resource, collection, components).run(this.#stop.signal);
      };
    }
    this.#secrets = new PeerSecrets(this.#store, node, events, components);
  }

  get snapshot(): Snapshot {
    return this.#store;
  }

  async start(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = (): void => reject(signal?.reason as Error);
    signal?.addEventListener('abort', abort, { once: true });
    const running = this.#reflectors.map((reflector) => reflector.run(this.#stop.signal));
    // A reflector rejects for a mistake of ours only, or of whoever listens: nobody catches that, and the process ends.
    this.#running = Promise.allSettled(running.map((one) => one.finally(() => undefined)));
    try {
      await Promise.race([this.#readAll(), ...running, aborted]);
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  onChange(listener: (changes: readonly Change[]) => void): () => void {
    return this.#changes.add(listener);
  }

  onProblem(listener: (problems: readonly SourceProblem[]) => void): () => void {
    return this.#problemListeners.add(listener);
  }

  problems(): readonly SourceProblem[] {
    const all = [...this.#collections.flatMap((collection) => collection.problems()), ...this.#secrets.problems()];
    const once = new Map(all.map((problem) => [problemText(problem), problem]));
    return [...once.values()].slice(0, limits.problems);
  }

  async close(): Promise<void> {
    this.#changes.clear();
    this.#problemListeners.clear();
    this.#stop.abort();
    this.#secrets.close();
    await this.#running.catch(() => undefined);
  }

  async #readAll(): Promise<void> {
    await Promise.all(this.#collections.map((collection) => collection.read));
    this.#secrets.follow();
    await this.#secrets.read();
    this.#complete = true;
  }

  #changed(changes: readonly Change[]): void {
    if (this.#complete && changes.some(({ kind }) => naming.has(kind))) this.#secrets.follow();
    if (this.#readReports !== undefined && changes.some((change) => this.#needsReports(change))) {
      const reading = this.#readReports();
      this.#readReports = undefined;
      this.#running = Promise.allSettled([this.#running, reading.finally(() => undefined)]);
    }
    this.#changes.tell(changes);
  }

  /** Direct server return is decided by what all nodes report. Each report is written twice a minute: nobody reads them without need. */
  #needsReports({ kind, key }: Change): boolean {
    if (kind === 'HeraldConfig') return this.#store.config.directReturn;
    return kind === 'Service' && this.#store.services.get(key as ServiceKey)?.directReturn === true;
  }
}
