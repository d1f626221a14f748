import { namesOf, covers, resolveAdvertisement, type ResolvedAdvertisement } from './advertisements.ts';
import { defined } from '../../lang/defined.ts';
import type { Address, Family } from '../../net/address.ts';
import { formatPrefix } from '../../net/prefix.ts';
import type { AddressType, BGPAdvertisement, HeraldConfig } from '../../model/kinds/types.ts';
import { isExcludedNode } from '../../model/objects/cluster.ts';
import { requestedDrain } from '../../model/kinds/requested-drain.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { anySelects } from '../../model/objects/label-selector.ts';
import { assignedAddresses, type Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { decideAllocationClaim } from '../allocation/claim.ts';
import { whyHeldTwice } from '../allocation/held-twice.ts';
import { topologyOf, reachability, type Reachability, whyNoEndpoints } from '../forwarding/endpoints.ts';
import { whyNotForwarded } from '../forwarding/service-proxy-name.ts';
import { whyInUse } from './address-in-use.ts';
import { causeOf, heldBackFamily, isForwardedElsewhere } from './next-hops/hold-back.ts';
import { asLastResort, drainsInFavourOf } from './last-resort.ts';
import { linkBandwidthOf } from './next-hops/link-bandwidth.ts';
import { nextHopsOf, nextHopsText, type NextHops } from './next-hops/next-hops.ts';
import { isAnnouncedElsewhere, isDrainSettled, type OwnState } from './node-drain.ts';
import { originOf } from './origin.ts';
import { routesToPeer, type PeerAnnouncement } from './peer-routes.ts';
import { peersOfNode, type NodePeer } from './peers.ts';
import { annotations } from '../../model/annotations.ts';

export type { PeerAnnouncement } from './peer-routes.ts';

/** The addresses of one Service that one node announces. */
export interface ServiceAnnouncement {
  /** By type (LoadBalancer, ClusterIP, ExternalIP), in the Service's order. Every Service with a ClusterIP has an entry for it. */
  readonly addresses: readonly AddressAnnouncement[];
  /** Why a LoadBalancer has no address to decide on (none yet, another class), or the Service is not ours to announce at all. */
  readonly reason?: Reason;
}

export interface AddressAnnouncement {
  readonly address: Address;
  readonly type: AddressType;
  readonly result: AddressResult;
  /** Present where `maxNextHops` of a BGPAdvertisement applies: the other nodes on whose reports the decision rests. */
  readonly asked?: readonly string[];
  /** BGPAdvertisements that cover the address and are left out because of their own error. */
  readonly refused: readonly RefusedAdvertisement[];
}

/** With `announce: true` at least one peer has routes. With `announce: false`, `peers` is present when the peers are the cause. */
type AddressResult =
  | { readonly announce: false; readonly reason: Reason; readonly peers?: readonly PeerAnnouncement[] }
  | {
      readonly announce: true;
      readonly peers: readonly PeerAnnouncement[];
      /** Why the routes of a draining node are still announced. */
      readonly drain?: Reason;
      /** Why the routes of a node that cannot forward the family are still announced. */
      readonly heldBack?: Reason;
      /** Why a node that is not draining announces only as a last resort. */
      readonly lastResort?: Reason;
    };

export interface RefusedAdvertisement {
  readonly advertisement: string;
  readonly reason: Reason;
}

/**
 * Decides what a node announces for a Service, by MetalLB's ordered rules: the first rule that says no gives the reason. As in MetalLB,
 * node readiness, cordons and session states do not matter: a route is what the node should send. Only a draining node (by annotation, or
 * by the taint that HeraldConfig names) and a node that cannot forward check whether other nodes announce.
 */
export function decideAnnouncement(snapshot: Snapshot, service: Service, nodeName: string, view: OwnState = {}): ServiceAnnouncement {
  const notServed = whyNotForwarded(service, snapshot.config.serviceProxyName);
  if (notServed !== undefined) return { addresses: [], reason: notServed };
  const balanced = balancedAddresses(snapshot, service);
  const context = contextOf(snapshot, service, nodeName, view);
  const addresses = candidatesOf(service, balanced).map(([type, address]) => {
    const decided = underRefusal(context, decideAddress(context, address, type), view);
    return underDrain(context, underHoldBack(context, decided, view), view);
  });
  return 'reason' in balanced ? { addresses, reason: balanced.reason } : { addresses };
}

/** Returns the choices of nodes for the addresses of a Service, of BGPAdvertisements with `maxNextHops`. `now`: see `OwnState`. */
export function nextHopChoices(snapshot: Snapshot, service: Service, now: number): readonly NextHops[] {
  const bounded = [...snapshot.advertisements.values()].filter(({ maxNextHops }) => maxNextHops !== undefined);
  if (bounded.length === 0) return [];
  const context = contextOf(snapshot, service, '', { now });
  return candidatesOf(service, balancedAddresses(snapshot, service)).flatMap(([type, address]) => {
    const origin = originOf(snapshot, service, address, type);
    if ('code' in origin) return [];
    return bounded.flatMap((one) => {
      const resolved = covers(one, origin) ? resolveAdvertisement(snapshot, one, address, origin) : undefined;
      if (resolved === undefined || 'reason' in resolved) return [];
      const choice = nextHopsFor(context, resolved, address, type);
      return choice === undefined ? [] : [choice];
    });
  });
}

interface Context {
  readonly snapshot: Snapshot;
  readonly service: Service;
  readonly nodeName: string;
  /** Milliseconds since the epoch. Absent: no report is too old. */
  readonly now?: number;
  readonly awaitsReports?: true;
  /** Decide by this advertisement alone, and without its bound of next hops. */
  readonly only?: BGPAdvertisement;
  readonly peers: () => readonly NodePeer[];
  readonly reach: (family: Family) => Reachability;
}

/** Peers and endpoints are computed only after the earlier rules passed, and once for all addresses. */
function contextOf(
  snapshot: Snapshot,
  service: Service,
  nodeName: string,
  { now, awaitsReports, only }: Pick<Context, 'now' | 'awaitsReports' | 'only'>,
): Context {
  let peers: readonly NodePeer[] | undefined;
  const reach = new Map<Family, Reachability>();
  return {
    snapshot,
    service,
    nodeName,
    ...defined({ now, awaitsReports, only }),
    peers: () => (peers ??= peersOfNode(snapshot, nodeName)),
    reach(family) {
      const found = reach.get(family) ?? reachability(snapshot, service, family, topologyOf(snapshot, nodeName));
      reach.set(family, found);
      return found;
    },
  };
}

function balancedAddresses(snapshot: Snapshot, service: Service): { addresses: readonly Address[] } | { reason: Reason } {
  if (service.type !== 'LoadBalancer') return { addresses: [] };
  const claim = decideAllocationClaim(service, snapshot.config);
  if (!claim.mine) return { reason: claim.reason };
  const addresses = assignedAddresses(service);
  return addresses.length === 0 ? { reason: reason('NoAddress', undefined) } : { addresses };
}

function candidatesOf(
  { clusterIPs, externalIPs }: Service,
  balanced: ReturnType<typeof balancedAddresses>,
): readonly (readonly [AddressType, Address])[] {
  const byType = {
    LoadBalancer: 'addresses' in balanced ? balanced.addresses : [],
    ClusterIP: clusterIPs,
    ExternalIP: externalIPs,
  };
  const types = ['LoadBalancer', 'ClusterIP', 'ExternalIP'] as const;
  return types.flatMap((type) => byType[type].map((address) => [type, address] as const));
}

function decideAddress(context: Context, address: Address, type: AddressType): AddressAnnouncement {
  const { snapshot, service, nodeName } = context;
  const no = (reason: Reason, refused: readonly RefusedAdvertisement[] = []): AddressAnnouncement => {
    return { address, type, result: { announce: false, reason }, refused };
  };
  if (service.drain === true) return no(reason('ServiceDrained', undefined));
  const twice = type === 'LoadBalancer' ? whyHeldTwice(snapshot, service, address) : undefined;
  if (twice !== undefined) return no(twice);
  const inUse = whyInUse(snapshot, service, address, type);
  if (inUse !== undefined && type === 'LoadBalancer') return no(inUse);
  const origin = originOf(snapshot, service, address, type);
  if ('code' in origin) return no(origin);

  const all = context.only === undefined ? snapshot.advertisements.values() : [context.only];
  let advertisements = [...all].filter((advertisement) => covers(advertisement, origin));
  if (advertisements.length === 0) {
    const former = origin.isKept === true ? origin.pool?.metadata.name : undefined;
    return no(reason('NoAdvertisement', { type, ...defined({ former }) }));
  }
  if (inUse !== undefined) return no(inUse);
  const off = whySwitchedOff(service, type, snapshot.config);
  if (off !== undefined) return no(off);
  const node = snapshot.nodes.get(nodeName);
  if (node === undefined) return no(reason('NodeUnknown', { node: nodeName }));
  const { labels } = node.metadata;
  const onNode = advertisements.filter(({ nodeSelectors }) => anySelects(nodeSelectors, labels));
  const ofService = advertisements.filter(({ serviceSelectors }) => anySelects(serviceSelectors, service.metadata.labels));
  // An advertisement for the Service on other nodes is nearer than one that leaves the Service out.
  if (onNode.length === 0 || (ofService.length > 0 && !onNode.some((one) => ofService.includes(one))))
    return no(reason('NodeNotSelected', { node: nodeName, advertisements: namesOf(ofService.length > 0 ? ofService : advertisements) }));
  if (ofService.length === 0) return no(reason('ServiceNotSelected', { advertisements: namesOf(onNode) }));
  advertisements = onNode.filter((one) => ofService.includes(one));

  const resolved: ResolvedAdvertisement[] = [];
  const refused: RefusedAdvertisement[] = [];
  for (const advertisement of advertisements.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))) {
    const result = resolveAdvertisement(snapshot, advertisement, address, origin);
    if ('reason' in result) refused.push({ advertisement: advertisement.metadata.name, reason: result.reason });
    else resolved.push(result);
  }
  const [broken] = refused;
  if (resolved.length === 0 && broken !== undefined) return no(broken.reason, refused);

  const why = whyNodeCannot(context, address, type);
  if (why !== undefined) return no(why, refused);
  if (context.peers().length === 0) return no(reason('NoPeers', { node: nodeName }), refused);
  const bounded = withinNextHops(context, resolved, address, type);
  const asked = defined({ asked: bounded.asked });
  if ('reason' in bounded) return { ...no(bounded.reason, refused), ...asked };
  const weighted = withLinkBandwidth(context, bounded.resolved, address, type);
  const peers = context.peers().map((peer) => routesToPeer(snapshot, peer, address, weighted, context.peers()));
  const result = resultOf(peers);
  const decided = result.announce ? (lastResortResult(context, address, type, peers) ?? result) : result;
  return { address, type, result: decided, refused, ...asked };
}

