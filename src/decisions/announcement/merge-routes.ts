import { defined } from '../../lang/defined.ts';
import { comparePrefixes, formatPrefix } from '../../net/prefix.ts';
import { uniteCommunities } from './communities.ts';
import type { ServiceAnnouncement } from './decision.ts';
import { mergeLinkBandwidths } from './next-hops/link-bandwidth.ts';
import type { RouteIntent } from './route.ts';

/**
 * Merges the routes of any number of Services to one peer: one route for each prefix, sorted. Services meet on a prefix when they share an
 * address or an aggregate. Independent of their order, communities are united, and the highest localPref, the lowest med and the longest
 * prepend win; a set value wins over an absent one. Link bandwidths: `mergeLinkBandwidths`. The result is a last resort only when all are.
 */
export function mergeRoutes(routes: Iterable<RouteIntent>): RouteIntent[] {
  const byPrefix = new Map<string, RouteIntent>();
  for (const route of routes) {
    const key = formatPrefix(route.prefix);
    const other = byPrefix.get(key);
    byPrefix.set(key, other === undefined ? route : mergeTwo(other, route));
  }
  return [...byPrefix.values()].sort((a, b) => comparePrefixes(a.prefix, b.prefix));
}

/** Merges the routes of several Services by peer name. Peers without routes are absent. */
export function routesByPeer(announcements: Iterable<ServiceAnnouncement>): ReadonlyMap<string, readonly RouteIntent[]> {
  const peers = [...announcements].flatMap(({ addresses }) => addresses.flatMap(({ result }) => (result.announce ? result.peers : [])));
  const routes = peers.flatMap(({ peer, result }) => ('routes' in result ? result.routes.map((route) => ({ peer, route })) : []));
  const byPeer = Map.groupBy(routes, ({ peer }) => peer);
  return new Map([...byPeer].map(([peer, group]) => [peer, mergeRoutes(group.map(({ route }) => route))]));
}

function mergeTwo(a: RouteIntent, b: RouteIntent): RouteIntent {
  const localPref = ofBoth(a.localPref, b.localPref, Math.max);
  const med = ofBoth(a.med, b.med, Math.min);
  const linkBandwidth = mergeLinkBandwidths(a.linkBandwidth, b.linkBandwidth);
  return {
    prefix: a.prefix,
    communities: uniteCommunities([...a.communities, ...b.communities]),
    ...defined({ localPref, med, linkBandwidth }),
    asPathPrepend: Math.max(a.asPathPrepend, b.asPathPrepend),
    aggregate: a.aggregate,
    ...(a.lastResort === true && b.lastResort === true ? { lastResort: true as const } : {}),
  };
}

function ofBoth(a: number | undefined, b: number | undefined, choose: (a: number, b: number) => number): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return choose(a, b);
}
