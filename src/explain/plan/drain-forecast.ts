import { decideAnnouncement } from '../../decisions/announcement/decision.ts';
import type { Node } from '../../model/objects/cluster.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { currentReport, type NodeState } from '../../model/objects/node-state.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import { announcementsOfNode } from '../routes/node-announcements.ts';
import { valuesOf } from '../../model/store/snapshot-values.ts';

/** A Service that only one node announces, with the addresses that only this node announces. */
interface SoleAnnouncement {
  readonly service: ServiceKey;
  readonly addresses: readonly string[];
}

/** The effect of draining a node, whether or not it is drained already. Plain data. */
export interface DrainForecast {
  /** Services with an address that the node announces while it is not drained. */
  readonly announces: number;
  /** Names of the peers that receive its routes. */
  readonly peers: readonly string[];
  /** Services that no other node announces, sorted by name. Their routes stay, or are withdrawn if the drain is forced. */
  readonly lastNextHops: readonly SoleAnnouncement[];
}

/** Computes the agent's decision in advance. `now`: milliseconds since the epoch, for the age of other nodes' reports. */
export function forecastDrain(snapshot: Snapshot, node: string, now: number): DrainForecast {
  const before = announcementsOfNode(withDrain(snapshot, node, undefined), node, now);
  const asked = withDrain(snapshot, node, 'keepLast');
  const lastNextHops = [...snapshot.services].flatMap(([key, service]): SoleAnnouncement[] => {
    const { addresses } = decideAnnouncement(asked, service, node, { settled: true, now });
    const kept = addresses.flatMap(({ address, result }) => {
      return result.announce && result.drain?.code === 'LastNextHop' ? [formatAddress(address)] : [];
    });
    return kept.length === 0 ? [] : [{ service: key, addresses: kept }];
  });
  return {
    announces: [...before.services.values()].filter(({ addresses }) => addresses.some(({ result }) => result.announce)).length,
    peers: [...before.routes].flatMap(([peer, routes]) => (routes.length === 0 ? [] : [peer])).toSorted(),
    lastNextHops: lastNextHops.toSorted((a, b) => (a.service < b.service ? -1 : 1)),
  };
}

/** How many of the routes that an undrained node should announce are announced again, for one session. */
export interface RestoredSession {
  readonly peer: string;
  readonly state: string;
  readonly sent: number;
  readonly wanted: number;
}

export function restoredSessions(snapshot: Snapshot, node: string, state: NodeState, now: number): RestoredSession[] {
  const { routes } = announcementsOfNode(withDrain(snapshot, node, undefined), node, now);
  return [...routes].flatMap(([peer, { length: wanted }]): RestoredSession[] => {
    const session = state.sessions.find((one) => one.peer === peer);
    return wanted === 0 ? [] : [{ peer, state: session?.state ?? 'not reported', sent: session?.prefixesSent ?? 0, wanted }];
  });
}

/** True when a session is up and all that are have sent all their routes. Sessions that are down have their own reasons. */
export function isRestored(sessions: readonly RestoredSession[]): boolean {
  const up = sessions.filter(({ state }) => state === 'Established');
  return sessions.length === 0 || (up.length > 0 && up.every(({ sent, wanted }) => sent >= wanted));
}

/** True when the agent of the node reports. Without an agent a drain would not happen. */
export function isReporting(snapshot: Snapshot, node: string, now: number): boolean {
  return currentReport(snapshot.nodeStates, node, now) !== undefined;
}

function withDrain(snapshot: Snapshot, name: string, drain: Node['drain']): Snapshot {
  const object = snapshot.nodes.get(name);
  if (object === undefined) return snapshot;
  const { drain: _, taints: __, ...node } = object;
  return { ...valuesOf(snapshot), nodes: new Map(snapshot.nodes).set(name, drain === undefined ? node : { ...node, drain }) };
}
