import { formatCommunity } from '../../decisions/announcement/communities.ts';
import { mergeRoutes } from '../../decisions/announcement/merge-routes.ts';
import type { RouteIntent } from '../../decisions/announcement/route.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Reason } from '../../model/reasons.ts';
import { comparePrefixes, formatPrefix, type Prefix } from '../../net/prefix.ts';

/** The routes of one Service, by name of the peer. */
export type RoutesByPeer = ReadonlyMap<string, readonly RouteIntent[]>;

/** Returns why a route of a Service is withdrawn; undefined when the reason is not known. Called before `replaceRoutes` returns. */
export type WhyWithdrawn = (peer: string, route: RouteIntent) => Reason | undefined;

/** Called for every `replaceRoutes`, even if no route changes. */
type RoutesObserver = (service: ServiceKey, before: RoutesByPeer, after: RoutesByPeer, why: WhyWithdrawn | undefined) => void;

export interface PeerRouteChanges {
  readonly announce: readonly RouteIntent[];
  readonly withdraw: readonly Prefix[];
}

/** When a prefix was announced to a peer with its communities. */
interface Announcement {
  /** Milliseconds of the clock. */
  readonly at: number;
  /** True when the peer had the prefix with other communities until then. */
  readonly isReplacement: boolean;
}

interface WantedPrefix {
  readonly prefix: Prefix;
  readonly byService: Map<ServiceKey, RouteIntent>;
}

/**
 * The routes that each Service announces to each peer. Several Services may announce the same prefix (a shared address, an aggregate): a
 * peer gets it once with merged attributes, and it is withdrawn when the last of them no longer announces it.
 */
export class AnnouncedRoutes {
  readonly #peers = new Map<string, Map<string, WantedPrefix>>();
  readonly #services = new Map<ServiceKey, RoutesByPeer>();
  /** When a prefix was last announced to a peer that did not have it, or had it with other communities, which routers act on. */
  readonly #announcements = new Map<string, Map<string, Announcement & { readonly communities: string }>>();
  readonly #touched = new Map<string, Map<string, Prefix>>();
  /** How many Services announce each aggregate, counted for each peer. */
  readonly #aggregates = new Map<string, { readonly prefix: Prefix; wanted: number }>();
  readonly #observe: RoutesObserver | undefined;

  constructor(observe?: RoutesObserver) {
    this.#observe = observe;
  }

  routesOf(service: ServiceKey): RoutesByPeer {
    return this.#services.get(service) ?? new Map();
  }

  /** Replaces the routes of a Service. The cost depends on the number of its own routes only. */
  replaceRoutes(service: ServiceKey, routes: RoutesByPeer, why?: WhyWithdrawn): void {
    // Two addresses of one Service may have the same aggregate.
    const merged = new Map([...routes].map(([peer, after]) => [peer, mergeRoutes(after)]));
    this.#observe?.(service, this.routesOf(service), merged, why);
    for (const [peer, before] of this.routesOf(service)) for (const route of before) this.#drop(peer, route, service);
    for (const [peer, after] of merged) for (const route of after) this.#add(peer, route, service);
    if (merged.size === 0) this.#services.delete(service);
    else this.#services.set(service, merged);
  }

  /** Withdraws the routes of a Service that are not in `wanted`. The others get its attributes. Announces no new prefix. */
  retainRoutes(service: ServiceKey, wanted: RoutesByPeer, why?: WhyWithdrawn): void {
    const left = new Map<string, readonly RouteIntent[]>();
    for (const [peer, routes] of this.routesOf(service)) {
      const present = new Set(routes.map(({ prefix }) => formatPrefix(prefix)));
      const both = (wanted.get(peer) ?? []).filter(({ prefix }) => present.has(formatPrefix(prefix)));
      if (both.length > 0) left.set(peer, both);
    }
    this.replaceRoutes(service, left, why);
  }

  /** Returns, for each peer, the changes since the last call. `now` is in milliseconds of the clock. */
  takeChanges(now: number): Map<string, PeerRouteChanges> {
    const changes = new Map<string, PeerRouteChanges>();
    for (const [peer, prefixes] of this.#touched) {
      const announce: RouteIntent[] = [];
      const withdraw: Prefix[] = [];
      for (const [key, prefix] of prefixes) {
        const wanted = this.#peers.get(peer)?.get(key);
        const announcements = getOrMake(
          this.#announcements,
          peer,
          () => new Map<string, Announcement & { readonly communities: string }>(),
        );
        if (wanted === undefined) {
          announcements.delete(key);
          withdraw.push(prefix);
          continue;
        }
        const routes = mergeRoutes(wanted.byService.values());
        const communities = routes.flatMap((route) => route.communities.map(formatCommunity)).join(' ');
        const before = announcements.get(key);
        if (before?.communities !== communities) announcements.set(key, { at: now, isReplacement: before !== undefined, communities });
        announce.push(...routes);
      }
      changes.set(peer, { announce, withdraw });
    }
    this.#touched.clear();
    return changes;
  }

  /** Returns since when a prefix is announced to a peer with its communities. Undefined: it is not. `prefix` is in text form. */
  announcement(peer: string, prefix: string): Announcement | undefined {
    return this.#announcements.get(peer)?.get(prefix);
  }

  /** Returns the Services that announce a prefix to a peer. `prefix` is in text form. */
  wantedBy(peer: string, prefix: string): Iterable<ServiceKey> {
    return this.#peers.get(peer)?.get(prefix)?.byService.keys() ?? [];
  }

  /** Returns all routes of a peer, for a new session. */
  allRoutes(peer: string): RouteIntent[] {
    return [...(this.#peers.get(peer)?.values() ?? [])].flatMap(({ byService }) => mergeRoutes(byService.values()));
  }

  /** Returns the aggregates that are announced to any peer, sorted. */
  aggregates(): Prefix[] {
    return [...this.#aggregates.values()].map(({ prefix }) => prefix).toSorted(comparePrefixes);
  }

  #add(peer: string, route: RouteIntent, service: ServiceKey): void {
    const prefixes = getOrMake(this.#peers, peer, () => new Map<string, WantedPrefix>());
    const key = formatPrefix(route.prefix);
    getOrMake(prefixes, key, () => ({ prefix: route.prefix, byService: new Map() })).byService.set(service, route);
    if (route.aggregate) getOrMake(this.#aggregates, key, () => ({ prefix: route.prefix, wanted: 0 })).wanted++;
    this.#touch(peer, key, route.prefix);
  }

  #drop(peer: string, route: RouteIntent, service: ServiceKey): void {
    const prefixes = this.#peers.get(peer);
    const key = formatPrefix(route.prefix);
    const wanted = prefixes?.get(key);
    if (prefixes === undefined || wanted === undefined) return;
    wanted.byService.delete(service);
    if (wanted.byService.size === 0) prefixes.delete(key);
    if (prefixes.size === 0) this.#peers.delete(peer);
    const aggregate = this.#aggregates.get(key);
    if (route.aggregate && aggregate !== undefined && --aggregate.wanted === 0) this.#aggregates.delete(key);
    this.#touch(peer, key, route.prefix);
  }

  #touch(peer: string, key: string, prefix: Prefix): void {
    getOrMake(this.#touched, peer, () => new Map<string, Prefix>()).set(key, prefix);
  }
}

function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const present = map.get(key);
  if (present !== undefined) return present;
  const made = make();
  map.set(key, made);
  return made;
}
