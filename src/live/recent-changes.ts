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

/** Reports of agents, which come all the time. */
const silent: ReadonlySet<KindName> = new Set<KindName>(['NodeState']);

/**
 * Which objects have changed and not been acted upon yet, so that what then happens to a Service can name them. An object that concerns one Service is
 * remembered with it, others (a pool, a peer, a Node) for all, the latest few.
 */
export class RecentChanges {
  readonly #ofService = new Map<ServiceKey, RecentChange[]>();
  readonly #shared: RecentChange[] = [];
  /** What `lately` was asked last, of each Service: what was heard by then is taken. */
  readonly #taken = new Map<ServiceKey, number>();
  readonly #clock: Pick<Clock, 'now'>;
  #sequence = 0;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  recordChanges(changes: readonly Change[], snapshot: Snapshot): void {
    for (const { kind, key, services } of changes) {
      if (silent.has(kind)) continue;
      const own = kind === 'Service' ? [key as ServiceKey] : kind === 'EndpointSlice' ? (services ?? []) : undefined;
      const heard = { cause: causeOf(snapshot, kind, key, own?.[0]), sequence: ++this.#sequence, at: this.#clock.now() };
      if (own === undefined) {
        add(this.#shared, heard, limits.sharedChanges);
        continue;
      }
      for (const service of own) {
        const before = this.#ofService.get(service);
        if (before === undefined) bounded(this.#ofService).set(service, [heard]);
        else add(before, heard, limits.causes);
      }
    }
  }

  /** Everything that was heard by now. */
  get position(): number {
    return this.#sequence;
  }

  /** What may have made something happen to the Service: its own first, and the latest. `mark`: what was heard later did not. */
  causesOf(service: ServiceKey, mark = this.#sequence): readonly HistoryCause[] | undefined {
    const all = [...latest(this.#ofService.get(service), mark), ...latest(this.#shared, mark)].slice(0, limits.causes);
    return all.length === 0 ? undefined : all;
  }

  /** What may have made something happen to a peer. */
  causesOfPeer(peer: string): readonly HistoryCause[] | undefined {
    const all = latest(this.#shared, this.#sequence).filter(({ kind, name }) => kind !== 'BGPPeer' || name === peer);
    const about = all.filter(({ kind }) => aboutPeers.has(kind)).slice(0, limits.causes);
    return about.length === 0 ? undefined : about;
  }

  /**
   * For who does not know when a change was acted upon: what changed since this was asked of the Service before, and a short while ago. Its own
   * objects first, then those that changed with the latest of all.
   */
  takeRecentCauses(service: ServiceKey): readonly HistoryCause[] | undefined {
    const taken = this.#taken.get(service) ?? 0;
    const since = this.#clock.now() - limits.causeMilliseconds;
    const recent = (heard: readonly RecentChange[] = []): RecentChange[] =>
      heard.filter(({ sequence, at }) => sequence > taken && at >= since).toReversed();
    const [own, shared] = [recent(this.#ofService.get(service)), recent(this.#shared)];
    this.#taken.delete(service);
    bounded(this.#taken).set(service, this.#sequence);
    this.#ofService.delete(service);
    const latestOfAll = Math.max(own[0]?.at ?? 0, shared[0]?.at ?? 0);
    const all = [...together(own, own[0]?.at ?? 0), ...together(shared, latestOfAll)];
    return all.length === 0 ? undefined : all.slice(0, limits.causes).map(({ cause }) => cause);
  }

  /** The Service is gone. */
  forgetService(service: ServiceKey): void {
    this.#taken.delete(service);
    this.#ofService.delete(service);
  }

  /** What was heard up to the mark was acted upon, for these Services. */
  markReconciled(services: Iterable<ServiceKey>, mark: number): void {
    for (const service of services) {
      const left = this.#ofService.get(service)?.filter(({ sequence }) => sequence > mark) ?? [];
      if (left.length === 0) this.#ofService.delete(service);
      else this.#ofService.set(service, left);
    }
    this.#shared.splice(0, this.#shared.length, ...this.#shared.filter(({ sequence }) => sequence > mark));
  }
}

const aboutPeers: ReadonlySet<string> = new Set(['BGPPeer', 'BFDProfile', 'Secret', 'HeraldConfig']);

/** What is not acted upon is forgotten at last: of a Service that nobody serves. */
function bounded<K, V>(map: Map<K, V>): Map<K, V> {
  const [oldest] = map.keys();
  if (oldest !== undefined && map.size >= limits.historyObjects) map.delete(oldest);
  return map;
}

function latest(heard: readonly RecentChange[] | undefined, mark: number): HistoryCause[] {
  return (heard ?? [])
    .filter(({ sequence }) => sequence <= mark)
    .map(({ cause }) => cause)
    .toReversed();
}

function together(heard: readonly RecentChange[], latestAt: number): RecentChange[] {
  return heard.filter(({ at }) => latestAt - at <= limits.togetherMilliseconds);
}

/** An object that changes twice is remembered as it was last. */
function add(heard: RecentChange[], one: RecentChange, most: number): void {
  const before = heard.findIndex(({ cause }) => cause.kind === one.cause.kind && cause.name === one.cause.name);
  if (before >= 0) heard.splice(before, 1);
  heard.push(one);
  if (heard.length > most) heard.shift();
}

function causeOf(snapshot: Snapshot, kind: KindName, key: string, service: ServiceKey | undefined): HistoryCause {
  const object = objectOf(snapshot, kind, key, service);
  if (object === undefined) return { kind, name: key, deleted: true };
  const { origin, resourceVersion } = object.metadata;
  return { kind, name: origin === undefined ? key : originText(origin), resourceVersion };
}

function objectOf(snapshot: Snapshot, kind: KindName, key: string, service: ServiceKey | undefined): HeraldObject | undefined {
  switch (kind) {
    case 'Service':
      return snapshot.services.get(key as ServiceKey);
    case 'EndpointSlice':
      return service && snapshot.endpointSlices(service).find(({ metadata: { namespace, name } }) => `${namespace}/${name}` === key);
    case 'Node':
      return snapshot.nodes.get(key);
    case 'Namespace':
      return snapshot.namespaces.get(key);
    case 'Secret':
      return snapshot.secrets.get(key);
    case 'ServiceCIDR':
      return snapshot.serviceCIDRs.get(key);
    case 'IPAddressPool':
      return snapshot.pools.get(key);
    case 'BGPPeer':
      return snapshot.peers.get(key);
    case 'BGPAdvertisement':
      return snapshot.advertisements.get(key);
    case 'BFDProfile':
      return snapshot.bfdProfiles.get(key);
    case 'Community':
      return snapshot.communities.get(key);
    case 'ExternalIPPolicy':
      return snapshot.externalIPPolicies.get(key);
    case 'HeraldConfig':
      return snapshot.config;
    case 'NodeState':
      return snapshot.nodeStates.get(key);
  }
}
