import type { Family } from '../../net/address.ts';
import { limits } from '../../model/limits.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { topologyOf, chooseEndpoints, targetsOf } from '../forwarding/endpoints.ts';
import { uniteCommunities } from './communities.ts';
import type { PeerAnnouncement } from './peer-routes.ts';
import type { RouteCommunity, RouteIntent } from './route.ts';

/** GRACEFUL_SHUTDOWN: routers that honour it prefer every other path (RFC 8326 section 4). */
const gracefulShutdown: RouteCommunity = { kind: 'standard', value: 0xffff_0000 };

/** For routers that ignore the community: a path longer than other nodes', even where a user prepends a few ASNs there. */
const prepend = 4;

/**
 * For policy Local: returns another announcing node with ready endpoints when this node's endpoints terminate and still serve. This node
 * then stays in the routers as a last resort: new connections go to the other node, this one serves those that still arrive, and nothing is
 * lost while the other node's route is not there yet. Of several ports each must have such a node.
 *
 * `announces` is called only for nodes with a ready endpoint.
 */
export function drainsInFavourOf(
  snapshot: Snapshot,
  service: Service,
  family: Family,
  nodeName: string,
  announces: (other: string) => boolean,
): string | undefined {
  const place = topologyOf(snapshot, nodeName);
  const answers = new Map<string, boolean>();
  const announcesOnce = (other: string): boolean => {
    const answer = answers.get(other) ?? announces(other);
    answers.set(other, answer);
    return answer;
  };
  let found: string | undefined;
  for (const port of service.ports) {
    const targets = targetsOf(snapshot, service, port, family);
    const { local } = chooseEndpoints(targets, place);
    if (local.length === 0) continue;
    if (local.some(({ ready }) => ready)) return undefined;
    const other = targets.find(({ ready, nodeName: at }) => ready && at !== undefined && announcesOnce(at))?.nodeName;
    if (other === undefined) return undefined;
    found ??= other;
  }
  return found;
}

/** Returns the same routes, marked so that routers use them only without an alternative. */
export function asLastResort(peers: readonly PeerAnnouncement[]): readonly PeerAnnouncement[] {
  return peers.map(({ peer, result }) => {
    if (!('routes' in result)) return { peer, result };
    return { peer, result: { ...result, routes: result.routes.map((route) => ({ ...route, lastResort: true as const })) } };
  });
}

/** Adds the attributes of a last resort: the community, LOCAL_PREF 0 for internal peers (RFC 8326 section 4.1) and a longer path. */
export function withGracefulShutdownAttributes({ lastResort, ...route }: RouteIntent): RouteIntent {
  if (lastResort !== true) return route;
  return {
    ...route,
    communities: uniteCommunities([...route.communities, gracefulShutdown]),
    localPref: 0,
    asPathPrepend: Math.min(route.asPathPrepend + prepend, limits.asPathPrepend),
  };
}
