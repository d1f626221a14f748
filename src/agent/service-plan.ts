import type { QuarantinedFrontend } from '../dataplane/dataplane.ts';
import { decideAnnouncement } from '../decisions/announcement/decision.ts';
import type { RouteIntent } from '../decisions/announcement/route.ts';
import { frontendsOfAddress } from '../decisions/forwarding/address-frontends.ts';
import { decideForwarding } from '../decisions/forwarding/plan.ts';
import type { ServiceKey } from '../model/metadata.ts';
import { reason, type Reason } from '../model/reasons.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { formatAddress } from '../net/address.ts';
import type { ServiceForwarding } from '../net/frontend.ts';
import type { RoutesByPeer } from './route-table.ts';

/** What this node should do for one Service. */
export interface ServicePlan {
  readonly forwarding: ServiceForwarding;
  readonly routes: readonly GatedRoute[];
}

/** A route to a peer, and the frontends that the kernel must have before it goes out. */
export interface GatedRoute {
  readonly peer: string;
  readonly route: RouteIntent;
  /** Text of the address that led to the route. */
  readonly address: string;
  /** By frontendKey. Empty: nothing on this node answers the address, so it is not announced. */
  readonly needs: readonly string[];
}

const nothing: ServicePlan = { forwarding: { frontends: [] }, routes: [] };

export function planService(snapshot: Snapshot, key: ServiceKey, node: string): ServicePlan {
  const service = snapshot.services.get(key);
  if (service === undefined) return nothing;
  const forwarding = decideForwarding(snapshot, service, node).forwarding ?? nothing.forwarding;
  const routes: GatedRoute[] = [];
  for (const { address, result } of decideAnnouncement(snapshot, service, node).addresses) {
    if (!result.announce) continue;
    const needs = frontendsOfAddress(forwarding, address);
    for (const { peer, result: toPeer } of result.peers) {
      if (!('routes' in toPeer)) continue;
      for (const route of toPeer.routes) routes.push({ peer, route, address: formatAddress(address), needs });
    }
  }
  return { forwarding, routes };
}

/** The routes as if the kernel had everything. */
export function routesOfPlan(plan: ServicePlan): RoutesByPeer {
  return byPeer(plan.routes);
}

/**
 * The commit barrier, after a commit: a route goes out when the kernel has a frontend of its address for this Service.
 * `quarantined` are those that it has not. One that the kernel refused does not take the address away from the other ports;
 * one that another Service has does, as its clients would reach that one's pods.
 */
export function passBarrier(
  key: ServiceKey,
  plan: ServicePlan,
  quarantined: ReadonlyMap<string, Pick<QuarantinedFrontend, 'owner'>>,
): { routes: RoutesByPeer; held: readonly Reason[] } {
  const held = new Map<string, Reason>();
  const isTaken = (frontend: string): boolean => {
    const owner = quarantined.get(frontend)?.owner;
    return owner !== undefined && owner !== key;
  };
  // Where Services contend for a frontend, the kernel has that of its owner.
  const isCommitted = (frontend: string): boolean => !quarantined.has(frontend) || quarantined.get(frontend)?.owner === key;
  const passed = plan.routes.filter(({ address, needs }) => {
    const taken = needs.find(isTaken);
    if (taken === undefined && needs.some(isCommitted)) return true;
    held.set(address, reason('NotProgrammed', { frontend: taken ?? needs[0] ?? address }));
    return false;
  });
  return { routes: byPeer(passed), held: [...held.values()] };
}

function byPeer(gated: readonly GatedRoute[]): RoutesByPeer {
  return new Map([...Map.groupBy(gated, ({ peer }) => peer)].map(([peer, group]) => [peer, group.map(({ route }) => route)]));
}
