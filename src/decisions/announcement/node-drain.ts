import { drainWish } from '../../model/kinds/requested-drain.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import { currentReport } from '../../model/objects/node-state.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { PeerAnnouncement } from './peer-routes.ts';

/** What the snapshot alone does not tell of the drain of nodes. */
export interface DrainView {
  /** Whether the settle time of the node is over. Default: as its agent reported. The agent itself knows it earlier. */
  readonly settled?: boolean;
  /** Milliseconds since the epoch, by which reports of other nodes are too old to count. Default: none is. */
  readonly now?: number;
}

/** Whether routers have had the time to turn to other nodes, as the agent of the node reported. */
export function isSettled(snapshot: Snapshot, node: string): boolean {
  const phase = snapshot.nodeStates.get(node)?.drain?.phase;
  return phase !== undefined && phase !== 'Draining';
}

/**
 * Whether another node goes on announcing an address when `node` withdraws it. Of nodes that are drained as well, one is to stay: that which
 * was asked last, so that none comes back for it; nodes that are drained by force do not count. `routesAt`: what a node would announce of
 * the address if nobody were drained. The same on every node that has the same snapshot.
 */
export function isAnnouncedElsewhere(
  snapshot: Snapshot,
  service: Service,
  node: string,
  routesAt: (node: string) => readonly PeerAnnouncement[],
  now?: number,
): boolean {
  for (const [name, other] of snapshot.nodes) {
    if (name === node) continue;
    const wish = drainWish(snapshot.config, other);
    if (wish === 'force' || (wish === 'keepLast' && !staysLonger(snapshot, name, node))) continue;
    if (isHeard(snapshot, service, name, () => routesAt(name), now)) return true;
  }
  return false;
}

/** Whether routers have the routes of a node: its agent lives, has a session that they go to, and nothing holds them back. */
function isHeard(
  snapshot: Snapshot,
  service: Service,
  node: string,
  routes: () => readonly PeerAnnouncement[],
  now: number | undefined,
): boolean {
  const state = now === undefined ? snapshot.nodeStates.get(node) : currentReport(snapshot.nodeStates, node, now);
  // Of a Service that a report which was cut does not list, nothing is known.
  if (state === undefined || state.problem !== undefined || state.truncated === true) return false;
  const established = new Set(state.sessions.flatMap((session) => (session.state === 'Established' ? [session.peer] : [])));
  const key = serviceKey(service.metadata);
  if (established.size === 0 || state.differing.some((difference) => difference.service === key && difference.aspect !== 'HealthCheck')) {
    return false;
  }
  return routes().some(({ peer, result }) => 'routes' in result && established.has(peer));
}

/** Of two nodes that are drained, the one that was asked later; what has not been reported yet is later. */
function staysLonger(snapshot: Snapshot, node: string, than: string): boolean {
  const rank = (name: string): string => `${snapshot.nodeStates.get(name)?.drain?.since ?? '~'} ${name}`;
  return rank(node) > rank(than);
}
