import { originText, type ServiceKey } from '../model/objects/metadata.ts';
import type { Change, HeraldObject, KindName, Snapshot } from '../model/store/snapshot.ts';
import type { Clock } from '../system/clock.ts';
import type { HistoryCause } from './contract.ts';
import { limits } from './limits.ts';

interface RecentChange {
  readonly cause: HistoryCause;
  /** The object before the first and after the last change, as far as it existed. Empty for a change of one Service. */
  readonly versions: readonly HeraldObject[];
  readonly sequence: number;
  /** By the clock's `now`. */
  readonly at: number;
}

/** NodeStates change all the time and are never a cause. */
const ignored: ReadonlySet<KindName> = new Set<KindName>(['NodeState']);

/** Whether decisions rest on an object. `versions`: the object before and after its changes. */
export interface Dependencies {
  readonly ofService: (service: ServiceKey, versions: readonly HeraldObject[], snapshot: Snapshot) => boolean;
  /** Of a node's session with the BGPPeer. */
  readonly ofPeer: (peer: string, versions: readonly HeraldObject[], snapshot: Snapshot) => boolean;
}

/**
 * Remembers which objects changed and were not reconciled yet, so that an event of a Service can name its likely causes. A change that
 * concerns one Service is kept with that Service; others (a pool, a peer, a Node) are kept for all Services, the latest few. An event names
 * those of them on which its decision rests, before or after the change.
 */
export class RecentChanges {
  readonly #ofService = new Map<ServiceKey, RecentChange[]>();
  readonly #shared: RecentChange[] = [];
  /** For each Service, the position at the last `takeRecentCauses`: changes up to there were returned already. */
  readonly #taken = new Map<ServiceKey, number>();
  readonly #clock: Pick<Clock, 'now'>;
  readonly #dependencies: Dependencies;
  /** The current versions of shared objects, by kind and key. */
  readonly #known = new Map<string, HeraldObject>();
  #snapshot: Snapshot | undefined;
  #sequence = 0;

  constructor(clock: Pick<Clock, 'now'>, dependencies: Dependencies) {
    this.#clock = clock;
    this.#dependencies = dependencies;
  }

  /** Remembers the present objects, so that a change has an earlier version. Changes of objects that it does not know appear as new objects. */
  startFrom(snapshot: Snapshot): void {
    this.#snapshot = snapshot;
    for (const [kind, key, object] of sharedObjects(snapshot)) this.#known.set(`${kind} ${key}`, object);
  }