/** Leaves out the advertisements that enough other nodes announce by, or returns why none is left. */
function withinNextHops(
  context: Context,
  resolved: readonly ResolvedAdvertisement[],
  address: Address,
  type: AddressType,
): { readonly asked: readonly string[] | undefined } & (
  | { readonly resolved: readonly ResolvedAdvertisement[] }
  | { readonly reason: Reason }
) {
  const { nodeName: node } = context;
  const choices = resolved.map((one) => ({ one, choice: nextHopsFor(context, one, address, type) }));
  const isBounded = choices.some(({ choice }) => choice !== undefined);
  const asked = isBounded ? [...new Set(choices.flatMap(({ choice }) => choice?.asked ?? []))].filter((name) => name !== node) : undefined;
  const within = choices.filter(({ choice }) => choice?.includes(node) !== false);
  const beyond = choices.find(({ choice }) => choice?.includes(node) === false);
  if (within.length > 0 || beyond?.choice === undefined) return { asked, resolved: within.map(({ one }) => one) };
  const { advertisement, prefix } = beyond.one;
  const most = advertisement.maxNextHops ?? 0;
  const others = nextHopsText(beyond.choice);
  const details = { node, advertisement: advertisement.metadata.name, most, prefix: formatPrefix(prefix), others };
  return { asked, reason: reason('BeyondMaxNextHops', details) };
}

