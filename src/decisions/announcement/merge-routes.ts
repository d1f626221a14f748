import type { ServiceAnnouncement } from './decision.ts';
import type { RouteIntent } from './route.ts';

/** Routes to one peer, from any number of Services: one for each prefix, sorted. The order of `routes` does not matter. */
export function mergeRoutes(routes: Iterable<RouteIntent>): RouteIntent[] {
  return [...routes];
}

/** The routes of several Services by name of the peer, merged. Peers without routes are absent. */
export function routesByPeer(announcements: Iterable<ServiceAnnouncement>): ReadonlyMap<string, readonly RouteIntent[]> {
  void announcements;
  return new Map();
}
