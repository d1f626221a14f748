import { defined } from '../../lang/defined.ts';
import { decideAllocationClaim } from '../../decisions/allocation/claim.ts';
import { algorithmOf, hashingOf } from '../../decisions/forwarding/balancing.ts';
import { decideForwarding } from '../../decisions/forwarding/plan.ts';
import { whyNotForwarded } from '../../decisions/forwarding/service-proxy-name.ts';
import { clientReachability, type ClientReachability } from '../../decisions/verdict/client-reachability.ts';
import { decideVerdict } from '../../decisions/verdict/decide-verdict.ts';
import { endpointPlaces } from '../../decisions/verdict/causes/silent-endpoints.ts';
import type { Verdict } from '../../decisions/verdict/verdict.ts';
import { nodeNames } from '../../decisions/verdict/node-names.ts';
import { nodeViewsOf } from '../../decisions/verdict/node-view.ts';
import { servedFrontends, seenConnections, type SeenConnections, type Unseen } from '../../decisions/verdict/seen-connections.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Pod } from '../../model/objects/pod.ts';
import type { ReleasedAddress } from '../../model/parse/released-address.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { ingressTexts, type Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { familyOfText, type Family } from '../../net/address.ts';
import { ageText } from '../text/age.ts';
import type { LoadBalancing } from '../../model/objects/load-balancing.ts';
import type { HashInput } from '../../net/connection-hash.ts';
import { explainL2, type L2AddressExplanation } from '../l2/l2-address.ts';
import { explainAllocation, type AllocationExplanation } from '../pools/allocation.ts';
import type { ProviderExplanation, ServiceRecordExplanation } from '../provider/provider.ts';
import { sinceAskedAgain } from './seen/asked-again.ts';
import { withDeclaredPorts } from './seen/declared-ports.ts';
import { explainEndpoints, type EndpointsExplanation } from './service-endpoints.ts';
import { explainNodeForService, type NodeExplanation } from './service-node.ts';

/** Why a Service is as it is: the decisions of the controller and the agents, and the agents' reports. Plain data. */
export interface ServiceExplanation {
  readonly service: ServiceKey;
  /** Says if clients reach the Service, with the first cause if they do not, and the fix. */
  readonly verdict: Verdict;
  readonly type: Service['type'];
  readonly allocation: AllocationExplanation;
  /** Addresses and names in the status, whichever program wrote them. Absent: there are none. */
  readonly status?: readonly string[];
  /** Absent: not requested. */
  readonly provider?: ProviderExplanation;
  /** Absent: there is no record, or it was not read. */
  readonly record?: ServiceRecordExplanation;
  readonly endpoints: EndpointsExplanation;
  /** How connections from outside are balanced. Absent: none arrive, or another program serves them. */
  readonly balancing?: BalancingExplanation;
  /** The time for which sessionAffinity keeps a client at its endpoint. Absent: it does not. */
  readonly affinitySeconds?: number;
  /** Addresses that an L2Advertisement covers. Absent: none. */
  readonly l2?: readonly L2AddressExplanation[];
  /** Sorted by name. */
  readonly nodes: readonly NodeExplanation[];
  /** Why there are no nodes. */
  readonly noNodes?: Reason;
  /** What agents saw of connections to it. */
  readonly seen: SeenExplanation;
  /** The result for clients, for each address and port. */
  readonly clients?: readonly ClientReachability[];
}

/** The frontends at which agents saw connections answered in the last ten minutes. */
export interface SeenExplanation {
  /** `frontend` as by frontendKey. `secondsAgo`: when the last one was seen, and on which node. Absent: no agent was asked. */
  readonly answered: readonly { readonly frontend: string; readonly secondsAgo?: number; readonly node?: string }[];
  /** Why connections may have been answered unseen. Absent: every agent looks. */
  readonly unseen?: Unseen;
  /** Since when no answer was seen at the others, because all routers asked for the routes again. Absent: lately. */
  readonly since?: string;
}

/** How endpoints are chosen. */
export interface BalancingExplanation {
  /** At load balancer addresses and external IPs; without any, at the ClusterIPs. */
  readonly algorithm: LoadBalancing;
  /** At ClusterIPs and NodePorts. Absent: the same. */
  readonly elsewhere?: LoadBalancing;
  readonly hash?: {
    readonly hashed: HashInput;
    /** May exceed the configured number when there are many endpoints. */
    readonly slots: number;
    /** At the addresses for clients outside, every node chooses the same endpoint. */
    readonly onEveryNode: boolean;
  };
}

/** Knowledge that is not in the snapshot. */
export interface BesideSnapshot {
  /** Pods of the namespace. Absent: they could not be read. */
  readonly pods?: readonly Pod[] | undefined;
  /** Addresses that pools keep for Services that released them. */
  readonly released?: readonly ReleasedAddress[];
}