/** Returns undefined for an advertisement without a bound. */
function nextHopsFor(
  { snapshot, service, now, awaitsReports, only }: Context,
  { advertisement, prefix }: ResolvedAdvertisement,
  address: Address,
  type: AddressType,
): NextHops | undefined {
  const { maxNextHops: most } = advertisement;
  if (most === undefined || only !== undefined) return undefined;
  const isLocal = service[policyOf(type)] === 'Local';
  return nextHopsOf(snapshot, service, { advertisement, most, prefix, isLocal, now, awaitsReports }, (other) => {
    const there = decideAddress(contextOf(snapshot, service, other, { only: advertisement }), address, type).result;
    return there.announce ? there.peers : [];
  });
}

function withLinkBandwidth(
  { service, reach }: Context,
  resolved: readonly ResolvedAdvertisement[],
  { family }: Address,
  type: AddressType,
): readonly ResolvedAdvertisement[] {
  const localEndpoints = service[policyOf(type)] === 'Local' ? reach(family).localWeight : undefined;
  return resolved.map((one) => ({ ...one, ...defined({ linkBandwidth: linkBandwidthOf(one.advertisement, localEndpoints) }) }));
}

/** Returns undefined when the node is no last resort. */
function lastResortResult(
  { snapshot, service, nodeName: node, ...limits }: Context,
  address: Address,
  type: AddressType,
  peers: readonly PeerAnnouncement[],
): AddressResult | undefined {
  if (service[policyOf(type)] !== 'Local') return undefined;
  const announces = (other: string): boolean => decideAddress(contextOf(snapshot, service, other, limits), address, type).result.announce;
  const other = drainsInFavourOf(snapshot, service, address.family, node, announces);
  if (other === undefined) return undefined;
  return { announce: true, peers: asLastResort(peers), lastResort: reason('EndpointsTerminating', { node, other }) };
}

