import { defined } from '../../lang/defined.ts';
import { decideAnnouncement, type ServiceAnnouncement } from '../../decisions/announcement/decision.ts';
import { mergeRoutes } from '../../decisions/announcement/merge-routes.ts';
import { addressOfSession, peersOfNode, type SessionIntent } from '../../decisions/announcement/peers.ts';
import type { RouteIntent } from '../../decisions/announcement/route.ts';
import { frontendsOfAddress } from '../../decisions/forwarding/scope.ts';
import { decideForwarding } from '../../decisions/forwarding/plan.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { currentReport, type NodeState, whyNoReport } from '../../model/objects/node-state.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress, isLinkLocal, type Address, type Family } from '../../net/address.ts';
import { comparePrefixes, formatPrefix } from '../../net/prefix.ts';
import { isInternalPeer } from './node-announcements.ts';
import { missingRouteReason } from '../../decisions/announcement/missing-route-reason.ts';
import { limits } from '../limits.ts';
import { sentRoute, type SentRoute } from './route-text.ts';
import type { TableFilter } from '../sessions/session-report.ts';

/** A route that a node announces to a peer, with its attributes. Plain data. */
export interface RouteRow extends SentRoute {
  readonly node: string;
  readonly peer: string;
  /** "self" stands for the local address of the session. */
  readonly nextHop: string;
  /** The AS path as the peer receives it, nearest AS first. Empty for a peer in our own AS. */
  readonly asPath: readonly number[];
  /** The Services that the route serves, at most `limits.servicesOfRoute`. */
  readonly services: readonly ServiceKey[];
  /** The number of Services that `services` leaves out. Absent: none. */
  readonly moreServices?: number;
  /** Why the peer does not have the route, by the report, or why that is unknown. Absent: no report says so. */
  readonly reason?: Reason;
  /** The row is the agent's answer to a query of this moment. Absent: the row is decided, with the reason of the agent's last report. */
  readonly live?: true;
}

export interface RouteReport {
  /** Sorted by node, peer and prefix. */
  readonly routes: readonly RouteRow[];
  /** The number of routes that `routes` leaves out. */
  readonly more: number;
  /** Agents that could not be queried. Rows of their nodes come from the decisions and the last reports. */
  readonly unasked?: readonly { readonly who: string; readonly node?: string; readonly why: string; readonly fix: string }[];
}

/** Reports which routes each node should announce, and why one is missing. `now`: milliseconds since the epoch, for ages. */
export function routeReport(snapshot: Snapshot, now: number, wanted: TableFilter & { readonly service?: ServiceKey } = {}): RouteReport {
  const routes: RouteRow[] = [];
  let more = 0;
  for (const node of [...snapshot.nodes.keys()].filter((name) => wanted.node === undefined || name === wanted.node).toSorted()) {
    for (const row of routesOfNode(snapshot, node, now, wanted)) {
      if (routes.length < limits.routes) routes.push(row);
      else more++;
    }
  }
  return { routes, more };
}

/** The route that one Service needs for a prefix at a peer. */
interface Contribution {
  readonly peer: string;
  readonly service: ServiceKey;
  readonly route: RouteIntent;
  readonly why: Reason | undefined;
}

function routesOfNode(
  snapshot: Snapshot,
  node: string,
  now: number,
  { peer, service }: Parameters<typeof routeReport>[2] & object,
): RouteRow[] {
  const report = currentReport(snapshot.nodeStates, node, now);
  const all = [...snapshot.services].flatMap(([key, object]) => [
    ...contributions(snapshot, node, report, key, decideAnnouncement(snapshot, object, node, { now })),
  ]);
  const byPeer = Map.groupBy(all, ({ peer: name }) => name);
  return peersOfNode(snapshot, node).flatMap(({ peer: name, result }) => {
    if (!('session' in result) || (peer !== undefined && name !== peer)) return [];
    const byPrefix = Map.groupBy(byPeer.get(name) ?? [], ({ route }) => formatPrefix(route.prefix));
    return [...byPrefix.values()]
      .filter((some) => service === undefined || some.some((one) => one.service === service))
      .map((all) => ({ route: mergedRoute(all), all }))
      .toSorted((a, b) => comparePrefixes(a.route.prefix, b.route.prefix))
      .map(({ route, all }) => rowOf(snapshot, node, result.session, route, all));
  });
}

