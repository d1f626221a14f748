import { decideAnnouncement, type ServiceAnnouncement } from '../../decisions/announcement/decision.ts';
import { routesByPeer } from '../../decisions/announcement/merge-routes.ts';
import type { OwnState } from '../../decisions/announcement/node-drain.ts';
import { peersOfNode } from '../../decisions/announcement/peers.ts';
import type { RouteIntent } from '../../decisions/announcement/route.ts';
import { requestedDrain } from '../../model/kinds/requested-drain.ts';
import type { NodeState, SessionStatus } from '../../model/objects/node-state.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { valuesOf } from '../../model/store/snapshot-values.ts';
import { formatAddress } from '../../net/address.ts';
import { formatPrefix } from '../../net/prefix.ts';
import { isInternalPeer } from '../routes/node-announcements.ts';
import { sentRoute } from '../routes/route-text.ts';

/** A route of a node to one peer. */
interface PlannedRoute {
  readonly peer: string;
  readonly route: RouteIntent;
  /** Differs if the peer sees other attributes. */
  readonly sent: string;
}

/** Everything that a node announces to routers. */
export interface NodeRoutes {
  /** By "192.0.2.1/32 to tor1". */
  readonly routes: ReadonlyMap<string, PlannedRoute>;
  /** The addresses that a route leads to, as text. */
  readonly announced: ReadonlySet<string>;
}

/** Returns the routes of a node. Peers whose sessions are shut down (`adminDown`) get none. */
export function routesOfNode(snapshot: Snapshot, node: string, view: OwnState): NodeRoutes {
  const shut = new Set([...snapshot.peers.values()].flatMap(({ adminDown, metadata }) => (adminDown ? [metadata.name] : [])));
  const announcements = [...snapshot.services.values()].map((service) => decideAnnouncement(snapshot, service, node, view));
  const routes = new Map<string, PlannedRoute>();
  for (const [peer, wanted] of routesByPeer(announcements)) {
    if (shut.has(peer)) continue;
    const internal = isInternalPeer(snapshot.peers.get(peer));
    for (const route of wanted)
      routes.set(`${formatPrefix(route.prefix)} to ${peer}`, { peer, route, sent: JSON.stringify(sentRoute(route, internal)) });
  }
  return { routes, announced: new Set(announcements.flatMap((one) => announcedIn(one, shut))) };
}

function announcedIn({ addresses }: ServiceAnnouncement, shut: ReadonlySet<string>): string[] {
  return addresses.flatMap(({ address, result }) => {
    const isSent = result.announce && result.peers.some(({ peer, result: toPeer }) => 'routes' in toPeer && !shut.has(peer));
    return isSent ? [formatAddress(address)] : [];
  });
}

/** True when the proposed objects begin a drain of the node. */
export function beginsDrain(current: Snapshot, proposed: Snapshot, name: string): boolean {
  const [before, after] = [current.nodes.get(name), proposed.nodes.get(name)];
  if (after === undefined || requestedDrain(proposed.config, after) === undefined) return false;
  return before === undefined || requestedDrain(current.config, before) === undefined;
}

/**
 * Adds the reports of agents if there are none at all, with every session up: a drain keeps routes that no other node is heard to announce,
 * and manifests that no process serves have no reports.
 */
export function withAssumedReports(snapshot: Snapshot): Snapshot {
  if (snapshot.nodeStates.size > 0) return snapshot;
  const nodeStates = new Map([...snapshot.nodes].map(([name, { metadata }]) => [name, assumedReport(snapshot, name, metadata)]));
  return { ...valuesOf(snapshot), nodeStates };
}

function assumedReport(snapshot: Snapshot, name: string, metadata: NodeState['metadata']): NodeState {
  const sessions = peersOfNode(snapshot, name).flatMap(({ peer, result }): SessionStatus[] => {
    if (!('session' in result) || result.session.adminDown) return [];
    return [{ peer, address: '', peerASN: 0, state: 'Established', since: '', localASN: 0, prefixesSent: 0 }];
  });
  return { kind: 'NodeState', metadata, updated: '', isAlive: true, consumed: {}, sessions, differing: [] };
}
