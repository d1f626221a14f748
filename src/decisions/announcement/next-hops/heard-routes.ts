import { serviceKey } from '../../../model/objects/metadata.ts';
import { currentReport } from '../../../model/objects/node-state.ts';
import type { Service } from '../../../model/objects/service.ts';
import type { ReasonCode } from '../../../model/reasons.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import type { PeerAnnouncement } from '../peer-routes.ts';

/** With these reasons packets are lost on the node, but it announces its routes. */
const announced: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['ForeignNat', 'ServiceFiltered', 'ServiceLimited', 'PassedFiltered']);

/** True when routers have the node's routes: its agent is alive, a session carries them, and nothing holds them back. */
export function isHeard(
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
  const isHeld = state.differing.some(
    ({ service: of, aspect, reason }) => of === key && aspect !== 'HealthCheck' && !announced.has(reason.code),
  );
  if (established.size === 0 || isHeld) return false;
  return routes().some(({ peer, result }) => 'routes' in result && established.has(peer));
}
