import { defined } from '../../lang/defined.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import { currentReport, isRunning, type FailingEndpoints, type NodeState, whyNoReport } from '../../model/objects/node-state.ts';
import { type Reason, reason, reasonText, remedyText } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { familyOfText, formatAddress, sameAddress, type Address, type Family } from '../../net/address.ts';
import { frontendKey, type Frontend } from '../../net/frontend.ts';
import { formatPrefix } from '../../net/prefix.ts';
import { decideAnnouncement, type AddressAnnouncement, type RefusedAdvertisement } from '../announcement/decision.ts';
import { missingRouteReason } from '../announcement/missing-route-reason.ts';
import type { RouteIntent } from '../announcement/route.ts';
import { frontendsOfAddress } from '../forwarding/scope.ts';
import { mayMeet } from '../host/filters.ts';
import { decideForwarding } from '../forwarding/plan.ts';
import { l2ViewsOf, type L2View, type L2Views } from './l2-view.ts';
import { keepingCommunity, type KeepingCommunity } from './kept-routes.ts';
import { causeOf, heldBackFamily } from '../announcement/next-hops/hold-back.ts';
import { chooseEndpoints, targetsOf } from '../forwarding/endpoints.ts';

/** The work of one node for a Service: its decisions, corrected by the report of its agent. */
export interface NodeView {
  readonly node: string;
  /** Other nodes that do the same for the same reasons, sorted. Absent: there are none, or each node has a view. */
  readonly alike?: readonly string[];
  /** Why the state of the node is uncertain: its agent is silent or stopped, or its data plane fails. */
  readonly problem?: Reason;
  readonly frontends: number;
  /** Frontends that HeraldConfig leaves to another program. */
  readonly elsewhere: number;
  /** Frontends without a backend on this node, by key, and the fate of new connections to them. */
  readonly idle?: readonly IdleFrontend[];
  /** Endpoints on this node that other nodes do not reach. Absent: they reach all. */
  readonly lost?: readonly LostEndpoints[];
  /** Endpoints that this node does not reach, by its report. Absent: none is known. */
  readonly failing?: readonly ViewedFailure[];
  /** Endpoints on this node that a filter of this node keeps other nodes from reaching, by its report. Absent: none is known. */
  readonly unreached?: readonly ViewedFailure[];
  /** What its report says of its host. Absent: nothing. */
  readonly host?: readonly Reason[];
  /** Why this node does not forward all of the Service, by decision or by the agent's report. */
  readonly forwarding: readonly Reason[];
  /** A reason that concerns every address. */
  readonly reason?: Reason;
  readonly addresses: readonly AddressView[];
}

/** Endpoints that a node does not reach by its report, or by what it says of its filters: then for one address of the Service. */
export interface ViewedFailure extends Omit<FailingEndpoints, 'service'> {
  /** Absent: every address of the family. */
  readonly address?: string;
}

interface IdleFrontend {
  readonly frontend: string;
  readonly effect: 'refused' | 'dropped';
}

export interface AddressView {
  readonly address: string;
  readonly type: AddressAnnouncement['type'];
  readonly reason?: Reason;
  /** By peer name: the announced prefixes, or why none is announced. */
  readonly peers: readonly PeerView[];
  /** Each route that the node sends carries it, so routers do not pass them on. */
  readonly notPassedOn?: KeepingCommunity;
  /** The work of the node by ARP or NDP. Absent: no L2Advertisement announces the address. */
  readonly l2?: L2View;
  readonly refused: readonly RefusedAdvertisement[];
  /** The node is being drained: why the address is still announced. */
  readonly drain?: Reason;
  /** Why the address is still announced although the node cannot forward it. */
  readonly heldBack?: Reason;
  /** Why routers use this node only as a last resort. */
  readonly lastResort?: Reason;
}

export interface PeerView {
  readonly peer: string;
  readonly prefixes: readonly string[];
  /** The decided routes. Absent: none. */
  readonly intents?: readonly RouteIntent[];
  /** Why the peer does not have the routes. Absent: it has them. */
  readonly reason?: Reason;
  /** A problem of a session that is nevertheless up. */
  readonly warning?: Reason;
}

/** Returns the nodes that the view holds for, sorted. */
export function nodesOfView({ node, alike = [] }: Pick<NodeView, 'node' | 'alike'>): readonly string[] {
  return [node, ...alike];
}

/** Returns the nodes that the views hold for, sorted. */
export function nodesOfViews(views: readonly Pick<NodeView, 'node' | 'alike'>[]): readonly string[] {
  const names = views.flatMap(nodesOfView);
  return views.some(({ alike }) => alike !== undefined) ? names.toSorted() : names;
}

/** Returns the ways by which the node announces an address: each BGP session, and the link. Each has a reason when it does not. */
export function waysOf({ peers, l2 }: AddressView): readonly { readonly reason?: Reason }[] {
  return l2 === undefined ? peers : [...peers, l2];
}

