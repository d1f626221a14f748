import type { Family } from '../../net/address.ts';
import { limits } from '../../model/limits.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { placeOf, chooseEndpoints, targetsOf } from '../forwarding/endpoints.ts';
import { uniteCommunities } from './communities.ts';
import type { PeerAnnouncement } from './peer-routes.ts';
import type { RouteCommunity, RouteIntent } from './route.ts';

/** GRACEFUL_SHUTDOWN: routers that honour it prefer every other way (RFC 8326 section 4). */
const gracefulShutdown: RouteCommunity = { kind: 'standard', value: 0xffff_0000 };

/** For those that do not: a longer path than other nodes have, also where a user makes theirs longer by a few. */
const prepend = 4;

/**
 * Under policy Local: a node whose endpoints terminate and serve, while another node that announces the address has ready ones. It stays in
 * the routers as their last resort: new connections go to the other node while the endpoints still serve those that come here, and
 * where the other node's route is not there yet, nothing is lost. Returns that node; of several ports each must have one.
 *
 * `announces` is asked of nodes with a ready endpoint only.
 */
export function yieldsTo(
  snapshot: Snapshot,
  service: Service,
  family: Family,
  nodeName: string,
  announces: (other: string) => boolean,
): string | undefined {
  const place = placeOf(snapshot, nodeName);
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

/** The same routes, as those that routers use only where they have no other. */
export function toLastResort(peers: readonly PeerAnnouncement[]): readonly PeerAnnouncement[] {
  return peers.map(({ peer, result }) => {
    if (!('routes' in result)) return { peer, result };
    return { peer, result: { ...result, routes: result.routes.map((route) => ({ ...route, lastResort: true as const })) } };
  });
}

/** The route with the attributes that it is sent with: the community, LOCAL_PREF 0 for internal peers (RFC 8326 section 4.1), a longer path. */
export function asSent({ lastResort, ...route }: RouteIntent): RouteIntent {
  if (lastResort !== true) return route;
  return {
    ...route,
    communities: uniteCommunities([...route.communities, gracefulShutdown]),
    localPref: 0,
    asPathPrepend: Math.min(route.asPathPrepend + prepend, limits.asPathPrepend),
  };
}