/** Traffic to a ClusterIP is internal wherever it enters the cluster, so the internal policy decides, as in the kernel. */
function policyOf(type: AddressType): 'internalTrafficPolicy' | 'externalTrafficPolicy' {
  return type === 'ClusterIP' ? 'internalTrafficPolicy' : 'externalTrafficPolicy';
}

/** An agent on another host than its Node announces nothing: its host has other pods and other links. */
function underRefusal({ snapshot, nodeName }: Context, decided: AddressAnnouncement, { refusal }: OwnState): AddressAnnouncement {
  const reported = snapshot.nodeStates.get(nodeName)?.problem;
  const because = refusal === undefined ? (reported?.code === 'NodeNotThisHost' ? reported : undefined) : (refusal ?? undefined);
  return because === undefined || !decided.result.announce ? decided : { ...decided, result: { announce: false, reason: because } };
}

/** A node that cannot forward the family withdraws its routes once that has settled, unless no node that forwards announces the address. */
function underHoldBack(context: Context, decided: AddressAnnouncement, { heldBack, now }: OwnState): AddressAnnouncement {
  const { snapshot, service, nodeName: node } = context;
  const { address, type, result } = decided;
  const held = result.announce ? heldBackFamily(snapshot, node, address.family, heldBack) : undefined;
  if (held === undefined || !result.announce) return decided;
  const details = { node, family: held.family, ...causeOf(held.reason) };
  if (!held.settled) return { ...decided, result: { ...result, heldBack: reason('HoldBackPending', details) } };
  const routesAt = routesElsewhere(context, address, type);
  if (isForwardedElsewhere(snapshot, service, { node, family: address.family }, routesAt, now)) {
    return { ...decided, result: { announce: false, reason: reason('NodeHeldBack', details) } };
  }
  return { ...decided, result: { ...result, heldBack: reason('HeldBackLastNextHop', details) } };
}

