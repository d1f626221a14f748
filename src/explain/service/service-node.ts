import { wantsDirectReturn } from '../../decisions/direct-return/plan.ts';
import { decideHealthCheck } from '../../decisions/forwarding/health-check.ts';
import type { AddressView, NodeView, PeerView } from '../../decisions/verdict/node-view.ts';
import type { LiveRoute } from '../../live/contract.ts';
import { currentReport, reportAge, type DirectReturnReport } from '../../model/objects/node-state.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { isInternalPeer } from '../routes/node-announcements.ts';
import { sentRoute, type SentRoute } from '../routes/route-text.ts';
import { endpointsForNode, type NodeEndpoints } from './service-endpoints.ts';
import type { NodeSources } from '../sessions/block-source.ts';
import { sessionsOfNode, type SessionExplanation } from '../sessions/session.ts';

/** One node's work for a Service, and the reasons for what is missing. Plain data. */
export interface NodeExplanation extends Omit<NodeView, 'addresses'> {
  /** Problems of the host that the agent found. */
  readonly host: readonly Reason[];
  /** The methods of direct server return of the node. Absent: the Service does not use it, or the agent has not reported. */
  readonly directReturn?: Pick<DirectReturnReport, 'receives' | 'passes'>;
  /** Age of the last report; absent: there is none. */
  readonly reportedSecondsAgo?: number;
  /** Where each block comes from: the agent's answer of this moment, its last report, or the decisions alone. */
  readonly source?: NodeSources;
  /** Where the traffic of each family goes. Absent: the node forwards nothing. */
  readonly endpoints?: readonly NodeEndpoints[];
  /** The expected answer at the healthCheckNodePort, if the Service has one. */
  readonly healthCheck?: { readonly port: number; readonly localEndpoints: readonly { readonly family: string; readonly count: number }[] };
  readonly addresses: readonly AddressExplanation[];
  /** Sessions with the peers to which the Service is announced, or would be. */
  readonly sessions?: readonly SessionExplanation[];
}

export interface PeerExplanation extends Omit<PeerView, 'intents'> {
  /** The announced routes with their attributes. Absent: none are announced. */
  readonly routes?: readonly SentRoute[];
  /** The routes that the agent has sent. Absent: the agent was not queried. */
  readonly live?: readonly LiveRoute[];
}

export interface AddressExplanation extends Omit<AddressView, 'peers'> {
  /** By peer name: the announced prefixes, or why none is announced. */
  readonly peers: readonly PeerExplanation[];
}

/** `now` is in milliseconds since the epoch. The age of the agent's report is measured by it. */
export function explainNodeForService(snapshot: Snapshot, service: Service, view: NodeView, now: number): NodeExplanation {
  const { node } = view;
  const last = snapshot.nodeStates.get(node);
  const check = decideHealthCheck(snapshot, service, node);
  const localEndpoints = [...(check?.localEndpoints ?? [])].map(([family, count]) => ({ family: `IPv${family}`, count }));
  const addresses = view.addresses.map((address) => ({ ...address, peers: address.peers.map((peer) => explainPeer(snapshot, peer)) }));
  return {
    ...view,
    host: currentReport(snapshot.nodeStates, node, now)?.host ?? [],
    ...(last === undefined ? {} : { reportedSecondsAgo: reportAge(last, now) }),
    ...directReturnOf(snapshot, service, node),
    ...(view.idle === undefined ? {} : { endpoints: endpointsForNode(snapshot, service, node) }),
    ...(check === undefined ? {} : { healthCheck: { port: check.port, localEndpoints } }),
    addresses,
    sessions: sessionsOf(snapshot, node, addresses, now),
  };
}

function explainPeer(snapshot: Snapshot, { intents, ...peer }: PeerView): PeerExplanation {
  if (intents === undefined) return peer;
  const isInternal = isInternalPeer(snapshot.peers.get(peer.peer));
  return { ...peer, routes: intents.map((route) => sentRoute(route, isInternal)) };
}

/** Sessions that carry routes of the Service, or should. */
function sessionsOf(snapshot: Snapshot, node: string, addresses: readonly AddressExplanation[], now: number): SessionExplanation[] {
  const told = new Set(addresses.flatMap(({ peers }) => peers.flatMap(({ peer, prefixes }) => (prefixes.length > 0 ? [peer] : []))));
  return sessionsOfNode(snapshot, node, now).filter(({ peer }) => told.has(peer));
}

/** Uses the last report, however old, as the nodes themselves do. */
function directReturnOf(snapshot: Snapshot, service: Service, node: string): Pick<NodeExplanation, 'directReturn'> {
  const { directReturn } = snapshot.nodeStates.get(node) ?? {};
  if (directReturn === undefined || !wantsDirectReturn(snapshot.config, service)) return {};
  return { directReturn: { receives: directReturn.receives, passes: directReturn.passes } };
}
