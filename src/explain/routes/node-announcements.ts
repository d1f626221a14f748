import { decideAnnouncement, type ServiceAnnouncement } from '../../decisions/announcement/decision.ts';
import { routesByPeer } from '../../decisions/announcement/merge-routes.ts';
import type { BGPPeer } from '../../model/kinds/types.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { sentRoute, type SentRoute } from './route-text.ts';

interface NodeAnnouncements {
  /** By peer name. Routes that several Services share are merged, as they are sent. */
  readonly routes: ReadonlyMap<string, readonly SentRoute[]>;
  readonly services: ReadonlyMap<ServiceKey, ServiceAnnouncement>;
}

/** Everything that a node should announce. `now` is in milliseconds since the epoch. */
export function announcementsOfNode(snapshot: Snapshot, node: string, now: number): NodeAnnouncements {
  const services = new Map(
    [...snapshot.services].map(([key, service]) => [key, decideAnnouncement(snapshot, service, node, { now })] as const),
  );
  const routes = new Map(
    [...routesByPeer(services.values())].map(([peer, wanted]) => {
      const internal = isInternalPeer(snapshot.peers.get(peer));
      return [peer, wanted.map((route) => sentRoute(route, internal))] as const;
    }),
  );
  return { routes, services };
}

/** True when sessions with the peer are iBGP. Only those carry LOCAL_PREF. */
export function isInternalPeer(peer: BGPPeer | undefined): boolean {
  if (peer === undefined) return false;
  const { localASN = peer.myASN, peerASN, dynamicASN } = peer;
  return dynamicASN === 'internal' || peerASN === localASN;
}
