import { defined } from '../../lang/defined.ts';
import { decideAnnouncement, type AddressAnnouncement, type RefusedAdvertisement } from '../../decisions/announcement/decision.ts';
import { wantsDirectReturn } from '../../decisions/direct-return/plan.ts';
import { frontendsOfAddress } from '../../decisions/forwarding/address-frontends.ts';
import { decideHealthCheck } from '../../decisions/forwarding/health-check.ts';
import { decideForwarding } from '../../decisions/forwarding/plan.ts';
import type { LiveRoute } from '../../live/contract.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import { currentReport, reportAge, type DirectReturnReport } from '../../model/objects/node-state.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import { frontendKey, type Frontend } from '../../net/frontend.ts';
import { formatPrefix } from '../../net/prefix.ts';
import { isInternalPeer } from '../routes/node-announcements.ts';
import { missingRouteReason } from '../routes/missing-route-reason.ts';
import { sentRoute, type SentRoute } from '../routes/route-text.ts';
import { endpointsForNode, type NodeEndpoints } from './service-endpoints.ts';
import { sessionsOfNode, type SessionExplanation } from '../sessions/session.ts';

/** One node's work for a Service, and the reasons for what is missing. Plain data. */
export interface NodeExplanation {
  readonly node: string;
  /** Why the state of the node is uncertain: its agent is silent or stopped, or its data plane fails. */
  readonly problem?: Reason;
  /** Problems of the host that the agent found. */
  readonly host: readonly Reason[];
  /**
   * The methods of direct server return that the node takes part in. Absent: the Service does not use it, or the agent has not reported.
   */
  readonly directReturn?: Pick<DirectReturnReport, 'receives' | 'passes'>;
  /** Age of the last report; absent: there is none. */
  readonly reportedSecondsAgo?: number;
  readonly frontends: number;
  /** Frontends that HeraldConfig leaves to another program. */
  readonly elsewhere: number;
  /** Where the traffic of each family goes. Absent: the node forwards nothing. */
  readonly endpoints?: readonly NodeEndpoints[];
  /** Frontends without a backend on this node, by key, and the fate of new connections to them. */
  readonly idle?: readonly { readonly frontend: string; readonly effect: 'refused' | 'dropped' }[];
  /** The expected answer at the healthCheckNodePort, if the Service has one. */
  readonly healthCheck?: { readonly port: number; readonly localEndpoints: readonly { readonly family: string; readonly count: number }[] };
  /** Why this node does not forward all of the Service, by decision or by the agent's report. */
  readonly forwarding: readonly Reason[];
  /** A reason that concerns every address. */
  readonly reason?: Reason;
  readonly addresses: readonly AddressExplanation[];
  /** Sessions with the peers to which the Service is announced, or would be. */
  readonly sessions?: readonly SessionExplanation[];
}

export interface PeerExplanation {
  readonly peer: string;
  readonly prefixes: readonly string[];
  /** The announced routes with their attributes. Absent: none are announced. */
  readonly routes?: readonly SentRoute[];
  /** The routes that the agent has sent. Absent: the agent was not queried. */
  readonly live?: readonly LiveRoute[];
  readonly reason?: Reason;
  /** A problem of a session that is nevertheless up. */
  readonly warning?: Reason;
}

export interface AddressExplanation {
  readonly address: string;
  readonly type: AddressAnnouncement['type'];
  readonly reason?: Reason;
  /** By peer name: the announced prefixes, or why none is announced. */
  readonly peers: readonly PeerExplanation[];
  readonly refused: readonly RefusedAdvertisement[];
  /** The node is being drained: why the address is still announced. */
  readonly drain?: Reason;
  /** Why routers use this node only as a last resort. */
  readonly lastResort?: Reason;
}

