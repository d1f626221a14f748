import type { RawObject } from '../../kube/raw-object.ts';
import type { ReflectorComponents } from '../../kube/reflector/reflector.ts';
import { clusterConfig } from '../../model/kinds/default-config.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { requestedDrain } from '../../model/kinds/requested-drain.ts';
import { MergedObjects } from '../../model/metallb/merge.ts';
import { parseAnyObject, readsMetalLB, type ReadingMode } from '../../model/metallb/read.ts';
import { parseObject, type ParseOptions, type ParseResult } from '../../model/parse.ts';
import type { Change, KindName, Snapshot } from '../../model/store/snapshot.ts';
import { Store } from '../../model/store/store.ts';
import { shadowProblems } from '../shadow-problems.ts';
import { problemText, type KeptObject, type Source, type SourceProblem } from '../source.ts';
import { Subscribers } from '../subscribers.ts';
import { AgentPods } from './collections/agent-pods.ts';
import { Collection, type CollectionEvents } from './collections/collection.ts';
import { CompatModeSwitch } from './collections/compat-mode-switch.ts';
import { ConfigWaiter } from './collections/config-waiter.ts';
import { WatchedCollection } from './collections/watched-collection.ts';
import {
  configKind,
  kindsOfAgent,
  kindsOfController,
  kindsOfMetalLB,
  reports,
  serviceKind,
  type WatchedKind,
} from './collections/watched-kinds.ts';
import { limits } from './limits.ts';
import { PeerSecrets } from './collections/peer-secrets.ts';
import { PermittedCollection } from './collections/permitted-collection.ts';

export interface KubernetesSourceOptions {
  /** The node whose agent reads. Undefined for the controller, which reads more. */
  readonly node?: string;
  /**
   * Only a HeraldConfig's settings count, never the defaults: reading waits for the first HeraldConfig, and a deleted one stays in force.
   */
  readonly waitForConfig?: boolean;
  /** The namespace with the Pods of agents. Absent: reports tell by their age whether their agents live. */
  readonly agentNamespace?: string;
}

/** Kinds that decide which Secrets are read. */
const naming: ReadonlySet<KindName> = new Set<KindName>(['BGPPeer', 'Node']);

/** Operators who have not applied the RBAC of the component still get addresses. */
const metallbRefusal = { about: '', fix: 'apply manifests/components/metallb, or take metallb out of compat in HeraldConfig' };

/**
 * The API server as a source of objects. `start` waits for it as long as necessary. Afterwards the snapshot survives any loss of the
 * connection and catches up when it is back.
 */
export class KubernetesSource implements Source {
  readonly #store = new Store(clusterConfig);
  readonly #objects = new MergedObjects(this.#store);
  readonly #changes = new Subscribers<readonly Change[]>();
  readonly #problemListeners = new Subscribers<readonly SourceProblem[]>();
  readonly #components: ReflectorComponents;
  readonly #events: CollectionEvents;
  readonly #gate: CompatModeSwitch;
  readonly #config: WatchedCollection;
  readonly #presence: ConfigWaiter;
  readonly #services: WatchedCollection;
  readonly #others: WatchedCollection[];
  /** Present only while HeraldConfig asks for it. */
  #metallb: readonly WatchedCollection[] = [];
  /** How Services are read at present. */
  #mode: ReadingMode;
  readonly #secrets: PeerSecrets;
  #complete = false;
  #closed = false;
  /** The Pods of agents, which are read together with their reports. */
  readonly #agentPods: AgentPods | undefined;
  /** Agents' reports, while they still have to be read. */
  #reports: WatchedCollection | undefined;
  /** The node whose agent reads. */
  readonly #node: string | undefined;