/** Yields the route to each peer for each announced address of a Service. */
function* contributions(
  snapshot: Snapshot,
  node: string,
  report: NodeState | undefined,
  service: ServiceKey,
  { addresses }: ServiceAnnouncement,
): Iterable<Contribution> {
  const differing = (report?.differing ?? []).filter((difference) => difference.service === service);
  for (const { address, result } of addresses) {
    if (!result.announce) continue;
    for (const { peer, result: toPeer } of result.peers) {
      if (!('routes' in toPeer)) continue;
      for (const route of toPeer.routes) {
        const frontends = (): readonly string[] => frontendsOn(snapshot, node, service, address);
        const why =
          whyUnknown(snapshot, node, report) ??
          (report && missingRouteReason(report, differing, { peer, prefixes: [formatPrefix(route.prefix)], frontends }));
        yield { peer, service, route, why };
      }
    }
  }
}

/** Returns the reason when the agent's report cannot tell which routes are announced: it is missing, too old, or from a stopped agent. */
function whyUnknown(snapshot: Snapshot, node: string, report: NodeState | undefined): Reason | undefined {
  if (report === undefined) return whyNoReport(snapshot.nodeStates, node);
  return report.problem?.code === 'AgentStopped' ? report.problem : undefined;
}

function frontendsOn(snapshot: Snapshot, node: string, key: ServiceKey, address: Address): readonly string[] {
  const service = snapshot.services.get(key);
  if (service === undefined) return [];
  const { forwarding, foreign: elsewhere } = decideForwarding(snapshot, service, node);
  return frontendsOfAddress({ frontends: [...(forwarding?.frontends ?? []), ...elsewhere] }, address);
}

/** Merges the routes of all Services with one prefix. A route missing for one is still announced when another needs it. */
function mergedRoute(all: readonly Contribution[]): RouteIntent {
  const sent = all.filter(({ why }) => why === undefined);
  const [route] = mergeRoutes((sent.length > 0 ? sent : all).map((one) => one.route));
  if (route === undefined) throw new RangeError('a prefix without a route');
  return route;
}

function rowOf(snapshot: Snapshot, node: string, session: SessionIntent, route: RouteIntent, all: readonly Contribution[]): RouteRow {
  const internal = isInternalPeer(snapshot.peers.get(session.peer));
  const sent = sentRoute(route, internal);
  const services = [...new Set(all.map((one) => one.service))].toSorted();
  const why = all.every((one) => one.why !== undefined) ? all[0]?.why : undefined;
  return {
    node,
    ...sent,
    peer: session.peer,
    nextHop: nextHopOf(session, route.prefix.address.family),
    ...(internal ? { localPref: sent.localPref ?? defaultLocalPref } : {}),
    asPath: internal ? [] : Array<number>(1 + sent.asPathPrepend).fill(session.localASN),
    services: services.slice(0, limits.servicesOfRoute),
    ...(services.length > limits.servicesOfRoute ? { moreServices: services.length - limits.servicesOfRoute } : {}),
    ...defined({ reason: why }),
  };
}

/** LOCAL_PREF of a route to a peer in our own AS when the route sets none (RFC 4271 5.1.5 requires the attribute). */
const defaultLocalPref = 100;

function nextHopOf(session: SessionIntent, family: Family): string {
  const [peerAddress, { sourceAddress, otherNextHop }] = [addressOfSession(session), session];
  const isOwn = peerAddress === undefined || isLinkLocal(peerAddress) || peerAddress.family === family;
  if (!isOwn) return otherNextHop === undefined ? 'self' : formatAddress(otherNextHop);
  return sourceAddress?.family === family ? formatAddress(sourceAddress) : 'self';
}
