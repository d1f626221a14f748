import { originText, type ServiceKey } from '../model/objects/metadata.ts';
import type { Change, HeraldObject, KindName, Snapshot } from '../model/store/snapshot.ts';
import type { Clock } from '../system/clock.ts';
import type { HistoryCause } from './contract.ts';
import { limits } from './limits.ts';

interface RecentChange {
  readonly cause: HistoryCause;
  readonly sequence: number;
  /** By the clock's `now`. */
  readonly at: number;
}

/** NodeStates change all the time and are never a cause. */
const ignored: ReadonlySet<KindName> = new Set<KindName>(['NodeState']);

/**
 * Remembers which objects changed and were not reconciled yet, so that an event of a Service can name its likely causes. A change that
 * concerns one Service is kept with that Service; others (a pool, a peer, a Node) are kept for all Services, the latest few.
 */
export class RecentChanges {
  readonly #ofService = new Map<ServiceKey, RecentChange[]>();
  readonly #shared: RecentChange[] = [];
  /** For each Service, the position at the last `takeRecentCauses`: changes up to there were returned already. */
  readonly #taken = new Map<ServiceKey, number>();
  readonly #clock: Pick<Clock, 'now'>;
  #sequence = 0;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  recordChanges(changes: readonly Change[], snapshot: Snapshot): void {
    for (const { kind, key, services } of changes) {
      if (ignored.has(kind)) continue;
      const own = kind === 'Service' ? [key as ServiceKey] : kind === 'EndpointSlice' ? (services ?? []) : undefined;
      const change = { cause: causeOf(snapshot, kind, key, own?.[0]), sequence: ++this.#sequence, at: this.#clock.now() };
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
    const all = [...latest(this.#ofService.get(service), until), ...latest(this.#shared, until)].slice(0, limits.causes);
    return all.length === 0 ? undefined : all;
  }

  /** Returns changes that may have caused an event of a peer. */
  causesOfPeer(peer: string): readonly HistoryCause[] | undefined {
    const all = latest(this.#shared, this.#sequence).filter(({ kind, name }) => kind !== 'BGPPeer' || name === peer);
    const about = all.filter(({ kind }) => aboutPeers.has(kind)).slice(0, limits.causes);
    return about.length === 0 ? undefined : about;
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
    const [own, shared] = [recent(this.#ofService.get(service)), recent(this.#shared)];
    this.#taken.delete(service);
    bounded(this.#taken).set(service, this.#sequence);
    this.#ofService.delete(service);
    const latestOfAll = Math.max(own[0]?.at ?? 0, shared[0]?.at ?? 0);
    const all = [...together(own, own[0]?.at ?? 0), ...together(shared, latestOfAll)];
    return all.length === 0 ? undefined : all.slice(0, limits.causes).map(({ cause }) => cause);
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

const aboutPeers: ReadonlySet<string> = new Set(['BGPPeer', 'BFDProfile', 'Secret', 'HeraldConfig']);

/** Evicts the oldest key when the map is full: changes of a Service that no provider serves are never reconciled. */
function bounded<K, V>(map: Map<K, V>): Map<K, V> {
  if (map.size < limits.historyObjects) return map;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
  return map;
}

function latest(changes: readonly RecentChange[] | undefined, until: number): HistoryCause[] {
  return (changes ?? [])
    .filter(({ sequence }) => sequence <= until)
    .map(({ cause }) => cause)
    .toReversed();
}

function together(changes: readonly RecentChange[], latestAt: number): RecentChange[] {
  return changes.filter(({ at }) => latestAt - at <= limits.togetherMilliseconds);
}

/** Adds a change. An object that changed before keeps only the latest change. */
function addChange(changes: RecentChange[], one: RecentChange, most: number): void {
  const before = changes.findIndex(({ cause }) => cause.kind === one.cause.kind && cause.name === one.cause.name);
  if (before >= 0) changes.splice(before, 1);
  changes.push(one);
  if (changes.length > most) changes.shift();
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