  recordChanges(changes: readonly Change[], snapshot: Snapshot): void {
    this.#snapshot = snapshot;
    for (const { kind, key, services } of changes) {
      if (ignored.has(kind)) continue;
      const own = kind === 'Service' ? [key as ServiceKey] : kind === 'EndpointSlice' ? (services ?? []) : undefined;
      const versions = own === undefined ? this.#versionsOf(kind, key, snapshot) : [];
      const change = { cause: causeOf(snapshot, kind, key, own?.[0]), versions, sequence: ++this.#sequence, at: this.#clock.now() };
      if (own === undefined) {
        addChange(this.#shared, change, limits.sharedChanges);
        continue;
      }
      for (const service of own) {
        const before = this.#ofService.get(service);
        if (before === undefined) bounded(this.#ofService).set(service, [change]);
        else addChange(before, change, limits.causes);
      }
    }
  }

  /** The position of the latest change. */
  get position(): number {
    return this.#sequence;
  }

  /**
   * Returns changes that may have caused an event of the Service: its own objects first, the latest first. Later changes than `until` do
   * not count.
   */
  causesOf(service: ServiceKey, until = this.#sequence): readonly HistoryCause[] | undefined {
    const own = latest(this.#ofService.get(service), until);
    // A test of a dependency costs more than the rest, so no more are tested than are named.
    const shared = latest(this.#shared, until).values().filter(this.#isCauseOf(service)).take(limits.causes);
    return causesIn([...own, ...shared]);
  }

  /** Returns changes that may have caused an event of a session with the peer. */
  causesOfPeer(peer: string): readonly HistoryCause[] | undefined {
    const { ofPeer } = this.#dependencies;
    const about = this.#shared.filter(({ versions }) => this.#snapshot !== undefined && ofPeer(peer, versions, this.#snapshot));
    return causesIn(latest(about, this.#sequence));
  }

  /** Returns changes of the Node, or of the settings of all nodes. */
  causesOfNode(node: string): readonly HistoryCause[] | undefined {
    const about = this.#shared.filter(({ cause: { kind, name } }) => kind === 'HeraldConfig' || (kind === 'Node' && name === node));
    return causesIn(latest(about, this.#sequence));
  }

  #isCauseOf(service: ServiceKey): (change: RecentChange) => boolean {
    const snapshot = this.#snapshot;
    const { ofService } = this.#dependencies;
    return ({ versions }) => snapshot !== undefined && ofService(service, versions, snapshot);
  }

  /** Returns the versions before and after a change, and makes the latter the known one. */
  #versionsOf(kind: KindName, key: string, snapshot: Snapshot): HeraldObject[] {
    const name = `${kind} ${key}`;
    const [before, after] = [this.#known.get(name), objectOf(snapshot, kind, key, undefined)];
    if (after === undefined) this.#known.delete(name);
    else this.#known.set(name, after);
    return [before, after].flatMap((version) => version ?? []);
  }

  /**
   * For callers that do not know when a change was reconciled: returns the changes since the last call for the Service, if they are recent.
   * Its own objects come first, then shared ones that changed at nearly the same time as the latest change.
   */
  takeRecentCauses(service: ServiceKey): readonly HistoryCause[] | undefined {
    const taken = this.#taken.get(service) ?? 0;
    const since = this.#clock.now() - limits.causeMilliseconds;
    const recent = (changes: readonly RecentChange[] = []): RecentChange[] =>
      changes.filter(({ sequence, at }) => sequence > taken && at >= since).toReversed();
    const [own, shared] = [recent(this.#ofService.get(service)), recent(this.#shared.filter(this.#isCauseOf(service)))];
    this.#taken.delete(service);
    bounded(this.#taken).set(service, this.#sequence);
    this.#ofService.delete(service);
    const latestOfAll = Math.max(own[0]?.at ?? 0, shared[0]?.at ?? 0);
    const all = [...together(own, own[0]?.at ?? 0), ...together(shared, latestOfAll)];
    return causesIn(all);
  }

  /** Forgets the changes of a deleted Service. */
  forgetService(service: ServiceKey): void {
    this.#taken.delete(service);
    this.#ofService.delete(service);
  }

  /** Forgets the changes up to `until`, which these Services have been reconciled with. */
  markReconciled(services: Iterable<ServiceKey>, until: number): void {
    for (const service of services) {
      const left = this.#ofService.get(service)?.filter(({ sequence }) => sequence > until) ?? [];
      if (left.length === 0) this.#ofService.delete(service);
      else this.#ofService.set(service, left);
    }
    this.#shared.splice(0, this.#shared.length, ...this.#shared.filter(({ sequence }) => sequence > until));
  }
}

/** Evicts the oldest key when the map is full: changes of a Service that no provider serves are never reconciled. */
function bounded<K, V>(map: Map<K, V>): Map<K, V> {
  if (map.size < limits.historyObjects) return map;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
  return map;
}

function latest(changes: readonly RecentChange[] | undefined, until: number): RecentChange[] {
  return (changes ?? []).filter(({ sequence }) => sequence <= until).toReversed();
}

function causesIn(changes: readonly RecentChange[]): readonly HistoryCause[] | undefined {
  return changes.length === 0 ? undefined : changes.slice(0, limits.causes).map(({ cause }) => cause);
}

function together(changes: readonly RecentChange[], latestAt: number): RecentChange[] {
  return changes.filter(({ at }) => latestAt - at <= limits.togetherMilliseconds);
}

/** Adds a change. An object that changed before keeps only the latest change, with its earliest version. */
function addChange(changes: RecentChange[], one: RecentChange, most: number): void {
  const index = changes.findIndex(({ cause }) => cause.kind === one.cause.kind && cause.name === one.cause.name);
  const [before] = index < 0 ? [] : changes.splice(index, 1);
  const first = before?.versions.slice(0, 1) ?? [];
  changes.push(first.length === 0 ? one : { ...one, versions: [...first, ...one.versions.slice(-1)] });
  if (changes.length > most) changes.shift();
}

/** Lists the objects that several Services share, each with its kind and key. */
function* sharedObjects(snapshot: Snapshot): Generator<readonly [KindName, string, HeraldObject]> {
  const { nodes, namespaces, secrets, serviceCIDRs, pools, peers, advertisements, l2Advertisements } = snapshot;
  const { bfdProfiles, communities, externalIPPolicies, config } = snapshot;
  for (const objects of [nodes, namespaces, secrets, serviceCIDRs, pools, peers, advertisements, l2Advertisements])
    for (const [key, object] of objects) yield [object.kind, key, object];
  for (const objects of [bfdProfiles, communities, externalIPPolicies])
    for (const [key, object] of objects) yield [object.kind, key, object];
  yield ['HeraldConfig', config.metadata.name, config];
}

function causeOf(snapshot: Snapshot, kind: KindName, key: string, service: ServiceKey | undefined): HistoryCause {
  const object = objectOf(snapshot, kind, key, service);
  if (object === undefined) return { kind, name: key, deleted: true };
  const { origin, resourceVersion } = object.metadata;
  return { kind, name: origin === undefined ? key : originText(origin), resourceVersion };
}

/** The maps of the snapshot that have an object by its key. */
const maps = {
  Node: 'nodes',
  Namespace: 'namespaces',
  Secret: 'secrets',
  ServiceCIDR: 'serviceCIDRs',
  IPAddressPool: 'pools',
  BGPPeer: 'peers',
  BGPAdvertisement: 'advertisements',
  L2Advertisement: 'l2Advertisements',
  BFDProfile: 'bfdProfiles',
  Community: 'communities',
  ExternalIPPolicy: 'externalIPPolicies',
  NodeState: 'nodeStates',
} as const satisfies Partial<Record<KindName, keyof Snapshot>>;

function objectOf(snapshot: Snapshot, kind: KindName, key: string, service: ServiceKey | undefined): HeraldObject | undefined {
  if (kind === 'Service') return snapshot.services.get(key as ServiceKey);
  if (kind === 'HeraldConfig') return snapshot.config;
  if (kind !== 'EndpointSlice') return snapshot[maps[kind]].get(key);
  return service && snapshot.endpointSlices(service).find(({ metadata: { namespace, name } }) => `${namespace}/${name}` === key);
}
