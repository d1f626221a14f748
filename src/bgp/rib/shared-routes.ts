import { formatPrefix, type Prefix } from '../../net/prefix.ts';
import type { Route } from '../route.ts';

/** The part of an Adj-RIB-Out that sets the desired routes of a peer. */
export interface DesiredRoutes {
  replaceRoutes(routes: Iterable<Route>): void;
  announce(route: Route): void;
  withdraw(prefix: Prefix): void;
  /** Tells whether a route of the prefix is desired, also when it cannot be sent. */
  desires(prefix: Prefix): boolean;
}

/** Routes for all peers of a speaker, including peers that are added later. A peer's own route of a prefix takes precedence. */
export class SharedRoutes {
  readonly #routes = new Map<string, Route>();
  readonly #peers = new Set<PeerRouteSet>();
  #complete = false;

  /** True once the full list of routes was given. */
  get complete(): boolean {
    return this.#complete;
  }

  get size(): number {
    return this.#routes.size;
  }

  get(prefix: Prefix): Route | undefined {
    return this.#routes.get(formatPrefix(prefix));
  }

  routes(): Iterable<Route> {
    return this.#routes.values();
  }

  /** Makes these the routes, exactly. If a prefix comes twice, the last route counts. */
  replaceRoutes(routes: readonly Route[]): void {
    const next = new Set(routes.map(({ prefix }) => formatPrefix(prefix)));
    for (const [key, { prefix }] of this.#routes) if (!next.has(key)) this.withdraw(prefix);
    for (const route of routes) this.announce(route);
    this.#complete = true;
  }

  announce(route: Route): void {
    this.#routes.set(formatPrefix(route.prefix), route);
    for (const peer of this.#peers) peer.announceShared(route);
  }

  withdraw(prefix: Prefix): void {
    if (!this.#routes.delete(formatPrefix(prefix))) return;
    for (const peer of this.#peers) peer.withdrawShared(prefix);
  }

  addPeer(peer: PeerRouteSet): void {
    this.#peers.add(peer);
    for (const route of this.#routes.values()) peer.announceShared(route);
  }

  removePeer(peer: PeerRouteSet): void {
    this.#peers.delete(peer);
  }
}

/**
 * The desired routes of one peer: its own routes, and the shared ones for all other prefixes. Only prefixes from the shared routes are
 * remembered, so a peer with only own routes needs no memory here.
 */
export class PeerRouteSet {
  readonly #shared: SharedRoutes;
  readonly #rib: DesiredRoutes;
  readonly #changed: () => void;
  readonly #fromShared = new Set<string>();

  /** `changed` is called whenever the RIB may have changed. */
  constructor(shared: SharedRoutes, rib: DesiredRoutes, changed: () => void) {
    this.#shared = shared;
    this.#rib = rib;
    this.#changed = changed;
    shared.addPeer(this);
  }

  /** Makes these the peer's own routes, exactly. */
  replaceRoutes(routes: Iterable<Route>): void {
    this.#fromShared.clear();
    this.#changed();
    if (this.#shared.size === 0) {
      this.#rib.replaceRoutes(routes);
      return;
    }
    const all = [...routes];
    const own = new Set(all.map(({ prefix }) => formatPrefix(prefix)));
    for (const route of this.#shared.routes()) {
      const key = formatPrefix(route.prefix);
      if (own.has(key)) continue;
      this.#fromShared.add(key);
      all.push(route);
    }
    this.#rib.replaceRoutes(all);
  }

  announce(route: Route): void {
    if (this.#fromShared.size > 0) this.#fromShared.delete(formatPrefix(route.prefix));
    this.#rib.announce(route);
    this.#changed();
  }

  /** Withdraws the peer's own route. A shared route of the prefix takes its place. */
  withdraw(prefix: Prefix): void {
    this.#changed();
    const shared = this.#shared.size === 0 ? undefined : this.#shared.get(prefix);
    if (shared === undefined) {
      this.#rib.withdraw(prefix);
      return;
    }
    this.#fromShared.add(formatPrefix(prefix));
    this.#rib.announce(shared);
  }

  /** Called by the shared routes. */
  announceShared(route: Route): void {
    const key = formatPrefix(route.prefix);
    if (!this.#fromShared.has(key) && this.#rib.desires(route.prefix)) return;
    this.#fromShared.add(key);
    this.#rib.announce(route);
    this.#changed();
  }

  /** Called by the shared routes. */
  withdrawShared(prefix: Prefix): void {
    if (!this.#fromShared.delete(formatPrefix(prefix))) return;
    this.#rib.withdraw(prefix);
    this.#changed();
  }

  /** Ends the subscription to the shared routes, because the peer was removed. */
  close(): void {
    this.#shared.removePeer(this);
  }
}