  constructor(components: ReflectorComponents, { node, waitForConfig = false, agentNamespace }: KubernetesSourceOptions = {}) {
    this.#components = components;
    this.#node = node;
    this.#events = {
      now: () => components.clock.date().getTime(),
      changed: (changes) => this.#changed(changes),
      problemsChanged: () => this.#problemListeners.notify(this.problems()),
    };
    this.#gate = new CompatModeSwitch(this.#store, {
      read: (mode) => this.#readAs(mode),
      changed: (changes) => {
        if (changes.length > 0 && !this.#closed) this.#changed(changes);
      },
    });
    this.#mode = this.#gate.mode;
    const options: ParseOptions = { unknownFields: 'warned of', ...(node === undefined ? {} : { forAgent: true }) };
    const parse = (raw: RawObject): ParseResult => parseObject(raw, options);
    const follow = (kind: WatchedKind): WatchedCollection =>
      new WatchedCollection(kind, new Collection(kind, this.#objects, this.#events, parse), components);
    const { now, problemsChanged } = this.#events;
    this.#presence = new ConfigWaiter(this.#gate, { required: waitForConfig, now, changed: problemsChanged });
    this.#config = new WatchedCollection(configKind, new Collection(configKind, this.#presence, this.#events), components);
    const services = new Collection(serviceKind, this.#objects, this.#events, (raw) => parseAnyObject(raw, this.#mode, options));
    this.#services = new WatchedCollection(serviceKind, services, components);
    this.#others = (node === undefined ? kindsOfController : kindsOfAgent).map(follow);
    if (node !== undefined) this.#reports = follow(reports);
    if (agentNamespace !== undefined) this.#agentPods = new AgentPods(this.#store, agentNamespace, this.#events, components);
    this.#secrets = new PeerSecrets(this.#store, node, this.#events, components);
  }

  get snapshot(): Snapshot {
    return this.#store;
  }

  async start(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = (): void => reject(signal?.reason as Error);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      await Promise.race([this.#config.begin(), this.#config.collection.read, aborted]);
      await Promise.race([this.#presence.begin(), aborted]);
      this.#gate.close();
      this.#mode = this.#gate.mode;
      this.#followMetalLB();
      if (this.#node === undefined) this.#agentPods?.begin();
      const running = [this.#services, ...this.#others].map((followed) => followed.begin());
      await Promise.race([this.#readAll(), ...running, aborted]);
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  missingPrerequisite(): string | undefined {
    return this.#presence.missingPrerequisite();
  }

  onChange(listener: (changes: readonly Change[]) => void): () => void {
    return this.#changes.subscribe(listener);
  }

  onProblem(listener: (problems: readonly SourceProblem[]) => void): () => void {
    return this.#problemListeners.subscribe(listener);
  }

  problems(): readonly SourceProblem[] {
    const all = [
      ...this.#followed().flatMap(({ collection }) => collection.problems()),
      ...this.#presence.problems(),
      ...this.#secrets.problems(),
      ...(this.#agentPods?.problems() ?? []),
      ...shadowProblems(this.#objects),
    ];
    const once = new Map(all.map((problem) => [problemText(problem), problem]));
    // Errors come first, so that many warnings do not hide an unusable object.
    const errorsFirst = [...once.values()].toSorted((a, b) => Number(a.severity === 'warning') - Number(b.severity === 'warning'));
    return errorsFirst.slice(0, limits.problems);
  }

  kept(): readonly KeptObject[] {
    return [...this.#followed().flatMap(({ collection }) => collection.kept()), ...this.#presence.kept()];
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#changes.clear();
    this.#problemListeners.clear();
    this.#secrets.close();
    await Promise.allSettled([...this.#followed().map((followed) => followed.close()), this.#agentPods?.end()]);
  }

  #followed(): WatchedCollection[] {
    return [this.#config, this.#services, ...this.#others, ...this.#metallb];
  }

  async #readAll(): Promise<void> {
    await Promise.all(this.#followed().map(({ collection }) => collection.read));
    // Reports may be among them by now: a draining node resumes where its own report says it was.
    await Promise.all(this.#others.map(({ collection }) => collection.read));
    if (this.#node === undefined || this.#reports === undefined) await this.#agentPods?.read;
    this.#secrets.follow();
    await this.#secrets.read();
    this.#complete = true;
  }

  async #readAs(mode: ReadingMode): Promise<void> {
    this.#mode = mode;
    const before = this.#metallb;
    await Promise.all(before.map((followed) => followed.end()));
    this.#metallb = [];
    for (const { collection } of before) collection.clear();
    if (this.#closed) return;
    this.#followMetalLB();
    await Promise.all([this.#services.relist(), ...this.#metallb.map(({ collection }) => collection.read)]);
  }

  #followMetalLB(): void {
    if (this.#closed || !readsMetalLB(this.#mode)) return;
    const { namespace } = this.#mode;
    this.#metallb = kindsOfMetalLB(namespace).map((kind) => {
      const parse = (raw: RawObject): ParseResult => parseAnyObject(raw, this.#mode);
      return new WatchedCollection(
        kind,
        new PermittedCollection(kind, this.#objects, this.#events, metallbRefusal, parse),
        this.#components,
      );
    });
    for (const followed of this.#metallb) void followed.begin();
  }

  #changed(changes: readonly Change[]): void {
    // Nothing may begin any more.
    if (this.#closed) return;
    if (this.#complete && changes.some(({ kind }) => naming.has(kind))) this.#secrets.follow();
    if (this.#reports !== undefined && changes.some((change) => this.#needsReports(change))) {
      void this.#reports.begin();
      this.#agentPods?.begin();
      this.#others.push(this.#reports);
      this.#reports = undefined;
    }
    this.#changes.notify(changes);
  }

  /**
   * Direct server return, L2Advertisements and `maxNextHops` need all nodes' reports, and so does the decision whether a draining node may
   * withdraw. Each report concerns one node, so they are read only when needed.
   */
  #needsReports({ kind, key }: Change): boolean {
    const { config, nodes, advertisements } = this.#store;
    if (kind === 'L2Advertisement') return true;
    if (kind === 'BGPAdvertisement') return advertisements.get(key)?.maxNextHops !== undefined;
    if (kind === 'HeraldConfig' && config.directReturn) return true;
    if (kind === 'HeraldConfig' || (kind === 'Node' && key === this.#node)) {
      const own = nodes.get(this.#node ?? '');
      return own !== undefined && requestedDrain(config, own) !== undefined;
    }
    return kind === 'Service' && this.#store.services.get(key as ServiceKey)?.directReturn === true;
  }
}
