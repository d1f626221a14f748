import type { QuarantinedFrontend } from '../../dataplane/dataplane.ts';
import { decideAnnouncement, type ServiceAnnouncement } from '../../decisions/announcement/decision.ts';
import type { OwnState } from '../../decisions/announcement/node-drain.ts';
import type { RouteIntent } from '../../decisions/announcement/route.ts';
import { frontendsOfAddress, hasBackends } from '../../decisions/forwarding/scope.ts';
import type { L2Candidate, L2Decisions, L2Settings } from '../../decisions/l2/candidates.ts';
import { decideForwarding } from '../../decisions/forwarding/plan.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { assignedAddresses } from '../../model/objects/service.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import { prefixContains } from '../../net/prefix.ts';
import { frontendKey, type Frontend, type ServiceForwarding } from '../../net/frontend.ts';
import type { RoutesByPeer, WhyWithdrawn } from './announced-routes.ts';

/** The forwarding and the routes of one Service on this node. */
export interface ServicePlan {
  readonly forwarding: ServiceForwarding;
  /** Frontends with backends that another program should forward, by frontendKey. */
  readonly foreignFrontends: readonly string[];
  readonly routes: readonly BarrierRoute[];
  /** Addresses that this node may have to announce by ARP or NDP. */
  readonly l2: readonly BarrierAddress[];
  /** Present where `maxNextHops` applies: the other nodes on whose reports the routes depend. */
  readonly asked?: readonly string[];
  /** Set while the node is drained. */
  readonly drain?: ServiceDrain;
  /** Set when the node cannot forward an address and stays because no node that can announces it. */
  readonly isHeldBackLastNextHop?: true;
}

/** How the node drain affects a Service. */
interface ServiceDrain {
  /** True: the routes stay because no other node announces them. */
  readonly kept: boolean;
  /** Frontends of addresses that are no longer announced, by frontendKey. */
  readonly unannounced: readonly string[];
}

/** An address, and the frontends that must be forwarded before it is announced. */
interface BarrierFrontends {
  /** As text. */
  readonly address: string;
  /** Frontends that the kernel must have from Herald, by frontendKey. */
  readonly needs: readonly string[];
  /** Frontends that another program must forward. If there are none and no `needs`, nothing answers here: it is not announced. */
  readonly needsForeign: readonly string[];
}

/** A route to a peer that the address led to. */
interface BarrierRoute extends BarrierFrontends {
  readonly peer: string;
  readonly route: RouteIntent;
}

interface BarrierAddress extends BarrierFrontends {
  readonly candidates: readonly L2Candidate[];
  readonly settings: L2Settings;
  readonly everHeld: boolean;
}

/** The plan of a deleted Service. */
export const emptyPlan: ServicePlan = { forwarding: { frontends: [] }, foreignFrontends: [], routes: [], l2: [] };

/** Plans a Service. `why` returns the reason for a route that is not in the plan. */
export function planService(
  snapshot: Snapshot,
  key: ServiceKey,
  node: string,
  view: OwnState = {},
  l2Decisions?: L2Decisions,
): { readonly plan: ServicePlan; readonly why?: WhyWithdrawn } {
  const service = snapshot.services.get(key);
  if (service === undefined) return { plan: emptyPlan };
  const decision = decideForwarding(snapshot, service, node);
  const forwarding = decision.forwarding ?? emptyPlan.forwarding;
  const foreign = { frontends: decision.foreign.filter(hasBackends) };
  const routes: BarrierRoute[] = [];
  let kept = false;
  let isHeldBackLastNextHop = false;
  const unannounced: string[] = [];
  const announcement = decideAnnouncement(snapshot, service, node, view);
  for (const { address, result } of announcement.addresses) {
    const frontends = { needs: frontendsOfAddress(forwarding, address), needsForeign: frontendsOfAddress(foreign, address) };
    if (!result.announce) {
      if (result.reason.code === 'NodeDrained') unannounced.push(...frontends.needs, ...frontends.needsForeign);
      continue;
    }
    if (result.drain?.code === 'LastNextHop') kept = true;
    if (result.heldBack?.code === 'HeldBackLastNextHop') isHeldBackLastNextHop = true;
    for (const { peer, result: toPeer } of result.peers) {
      if (!('routes' in toPeer)) continue;
      for (const route of toPeer.routes) routes.push({ peer, route, address: formatAddress(address), ...frontends });
    }
  }
  const l2 = assignedAddresses(service).flatMap((address): BarrierAddress[] => {
    const decided = l2Decisions?.decide(address);
    if (decided === undefined || 'reason' in decided) return [];
    const { candidates, settings } = decided;
    const everHeld = l2Decisions?.lastClaim(address) !== undefined;
    const frontends = { needs: frontendsOfAddress(forwarding, address), needsForeign: frontendsOfAddress(foreign, address) };
    return [{ address: formatAddress(address), candidates, settings, everHeld, ...frontends }];
  });
  const states = {
    ...(kept || unannounced.length > 0 ? { drain: { kept, unannounced } } : {}),
    ...(isHeldBackLastNextHop ? { isHeldBackLastNextHop: true as const } : {}),
  };
  const asking = announcement.addresses.flatMap(({ asked }) => (asked === undefined ? [] : [asked]));
  const plan = {
    forwarding,
    foreignFrontends: foreign.frontends.map(({ match }) => frontendKey(match)),
    routes,
    l2,
    ...states,
    ...(asking.length === 0 ? {} : { asked: asking.flat() }),
  };
  return { plan, why: (peer, route) => whyNotAnnounced(announcement, peer, route) };
}