/** `now` is in milliseconds since the epoch. The age of the agent's report is measured by it. */
export function explainNodeForService(snapshot: Snapshot, service: Service, node: string, now: number): NodeExplanation {
  const { forwarding, foreign: elsewhere, reasons } = decideForwarding(snapshot, service, node);
  const announcement = decideAnnouncement(snapshot, service, node, { now });
  const last = snapshot.nodeStates.get(node);
  const state = currentReport(snapshot.nodeStates, node, now);
  const problem = state === undefined ? reason('AgentSilent', { node }) : state.problem;
  const check = decideHealthCheck(snapshot, service, node);
  const localEndpoints = [...(check?.localEndpoints ?? [])].map(([family, count]) => ({ family: `IPv${family}`, count }));
  const differing = (state?.differing ?? []).filter((difference) => difference.service === serviceKey(service.metadata));
  const reported = differing.filter(({ aspect }) => aspect === 'Programmed' || aspect === 'HealthCheck');
  const frontends = [...(forwarding?.frontends ?? []), ...elsewhere];
  const isInternal = (peer: string): boolean => isInternalPeer(snapshot.peers.get(peer));
  const addresses = announcement.addresses.map((announced) => {
    const obstacleTo = (peer: string, prefixes: readonly string[]): Reason | undefined => {
      if (state === undefined || state.problem?.code === 'AgentStopped') return problem;
      return missingRouteReason(state, differing, {
        peer,
        prefixes,
        frontends: () => frontendsOfAddress({ frontends }, announced.address),
      });
    };
    return explainAddress(announced, obstacleTo, isInternal);
  });
  return {
    node,
    ...defined({ problem }),
    host: state?.host ?? [],
    ...(last === undefined ? {} : { reportedSecondsAgo: reportAge(last, now) }),
    ...directReturnOf(snapshot, service, node),
    frontends: forwarding?.frontends.length ?? 0,
    elsewhere: elsewhere.length,
    ...(frontends.length === 0 ? {} : { endpoints: endpointsForNode(snapshot, service, node), idle: frontends.flatMap(idleFrontend) }),
    ...(check === undefined ? {} : { healthCheck: { port: check.port, localEndpoints } }),
    forwarding: [...reasons, ...reported.map((difference) => difference.reason)],
    ...defined({ reason: announcement.reason }),
    addresses,
    sessions: sessionsOf(snapshot, node, addresses, now),
  };
}

/** Sessions that carry routes of the Service, or should. */
function sessionsOf(snapshot: Snapshot, node: string, addresses: readonly AddressExplanation[], now: number): SessionExplanation[] {
  const told = new Set(addresses.flatMap(({ peers }) => peers.flatMap(({ peer, prefixes }) => (prefixes.length > 0 ? [peer] : []))));
  return sessionsOfNode(snapshot, node, now).filter(({ peer }) => told.has(peer));
}

/** Under policy Local without a local backend, traffic from outside is dropped, so that a load balancer chooses another node. */
function idleFrontend({ match, policy, backends, localBackends }: Frontend): NonNullable<NodeExplanation['idle']>[number][] {
  const frontend = frontendKey(match);
  if (backends.length === 0) return [{ frontend, effect: 'refused' }];
  return policy === 'Local' && localBackends.length === 0 ? [{ frontend, effect: 'dropped' }] : [];
}

/** Uses the last report, however old, as the nodes themselves do. */
function directReturnOf(snapshot: Snapshot, service: Service, node: string): Pick<NodeExplanation, 'directReturn'> {
  const { directReturn } = snapshot.nodeStates.get(node) ?? {};
  if (directReturn === undefined || !wantsDirectReturn(snapshot.config, service)) return {};
  return { directReturn: { receives: directReturn.receives, passes: directReturn.passes } };
}

/** `obstacleTo` returns why a decided route is not at the peer, by the agent's report. */
function explainAddress(
  { address, type, result, refused }: AddressAnnouncement,
  obstacleTo: (peer: string, prefixes: readonly string[]) => Reason | undefined,
  isInternal: (peer: string) => boolean,
): AddressExplanation {
  const peers = (result.peers ?? []).map(({ peer, result: toPeer }): PeerExplanation => {
    if (!('routes' in toPeer)) return { peer, prefixes: [], reason: toPeer.reason };
    const prefixes = toPeer.routes.map(({ prefix }) => formatPrefix(prefix));
    const obstacle = obstacleTo(peer, prefixes);
    const { warning } = toPeer;
    return {
      peer,
      prefixes,
      routes: toPeer.routes.map((route) => sentRoute(route, isInternal(peer))),
      ...defined({ reason: obstacle, warning }),
    };
  });
  const { drain, lastResort } = result.announce ? result : {};
  const why = {
    ...(result.announce ? {} : { reason: result.reason }),
    ...defined({ drain, lastResort }),
  };
  return { address: formatAddress(address), type, ...why, peers, refused };
}
