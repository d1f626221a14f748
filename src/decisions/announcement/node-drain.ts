import { requestedDrain } from '../../model/kinds/requested-drain.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import { currentReport } from '../../model/objects/node-state.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { PeerAnnouncement } from './peer-routes.ts';

/** Facts about node drains that the snapshot alone does not contain. */
export interface DrainView {
  /** True when the node's settle time is over. Default: as its agent reported; the agent itself knows earlier. */
  readonly settled?: boolean;
  /** Milliseconds since the epoch, to ignore old reports of other nodes. Default: no report is too old. */
  readonly now?: number;
}

/** True when routers have had time to move to other nodes, as the node's agent reported. */
export function isDrainSettled(snapshot: Snapshot, node: string): boolean {
  const phase = snapshot.nodeStates.get(node)?.drain?.phase;
  return phase !== undefined && phase !== 'Draining';
}

/**
 * True when another node keeps announcing an address that `node` withdraws. Among nodes that drain too, one keeps announcing: the node
 * whose drain was requested last, so that no route has to come back. Nodes that drain by force do not count. `routesAt` returns what a node
 * would announce if no node drained. Every node with the same snapshot gets the same answer.
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
    const wish = requestedDrain(snapshot.config, other);
    if (wish === 'force' || (wish === 'keepLast' && !staysLonger(snapshot, name, node))) continue;
    if (isHeard(snapshot, service, name, () => routesAt(name), now)) return true;
  }
  return false;
}

/** True when routers have the node's routes: its agent is alive, a session carries them, and nothing holds them back. */
function isHeard(
  snapshot: Snapshot,
  service: Service,
  node: string,
  routes: () => readonly PeerAnnouncement[],
  now: number | undefined,
): boolean {
  const state = now === undefined ? snapshot.nodeStates.get(node) : currentReport(snapshot.nodeStates, node, now);
  // A truncated report says nothing of a Service that it does not list.
  if (state === undefined || state.problem !== undefined || state.truncated === true) return false;
  const established = new Set(state.sessions.flatMap((session) => (session.state === 'Established' ? [session.peer] : [])));
  const key = serviceKey(service.metadata);
  if (established.size === 0 || state.differing.some((difference) => difference.service === key && difference.aspect !== 'HealthCheck')) {
    return false;
  }
  return routes().some(({ peer, result }) => 'routes' in result && established.has(peer));
}

/** Of two draining nodes, true for the one whose drain was requested later. A drain that is not reported yet counts as later. */
function staysLonger(snapshot: Snapshot, node: string, than: string): boolean {
  const rank = (name: string): string => `${snapshot.nodeStates.get(name)?.drain?.since ?? '~'} ${name}`;
  return rank(node) > rank(than);
}