/** `now` is in milliseconds since the epoch; the age of agents' reports is measured by it. */
export function explainService(
  snapshot: Snapshot,
  key: ServiceKey,
  now: number,
  { pods, released }: BesideSnapshot = {},
): ServiceExplanation | undefined {
  const service = snapshot.services.get(key);
  if (service === undefined) return undefined;
  const viewOf = nodeViewsOf(snapshot, service, now);
  const views = nodeNames(snapshot, now).map((node) => explainNodeForService(snapshot, service, viewOf(node), now));
  const nodes = pods === undefined ? views : withDeclaredPorts(views, pods);
  const allocation = explainAllocation(snapshot, service, released);
  const l2 = explainL2(snapshot, service, now);
  const seen = { ...explainSeen(snapshot, service, now), ...defined({ since: sinceAskedAgain(snapshot.nodeStates, nodes, now) }) };
  const status = ingressTexts(service);
  return {
    service: key,
    ...conclusionOf(snapshot, service, { allocation, nodes, seen }),
    type: service.type,
    allocation,
    ...(status.length === 0 ? {} : { status }),
    endpoints: explainEndpoints(snapshot, service, key, pods),
    ...explainBalancing(snapshot, service),
    ...defined({ affinitySeconds: service.affinitySeconds }),
    ...(l2.length === 0 ? {} : { l2 }),
    seen,
    nodes,
    ...(nodes.length === 0 ? { noNodes: reason('NoNodes', undefined) } : {}),
  };
}

function explainSeen(snapshot: Snapshot, service: Service, now: number): SeenExplanation {
  const { answered, unseen } = seenConnections(snapshot, now);
  return {
    answered: servedFrontends(service)
      .filter(answered)
      .map((frontend) => ({ frontend })),
    ...defined({ unseen: unseen() }),
  };
}

/** Judges the Service again after nodes or the allocation of its explanation were corrected. */
export function withConclusion<T extends ServiceExplanation>(explanation: T, snapshot: Snapshot): T {
  const service = snapshot.services.get(explanation.service);
  if (service === undefined) return explanation;
  return { ...explanation, ...conclusionOf(snapshot, service, explanation) };
}

function conclusionOf(
  snapshot: Snapshot,
  service: Service,
  { allocation: { reason: unmet }, nodes, noNodes, seen }: Pick<ServiceExplanation, 'allocation' | 'nodes' | 'noNodes' | 'seen'>,
): Pick<ServiceExplanation, 'verdict'> & { readonly clients: readonly ClientReachability[] } {
  const claim = decideAllocationClaim(service, snapshot.config);
  const answered = new Set(seen.answered.map(({ frontend }) => frontend));
  const seenBy: SeenConnections = {
    answered: (frontend) => answered.has(frontend),
    unseen: () => seen.unseen,
    age: (family) => latestAnswer(seen, family),
    ...defined({ since: seen.since }),
  };
  const clients = clientReachability(service, nodes, claim.mine, seenBy);
  const why = { ...defined({ noNodes }), ...(claim.mine ? defined({ unmet }) : { notOurs: claim.reason }) };
  return { verdict: decideVerdict({ service, nodes, clients, seen: seenBy, placeOf: endpointPlaces(snapshot, service), ...why }), clients };
}

function latestAnswer({ answered }: SeenExplanation, family: Family): string | undefined {
  const ofFamily = answered.filter(({ frontend }) => familyOfText(frontend.slice(0, frontend.indexOf(' '))) === family);
  const ages = ofFamily.flatMap(({ secondsAgo }) => secondsAgo ?? []);
  return ages.length === 0 ? undefined : ageText(Math.min(...ages));
}

/** Restricts an explanation to one node, or one peer. Undefined: the name is not known. */
export function narrowToNodeAndPeer(
  explanation: ServiceExplanation,
  { node, peer }: { readonly node?: string; readonly peer?: string },
): ServiceExplanation {
  const nodes = explanation.nodes.filter((one) => node === undefined || one.node === node);
  if (peer === undefined) return { ...explanation, nodes };
  return {
    ...explanation,
    nodes: nodes.map((one) => ({
      ...one,
      addresses: one.addresses.map((address) => ({ ...address, peers: address.peers.filter((toPeer) => toPeer.peer === peer) })),
      sessions: (one.sessions ?? []).filter((session) => session.peer === peer),
    })),
  };
}

function explainBalancing(snapshot: Snapshot, service: Service): Pick<ServiceExplanation, 'balancing'> {
  const external = service.type === 'LoadBalancer' || service.type === 'NodePort' || service.externalIPs.length > 0;
  if (whyNotForwarded(service, snapshot.config.serviceProxyName) !== undefined) return {};
  const [algorithm, elsewhere] = (['external address', 'elsewhere'] as const).map((place) => algorithmOf(snapshot.config, service, place));
  if (algorithm === undefined || elsewhere === undefined) return {};
  if (!external) return elsewhere === 'random' ? {} : { balancing: withHash(snapshot, service, elsewhere) };
  const balancing = withHash(snapshot, service, algorithm);
  return { balancing: algorithm === elsewhere ? balancing : { ...balancing, elsewhere } };
}

function withHash(snapshot: Snapshot, service: Service, algorithm: LoadBalancing): BalancingExplanation {
  const hashing = hashingOf(algorithm, snapshot.config, service);
  if (hashing === undefined) return { algorithm };
  const tables = decideForwarding(snapshot, service, '').forwarding?.frontends.flatMap(({ slots }) => slots?.backendOf.length ?? []) ?? [];
  const onEveryNode = service.type !== 'ClusterIP' && service.externalTrafficPolicy === 'Cluster';
  return { algorithm, hash: { hashed: hashing.hashed, slots: Math.max(hashing.slots, ...tables), onEveryNode } };
}