/** Returns the view of any node. `now` is in milliseconds since the epoch. The age of the agents' reports is measured by it. */
export function nodeViewsOf(
  snapshot: Snapshot,
  service: Service,
  now: number,
  viewL2 = l2ViewsOf(snapshot, service, now),
): (node: string) => NodeView {
  return (node) => viewNode(snapshot, service, node, { now, viewL2 });
}

function viewNode(
  snapshot: Snapshot,
  service: Service,
  node: string,
  { now, viewL2 }: { readonly now: number; readonly viewL2: L2Views },
): NodeView {
  const { forwarding, foreign: elsewhere, reasons } = decideForwarding(snapshot, service, node);
  const announcement = decideAnnouncement(snapshot, service, node, { now });
  const state = currentReport(snapshot.nodeStates, node, now);
  const problem = state === undefined ? whyNoReport(snapshot.nodeStates, node) : state.problem;
  const differing = (state?.differing ?? []).filter((difference) => difference.service === serviceKey(service.metadata));
  const reported = differing.filter(({ aspect }) => aspect === 'Programmed' || aspect === 'HealthCheck');
  const frontends = [...(forwarding?.frontends ?? []), ...elsewhere];
  const lost = lostEndpoints(snapshot, service, node);
  const dropped = differing.flatMap((difference) => filteredFrontends(difference.reason, 'ServiceFiltered'));
  const unreached = differing.flatMap((difference) => filteredFrontends(difference.reason, 'PassedFiltered'));
  const seen = (state?.checks?.failing ?? []).filter((one) => one.service === serviceKey(service.metadata));
  // A limit is the cause only of losses that were seen, of some connections: the report does not say how many there are.
  const limited = differing
    .flatMap((difference) => filteredFrontends(difference.reason, 'ServiceLimited'))
    .filter(({ family, port }) => seen.some((one) => one.family === family && one.port === port && !one.areAll));
  const filtered = [...dropped, ...limited];
  const failing = [...filtered, ...seen.filter((one) => !isExplained(one, filtered)).map((one) => withFilter(one, state?.host))];
  return {
    node,
    ...defined({ problem }),
    frontends: forwarding?.frontends.length ?? 0,
    elsewhere: elsewhere.length,
    ...(frontends.length === 0 ? {} : { idle: frontends.flatMap(idleFrontend) }),
    forwarding: [...reasons, ...reported.map((difference) => difference.reason)],
    ...(lost.length === 0 ? {} : { lost }),
    ...(failing.length === 0 ? {} : { failing }),
    ...(unreached.length === 0 ? {} : { unreached }),
    ...defined({ host: state?.host }),
    ...defined({ reason: announcement.reason }),
    addresses: announcement.addresses.map((announced) =>
      withL2(
        viewAddress(
          announced,
          obstacles(announced, { state, problem, differing, frontends }),
          (peer, prefixes) => contentionOf(differing, peer, prefixes) ?? bfdWarning(state, peer),
        ),
        announced.type === 'LoadBalancer' ? viewL2(announced.address, node) : undefined,
      ),
    ),
  };
}

/** Returns the frontends whose packets a filter drops, by the agent's report. */
function filteredFrontends(because: Reason, code: 'ServiceFiltered' | 'ServiceLimited' | 'PassedFiltered'): ViewedFailure[] {
  if (because.code !== code) return [];
  const { frontends, share } = because.details;
  return frontends.split(', ').map((frontend) => {
    const [address = '', protocol, port] = frontend.split(' ');
    const family = `IPv${familyOfText(address)}` as const;
    return { address, family, port: `${port}/${protocol}`, areAll: share === 'all', reason: because };
  });
}

/** The filter that the node names drops what the node saw as dropped. */
function isExplained({ family, port, reason: because }: FailingEndpoints, dropped: readonly ViewedFailure[]): boolean {
  return because.code === 'EndpointDropped' && dropped.some((one) => one.family === family && one.port === port);
}

/** Names the filter that drops, if the agent found one of this family that may. */
function withFilter(failing: FailingEndpoints, host: readonly Reason[] = []): FailingEndpoints {
  const { reason: because, family } = failing;
  const filter = host.find(({ code, details }) => code === 'ForwardFilterDrops' && mayMeet(family === 'IPv4' ? 4 : 6, details.chain));
  if (because.code !== 'EndpointDropped' || filter === undefined) return failing;
  return { ...failing, reason: reason('EndpointDropped', { ...because.details, filter: reasonText(filter), remedy: remedyText(filter) }) };
}

interface Report {
  readonly state: NodeState | undefined;
  readonly problem: Reason | undefined;
  readonly differing: NodeState['differing'];
  readonly frontends: readonly Frontend[];
}

