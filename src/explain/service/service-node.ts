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

/** What one node does for a Service, and why not more. Plain data. */
export interface NodeExplanation {
  readonly node: string;
  /** Why nothing that the decisions say of this node is sure: its agent is silent, was stopped, or its data plane fails. */
  readonly problem?: Reason;
  /** What its agent found wrong with the host. */
  readonly host: readonly Reason[];
  /** By which ways it takes part in direct server return, where the Service wants that and the agent has found out. */
  readonly directReturn?: Pick<DirectReturnReport, 'receives' | 'passes'>;
  /** Age of its last report; absent: there is none. */
  readonly reportedSecondsAgo?: number;
  readonly frontends: number;
  /** Frontends that HeraldConfig leaves to another program. */
  readonly elsewhere: number;
  /** Where its traffic goes, by family. Absent: nowhere, as it forwards nothing. */
  readonly endpoints?: readonly NodeEndpoints[];
  /** Frontends that no backend stands behind on this node, by their keys, and what becomes of new connections. */
  readonly idle?: readonly { readonly frontend: string; readonly effect: 'refused' | 'dropped' }[];
  /** What it should answer at the healthCheckNodePort, where the Service has one. */
  readonly healthCheck?: { readonly port: number; readonly localEndpoints: readonly { readonly family: string; readonly count: number }[] };
  /** Why this node does not forward all of the Service, by decision or as the agent reports. */
  readonly forwarding: readonly Reason[];
  /** A "no" that concerns every address. */
  readonly reason?: Reason;
  readonly addresses: readonly AddressExplanation[];
  /** With the peers that are told of the Service, or would be. */
  readonly sessions?: readonly SessionExplanation[];
}

export interface PeerExplanation {
  readonly peer: string;
  readonly prefixes: readonly string[];
  /** What goes out, with its attributes. Absent: nothing does. */
  readonly routes?: readonly SentRoute[];
  /** What the agent has really sent, where it was asked. */
  readonly live?: readonly LiveRoute[];
  readonly reason?: Reason;
  /** What is wrong with a session that runs all the same. */
  readonly warning?: Reason;
}

export interface AddressExplanation {
  readonly address: string;
  readonly type: AddressAnnouncement['type'];
  readonly reason?: Reason;
  /** By name of the peer: the prefixes that go out, or why none does. */
  readonly peers: readonly PeerExplanation[];
  readonly refused: readonly RefusedAdvertisement[];
  /** The node is being drained: why it is announced all the same. */
  readonly drain?: Reason;
  /** Why routers are told to use this node only where they have no other. */
  readonly lastResort?: Reason;
}

/** `now`: milliseconds since the epoch, by which the agent's report is judged. */
export function explainNodeForService(snapshot: Snapshot, service: Service, node: string, now: number): NodeExplanation {
  const { forwarding, elsewhere, reasons } = decideForwarding(snapshot, service, node);
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

/** Those that carry something of the Service, or should. */
function sessionsOf(snapshot: Snapshot, node: string, addresses: readonly AddressExplanation[], now: number): SessionExplanation[] {
  const told = new Set(addresses.flatMap(({ peers }) => peers.flatMap(({ peer, prefixes }) => (prefixes.length > 0 ? [peer] : []))));
  return sessionsOfNode(snapshot, node, now).filter(({ peer }) => told.has(peer));
}

/** Traffic from outside, under policy Local without a backend here, is dropped, so that a load balancer looks elsewhere. */
function idleFrontend({ match, policy, backends, localBackends }: Frontend): NonNullable<NodeExplanation['idle']>[number][] {
  const frontend = frontendKey(match);
  if (backends.length === 0) return [{ frontend, effect: 'refused' }];
  return policy === 'Local' && localBackends.length === 0 ? [{ frontend, effect: 'dropped' }] : [];
}

/** From the last report, however old: so do the nodes themselves. */
function directReturnOf(snapshot: Snapshot, service: Service, node: string): Pick<NodeExplanation, 'directReturn'> {
  const { directReturn } = snapshot.nodeStates.get(node) ?? {};
  if (directReturn === undefined || !wantsDirectReturn(snapshot.config, service)) return {};
  return { directReturn: { receives: directReturn.receives, passes: directReturn.passes } };
}

/** `obstacleTo`: why a route that was decided is not at the peer, as far as the agent reports. */
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
