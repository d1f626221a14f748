import { decideAllocationClaim } from '../../decisions/allocation/claim.ts';
import { consistentHashing } from '../../decisions/forwarding/balancing.ts';
import { decideForwarding } from '../../decisions/forwarding/plan.ts';
import { whyNotServed } from '../../decisions/forwarding/service-proxy-name.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Pod } from '../../model/objects/pod.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import type { HashInput } from '../../net/connection-hash.ts';
import { explainAllocation, type AllocationExplanation } from '../pools/allocation.ts';
import { clientReachability, type ClientReachability } from './client-reachability.ts';
import type { ProviderExplanation, ServiceRecordExplanation } from '../provider/provider.ts';
import { explainEndpoints, type EndpointsExplanation } from './service-endpoints.ts';
import { explainNodeForService, type NodeExplanation } from './service-node.ts';

/** Why a Service is as it is: the decisions that the controller and the agents take, and what the agents report. Plain data. */
export interface ServiceExplanation {
  readonly service: ServiceKey;
  readonly type: Service['type'];
  readonly allocation: AllocationExplanation;
  /** Addresses and names in its status, whoever wrote them. Absent: there are none. */
  readonly status?: readonly string[];
  /** Absent: nobody was asked. */
  readonly provider?: ProviderExplanation;
  /** Absent: there is none, or nobody looked. */
  readonly record?: ServiceRecordExplanation;
  readonly endpoints: EndpointsExplanation;
  /** How connections from outside are divided. Absent: none come, or another program serves them. */
  readonly balancing?: BalancingExplanation;
  /** In order of their names. */
  readonly nodes: readonly NodeExplanation[];
  /** Why there are none. */
  readonly noNodes?: Reason;
  /** What clients meet, address by address and port by port. */
  readonly clients?: readonly ClientReachability[];
}

export type BalancingExplanation =
  | { readonly algorithm: 'random' }
  /** `slots`: more than were asked where there are many endpoints. */
  | { readonly algorithm: 'consistent'; readonly hashed: HashInput; readonly slots: number };

/** `now`: milliseconds since the epoch, by which the agents' reports are judged. `pods`: of the namespace, where they could be read. */
export function explainService(snapshot: Snapshot, key: ServiceKey, now: number, pods?: readonly Pod[]): ServiceExplanation | undefined {
  const service = snapshot.services.get(key);
  if (service === undefined) return undefined;
  const names = [...new Set([...snapshot.nodes.keys(), ...snapshot.nodeStates.keys()])].toSorted();
  const nodes = names.map((node) => explainNodeForService(snapshot, service, node, now));
  const status = service.ingress.map(({ address, hostname = '' }) => (address === undefined ? hostname : formatAddress(address)));
  return {
    service: key,
    type: service.type,
    allocation: explainAllocation(snapshot, service),
    ...(status.length === 0 ? {} : { status }),
    endpoints: explainEndpoints(snapshot, service, key, pods),
    ...explainBalancing(snapshot, service),
    nodes,
    ...(nodes.length === 0 ? { noNodes: reason('NoNodes', undefined) } : {}),
    clients: clientReachability(service, nodes, decideAllocationClaim(service, snapshot.config).mine),
  };
}

/** What concerns one node, or one peer, alone. Undefined: the name is not known. */
export function narrowed(
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
  if (!external || whyNotServed(service, snapshot.config.serviceProxyName) !== undefined) return {};
  const hashing = consistentHashing(snapshot.config, service);
  if (hashing === undefined) return { balancing: { algorithm: 'random' } };
  const tables = decideForwarding(snapshot, service, '').forwarding?.frontends.flatMap(({ slots }) => slots?.backendOf.length ?? []) ?? [];
  return { balancing: { algorithm: 'consistent', hashed: hashing.hashed, slots: Math.max(hashing.slots, ...tables) } };
}
