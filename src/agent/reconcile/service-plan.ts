import type { QuarantinedFrontend } from '../../dataplane/dataplane.ts';
import { decideAnnouncement, type ServiceAnnouncement } from '../../decisions/announcement/decision.ts';
import type { DrainView } from '../../decisions/announcement/node-drain.ts';
import type { RouteIntent } from '../../decisions/announcement/route.ts';
import { frontendsOfAddress } from '../../decisions/forwarding/address-frontends.ts';
import { decideForwarding } from '../../decisions/forwarding/plan.ts';
import { hasBackends } from '../../decisions/forwarding/scope.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import { prefixContains } from '../../net/prefix.ts';
import { frontendKey, type Frontend, type ServiceForwarding } from '../../net/frontend.ts';
import type { RoutesByPeer, WhyWithdrawn } from './announced-routes.ts';

/** What this node should do for one Service. */
export interface ServicePlan {
  readonly forwarding: ServiceForwarding;
  /** What another program should do for it, by frontendKey: the frontends that have backends. */
  readonly foreignFrontends: readonly string[];
  readonly routes: readonly BarrierRoute[];
  /** Where the node is drained. */
  readonly drain?: ServiceDrain;
}

/** What the drain of the node makes of a Service. */
interface ServiceDrain {
  /** Its routes stay: no other node announces them. */
  readonly kept: boolean;
  /** Frontends of addresses that are no longer announced, by frontendKey. */
  readonly unannounced: readonly string[];
}

/** A route to a peer, and the frontends that the kernel must have before it goes out. */
interface BarrierRoute {
  readonly peer: string;
  readonly route: RouteIntent;
  /** Text of the address that led to the route. */
  readonly address: string;
  /** By frontendKey. */
  readonly needs: readonly string[];
  /** Those of them that another program must have. Where both are empty nothing on this node answers the address, and it is not announced. */
  readonly needsForeign: readonly string[];
}

/** Of a Service that is gone. */
export const emptyPlan: ServicePlan = { forwarding: { frontends: [] }, foreignFrontends: [], routes: [] };

/** `why`: routes that are not in the plan. */
export function planService(
  snapshot: Snapshot,
  key: ServiceKey,
  node: string,
  view: DrainView = {},
): { readonly plan: ServicePlan; readonly why?: WhyWithdrawn } {
  const service = snapshot.services.get(key);
  if (service === undefined) return { plan: emptyPlan };
  const decision = decideForwarding(snapshot, service, node);
  const forwarding = decision.forwarding ?? emptyPlan.forwarding;
  const foreign = { frontends: decision.elsewhere.filter(hasBackends) };
  const routes: BarrierRoute[] = [];
  let kept = false;
  const unannounced: string[] = [];
  const announcement = decideAnnouncement(snapshot, service, node, view);
  for (const { address, result } of announcement.addresses) {
    const frontends = { needs: frontendsOfAddress(forwarding, address), needsForeign: frontendsOfAddress(foreign, address) };
    if (!result.announce) {
      if (result.reason.code === 'NodeDrained') unannounced.push(...frontends.needs, ...frontends.needsForeign);
      continue;
    }
    if (result.drain?.code === 'LastNextHop') kept = true;
    for (const { peer, result: toPeer } of result.peers) {
      if (!('routes' in toPeer)) continue;
      for (const route of toPeer.routes) routes.push({ peer, route, address: formatAddress(address), ...frontends });
    }
  }
  const drain = kept || unannounced.length > 0 ? { drain: { kept, unannounced } } : {};
  const plan = { forwarding, foreignFrontends: foreign.frontends.map(({ match }) => frontendKey(match)), routes, ...drain };
  return { plan, why: (peer, route) => whyNotAnnounced(announcement, peer, route) };
}

/** The rule that says no to what a route was for. */
function whyNotAnnounced({ addresses, reason }: ServiceAnnouncement, peer: string, { prefix }: RouteIntent): Reason | undefined {
  const covered = addresses.filter(({ address }) => prefixContains(prefix, address));
  for (const { result } of covered) {
    if (!result.announce) return result.reason;
    const toPeer = result.peers.find((one) => one.peer === peer)?.result;
    if (toPeer !== undefined && 'reason' in toPeer) return toPeer.reason;
  }
  return reason;
}

/**
 * Frontends that routes of the plan before led to, and to which none leads in the new one because it does not have them, or has them
 * without a backend for who comes from outside: policy Local, where no endpoint is on this node.
 */
export function frontendsToDrain(before: ServicePlan, plan: ServicePlan): Frontend[] {
  const [routed, routedStill] = [before, plan].map(({ routes }) => new Set(routes.flatMap(({ needs }) => needs)));
  const useful = new Set(plan.forwarding.frontends.filter(hasBackends).map(({ match }) => frontendKey(match)));
  return before.forwarding.frontends.filter(({ match }) => {
    const key = frontendKey(match);
    return routed?.has(key) === true && routedStill?.has(key) === false && !useful.has(key);
  });
}

/** The routes as if the kernel had everything of ours, and of another program what it has: `isForwarded`. */
export function routesOfPlan(plan: ServicePlan, isForwarded: (frontend: string) => boolean): RoutesByPeer {
  return byPeer(plan.routes.filter(({ needs, needsForeign: needsForeign }) => needs.length > 0 || needsForeign.some(isForwarded)));
}

/**
 * The commit barrier, after a commit: a route goes out when the kernel has a frontend of its address for this Service.
 * `quarantined` are those that it has not. One that the kernel refused does not take the address away from the other ports;
 * one that another Service has does, as its clients would reach that one's pods. `isForwarded` speaks of frontends of another program.
 */
export function routesPassingBarrier(
  key: ServiceKey,
  plan: ServicePlan,
  quarantined: ReadonlyMap<string, Pick<QuarantinedFrontend, 'owner'>>,
  isForwarded: (frontend: string) => boolean,
): { routes: RoutesByPeer; held: readonly Reason[] } {
  const held = new Map<string, Reason>();
  const isTaken = (frontend: string): boolean => {
    const owner = quarantined.get(frontend)?.owner;
    return owner !== undefined && owner !== key;
  };
  // Where Services contend for a frontend, the kernel has that of its owner.
  const isCommitted = (frontend: string): boolean => !quarantined.has(frontend) || quarantined.get(frontend)?.owner === key;
  const passed = plan.routes.filter(({ address, needs, needsForeign: [foreign, ...others] }) => {
    if (needs.length === 0 && foreign !== undefined) {
      if ([foreign, ...others].some(isForwarded)) return true;
      held.set(address, reason('AwaitsForwarding', { frontend: foreign }));
      return false;
    }
    const taken = needs.find(isTaken);
    if (taken === undefined && needs.some(isCommitted)) return true;
    held.set(address, reason('NotProgrammed', { frontend: taken ?? needs[0] ?? address }));
    return false;
  });
  return { routes: byPeer(passed), held: [...held.values()] };
}

function byPeer(routes: readonly BarrierRoute[]): RoutesByPeer {
  return new Map([...Map.groupBy(routes, ({ peer }) => peer)].map(([peer, group]) => [peer, group.map(({ route }) => route)]));
}