/** Returns the reason why the decision does not announce a route. */
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
 * Returns the frontends to drain: routes of the previous plan led to them, and none leads to them now, because the new plan drops them or
 * leaves them without a backend for external clients (policy Local without an endpoint on this node).
 */
export function frontendsToDrain(before: ServicePlan, plan: ServicePlan): Frontend[] {
  const [routed, routedStill] = [before, plan].map(({ routes, l2 }) => new Set([...routes, ...l2].flatMap(({ needs }) => needs)));
  const useful = new Set(plan.forwarding.frontends.filter(hasBackends).map(({ match }) => frontendKey(match)));
  return before.forwarding.frontends.filter(({ match }) => {
    const key = frontendKey(match);
    return routed?.has(key) === true && routedStill?.has(key) === false && !useful.has(key);
  });
}

/** Returns the routes as if the kernel had all frontends of Herald; frontends of another program count only if `isForwarded`. */
export function routesOfPlan(plan: ServicePlan, isForwarded: (frontend: string) => boolean): RoutesByPeer {
  return byPeer(plan.routes.filter(({ needs, needsForeign }) => needs.length > 0 || needsForeign.some(isForwarded)));
}

/**
 * The commit barrier, applied after a commit: a route may go out when the kernel has a frontend of its address for this Service.
 * `quarantined` lists the frontends that the kernel does not have. A refused frontend does not stop the other ports of its address; a
 * frontend that another Service owns does, because clients would reach that Service's pods. `isForwarded` is about frontends of another
 * program.
 */
export function routesPassingBarrier(
  key: ServiceKey,
  plan: ServicePlan,
  quarantined: ReadonlyMap<string, Pick<QuarantinedFrontend, 'owner'>>,
  isForwarded: (frontend: string) => boolean,
): { routes: RoutesByPeer; l2: readonly BarrierAddress[]; held: readonly Reason[] } {
  const held = new Map<string, Reason>();
  const isTaken = (frontend: string): boolean => {
    const owner = quarantined.get(frontend)?.owner;
    return owner !== undefined && owner !== key;
  };
  // Where Services contend for a frontend, the kernel has the owner's.
  const isCommitted = (frontend: string): boolean => !quarantined.has(frontend) || quarantined.get(frontend)?.owner === key;
  const isPassing = ({ address, needs, needsForeign: [foreign, ...others] }: BarrierFrontends): boolean => {
    if (needs.length === 0 && foreign !== undefined) {
      if ([foreign, ...others].some(isForwarded)) return true;
      held.set(address, reason('AwaitsForwarding', { frontend: foreign }));
      return false;
    }
    const taken = needs.find(isTaken);
    if (taken === undefined && needs.some(isCommitted)) return true;
    held.set(address, reason('NotProgrammed', { frontend: taken ?? needs[0] ?? address }));
    return false;
  };
  return { routes: byPeer(plan.routes.filter(isPassing)), l2: plan.l2.filter(isPassing), held: [...held.values()] };
}

function byPeer(routes: readonly BarrierRoute[]): RoutesByPeer {
  return new Map([...Map.groupBy(routes, ({ peer }) => peer)].map(([peer, group]) => [peer, group.map(({ route }) => route)]));
}
