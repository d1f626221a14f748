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

/**
 * The commit barrier, after a commit: a route goes out when the kernel has a frontend of its address. `missing` are those
 * that it refused; one that is refused does not take the address away from the other ports of the Service.
 */
export function passBarrier(plan: ServicePlan, missing: ReadonlyMap<string, unknown>): { routes: RoutesByPeer; held: readonly Reason[] } {
  const routes = new Map<string, RouteIntent[]>();
  const held = new Map<string, Reason>();
  for (const { peer, route, address, needs } of plan.routes) {
    if (needs.some((frontend) => !missing.has(frontend))) routes.set(peer, [...(routes.get(peer) ?? []), route]);
    else held.set(address, reason('NotProgrammed', { frontend: needs[0] ?? address }));
  }
  return { routes, held: [...held.values()] };
}