/** Returns the routes that another node would announce if no node drained or held back. */
function routesElsewhere({ snapshot, service, now, awaitsReports }: Context, address: Address, type: AddressType) {
  return (other: string): readonly PeerAnnouncement[] => {
    const there = decideAddress(contextOf(snapshot, service, other, defined({ now, awaitsReports })), address, type).result;
    return there.announce ? there.peers : [];
  };
}

/** The last rule: a draining node first announces as a last resort, and then not at all, unless no other node would announce. */
function underDrain(context: Context, decided: AddressAnnouncement, { settled, heldBack, now }: OwnState): AddressAnnouncement {
  const { snapshot, service, nodeName: node } = context;
  const object = snapshot.nodes.get(node);
  const wish = object === undefined ? undefined : requestedDrain(snapshot.config, object);
  const { address, type, result } = decided;
  if (wish === undefined || !result.announce) return decided;
  const stays = (why: 'NodeDraining' | 'LastNextHop'): AddressAnnouncement => {
    const peers = asLastResort(result.peers);
    return { ...decided, result: { announce: true, peers, drain: reason(why, { node }), ...defined({ heldBack: result.heldBack }) } };
  };
  if (!(settled ?? isDrainSettled(snapshot, node))) return stays('NodeDraining');
  const place = { node, family: address.family, heldBack: heldBackFamily(snapshot, node, address.family, heldBack) !== undefined };
  const routesAt = routesElsewhere(context, address, type);
  if (wish !== 'force' && !isAnnouncedElsewhere(snapshot, service, place, routesAt, now)) return stays('LastNextHop');
  return { ...decided, result: { announce: false, reason: reason('NodeDrained', { node }) } };
}

/** Applies the rules about the node: its network, its exclusion, and whether its traffic reaches an endpoint. */
function whyNodeCannot(context: Context, address: Address, type: AddressType): Reason | undefined {
  const { snapshot, service, nodeName: node } = context;
  const object = snapshot.nodes.get(node);
  if (object?.networkUnavailable === true) return reason('NodeNetworkUnavailable', { node });
  if (object !== undefined && isExcludedNode(object)) return reason('NodeExcluded', { node });
  const policy = policyOf(type);
  const { cluster, local, endpoints } = context.reach(address.family);
  if (service[policy] === 'Local' && !local) return reason('NoLocalEndpoints', { node, policy });
  return cluster ? undefined : whyNoEndpoints(snapshot, service, address.family, endpoints);
}

function resultOf(peers: readonly PeerAnnouncement[]): AddressResult {
  if (peers.some(({ result }) => 'routes' in result)) return { announce: true, peers };
  const [first] = peers.flatMap(({ result }) => ('reason' in result ? [result.reason] : []));
  if (first === undefined) throw new RangeError('there is at least one peer');
  return { announce: false, reason: first, peers };
}

/**
 * Returns why an address stays unannounced although a BGPAdvertisement covers it: its Service switched it off, or HeraldConfig does for
 * Services without the annotation. A Service cannot switch an announcement on by itself: permission to write Services is no authority over
 * the network.
 */
function whySwitchedOff(service: Service, type: AddressType, config: HeraldConfig): Reason | undefined {
  if (type === 'LoadBalancer') return undefined;
  const ofService = type === 'ClusterIP' ? 'advertiseClusterIP' : 'advertiseExternalIPs';
  const ofConfig = type === 'ClusterIP' ? 'advertiseClusterIPs' : 'advertiseExternalIPs';
  const own = service[ofService];
  if (own ?? config[ofConfig]) return undefined;
  const by = own === undefined ? `${ofConfig} of HeraldConfig` : 'the Service';
  return reason('AdvertisingOff', { type, annotation: annotations[ofService], by });
}