type Obstacles = (peer: string, prefixes: readonly string[]) => Reason | undefined;

/** Returns why a decided route is not at the peer, by the agent's report. */
function obstacles({ address }: AddressAnnouncement, { state, problem, differing, frontends }: Report): Obstacles {
  return (peer, prefixes) => {
    if (state === undefined || !isRunning(state)) return problem;
    return missingRouteReason(state, differing, { peer, prefixes, frontends: () => frontendsOfAddress({ frontends }, address) });
  };
}

/** A family that a session lacks concerns only the addresses of that family, whose routes have it as their reason. */
function bfdWarning(state: NodeState | undefined, peer: string): Reason | undefined {
  const warning = state?.sessions.find((session) => session.peer === peer)?.warning;
  return warning?.code === 'BFDDown' ? warning : undefined;
}

/** Returns why a router sends packets for one of the prefixes to another speaker, by the report. */
function contentionOf(differing: NodeState['differing'], peer: string, prefixes: readonly string[]): Reason | undefined {
  const found = differing.find(
    ({ reason: { code, details } }) => code === 'PrefixContended' && details.peer === peer && prefixes.includes(details.prefix),
  );
  return found?.reason;
}

function viewAddress(
  { address, type, result, refused }: AddressAnnouncement,
  obstacleTo: Obstacles,
  warningOf: (peer: string, prefixes: readonly string[]) => Reason | undefined,
): AddressView {
  const peers = (result.peers ?? []).map(({ peer, result: toPeer }): PeerView => {
    if (!('routes' in toPeer)) return { peer, prefixes: [], reason: toPeer.reason };
    const { routes: intents, warning } = toPeer;
    const prefixes = intents.map(({ prefix }) => formatPrefix(prefix));
    return { peer, prefixes, intents, ...defined({ reason: obstacleTo(peer, prefixes), warning: warning ?? warningOf(peer, prefixes) }) };
  });
  const { drain, lastResort, heldBack } = result.announce ? result : {};
  const why = result.announce ? {} : { reason: result.reason };
  const kept = defined({ notPassedOn: keepingCommunity(peers) });
  return { address: formatAddress(address), type, ...why, ...defined({ drain, lastResort, heldBack }), peers, ...kept, refused };
}

/** An address that an L2Advertisement announces needs no BGPAdvertisement. */
function withL2(view: AddressView, l2: L2View | undefined): AddressView {
  if (l2 === undefined) return view;
  const { reason: because, ...others } = view;
  const both = { ...others, ...(because?.code === 'NoAdvertisement' ? {} : defined({ reason: because })), l2 };
  const isRouted = view.peers.some((peer) => peer.reason === undefined);
  if (isRouted || l2.reason !== undefined || l2.lastResort?.code !== 'NodeHeldBack') return both;
  // The owner answers although it does not forward, because no other candidate lives.
  return { ...both, heldBack: reason('HeldBackLastNextHop', l2.lastResort.details) };
}

/** Under policy Local without a local backend, traffic from outside is dropped, so that a load balancer chooses another node. */
function idleFrontend({ match, policy, backends, localBackends }: Frontend): IdleFrontend[] {
  const frontend = frontendKey(match);
  if (backends.length === 0) return [{ frontend, effect: 'refused' }];
  return policy === 'Local' && localBackends.length === 0 ? [{ frontend, effect: 'dropped' }] : [];
}

/** Endpoints on a node that does not let the packets of other nodes through to them. */
interface LostEndpoints {
  readonly family: Family;
  /** No endpoint of the family is elsewhere. */
  readonly areAll: boolean;
  readonly reason: Reason;
}

/**
 * Returns the families in which other nodes send connections to endpoints on this node that never arrive, because it does not forward the
 * family. Under policy Local no other node does. An endpoint at an address of the node itself needs no forwarding.
 */
function lostEndpoints(snapshot: Snapshot, service: Service, node: string): LostEndpoints[] {
  if (service.externalTrafficPolicy === 'Local') return [];
  const own = snapshot.nodes.get(node)?.internalIPs ?? [];
  return service.ipFamilies.flatMap((family): LostEndpoints[] => {
    const held = heldBackFamily(snapshot, node, family);
    if (held === undefined) return [];
    const choices = service.ports.map((port) => chooseEndpoints(targetsOf(snapshot, service, port, family), { name: node }));
    const isLost = ({ nodeName, address }: { readonly nodeName?: string; readonly address: Address }): boolean =>
      nodeName !== undefined && heldBackFamily(snapshot, nodeName, family) !== undefined && !own.some((one) => sameAddress(one, address));
    if (!choices.some(({ local }) => local.some(isLost))) return [];
    const areAll = choices.every(({ everywhere }) => everywhere.every(isLost));
    return [{ family, areAll, reason: reason('EndpointsCutOff', { node, family: held.family, ...causeOf(held.reason) }) }];
  });
}
