import { decideAnnouncement, type AddressAnnouncement, type RefusedAdvertisement } from '../decisions/announcement/decision.ts';
import { consistentHashing } from '../decisions/forwarding/balancing.ts';
import { frontendsOfAddress } from '../decisions/forwarding/address-frontends.ts';
import { decideHealthCheck } from '../decisions/forwarding/health-check.ts';
import { decideForwarding } from '../decisions/forwarding/plan.ts';
import { whyNotServed } from '../decisions/forwarding/served.ts';
import type { ServiceKey } from '../model/metadata.ts';
import { wantsDirectReturn } from '../decisions/direct-return/plan.ts';
import { currentReport, reportAge, type DirectReturnReport, type NodeState } from '../model/node-state.ts';
import { reason, type Reason } from '../model/reasons.ts';
import type { Service } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { formatAddress } from '../net/address.ts';
import type { Hashed } from '../net/connection-hash.ts';
import { formatPrefix } from '../net/prefix.ts';
import { explainAllocation, type AllocationExplanation } from './allocation.ts';

/** Why a Service is as it is: the decisions that the controller and the agents take, and what the agents report. Plain data. */
export interface ServiceExplanation {
  readonly service: ServiceKey;
  readonly type: Service['type'];
  readonly allocation: AllocationExplanation;
  readonly endpoints: EndpointCount;
  /** How connections from outside are divided. Absent: none come, or another program serves them. */
  readonly balancing?: BalancingExplanation;
  /** In order of their names. */
  readonly nodes: readonly NodeExplanation[];
}

export type BalancingExplanation =
  | { readonly algorithm: 'random' }
  /** `slots`: more than were asked where there are many endpoints. */
  | { readonly algorithm: 'consistent'; readonly hashed: Hashed; readonly slots: number };

export interface EndpointCount {
  readonly ready: number;
  /** Terminating, but still serving: used where no other is ready. */
  readonly terminating: number;
  readonly unusable: number;
}

export interface NodeExplanation {
  readonly node: string;
  /** Why nothing that the decisions say of this node is sure: its agent is silent, was stopped, or its data plane fails. */
  readonly problem?: Reason;
  /** What its agent found wrong with the host. */
  readonly host: readonly Reason[];
  /** By which ways it takes part in direct server return, where the Service wants that and the agent has found out. */
  readonly directReturn?: Pick<DirectReturnReport, 'receives' | 'passes'>;
  /** Age of its last report; absent: there is none. */
  readonly reportedSecondsAgo?: number;
  readonly frontends: number;
  /** Frontends that HeraldConfig leaves to another program. */
  readonly elsewhere: number;
  /** What it should answer at the healthCheckNodePort, where the Service has one. */
  readonly healthCheck?: { readonly port: number; readonly localEndpoints: readonly { readonly family: string; readonly count: number }[] };
  /** Why this node does not forward all of the Service, by decision or as the agent reports. */
  readonly forwarding: readonly Reason[];
  /** A "no" that concerns every address. */
  readonly reason?: Reason;
  readonly addresses: readonly AddressExplanation[];
}

export interface PeerExplanation {
  readonly peer: string;
  readonly prefixes: readonly string[];
  readonly reason?: Reason;
  /** What is wrong with a session that runs all the same. */
  readonly warning?: Reason;
}

export interface AddressExplanation {
  readonly address: string;
  readonly type: AddressAnnouncement['type'];
  readonly reason?: Reason;
  /** By name of the peer: the prefixes that go out, or why none does. */
  readonly peers: readonly PeerExplanation[];
  readonly refused: readonly RefusedAdvertisement[];
}

/** `now`: milliseconds since the epoch, by which the agents' reports are judged. */
export function explainService(snapshot: Snapshot, key: ServiceKey, now: number): ServiceExplanation | undefined {
  const service = snapshot.services.get(key);
  if (service === undefined) return undefined;
  const nodes = [...new Set([...snapshot.nodes.keys(), ...snapshot.nodeStates.keys()])].toSorted();
  return {
    service: key,
    type: service.type,
    allocation: explainAllocation(snapshot, service),
    endpoints: countEndpoints(snapshot, key),
    ...explainBalancing(snapshot, service),
    nodes: nodes.map((node) => explainNode(snapshot, service, key, node, now)),
  };
}

function explainNode(snapshot: Snapshot, service: Service, key: ServiceKey, node: string, now: number): NodeExplanation {
  const { forwarding, elsewhere, reasons } = decideForwarding(snapshot, service, node);
  const announcement = decideAnnouncement(snapshot, service, node);
  const last = snapshot.nodeStates.get(node);
  const state = currentReport(snapshot.nodeStates, node, now);
  const problem = state === undefined ? reason('AgentSilent', { node }) : state.problem;
  const check = decideHealthCheck(snapshot, service, node);
  const localEndpoints = [...(check?.localEndpoints ?? [])].map(([family, count]) => ({ family: `IPv${family}`, count }));
  const differing = (state?.differing ?? []).filter((difference) => difference.service === key);
  const reported = differing.filter(({ aspect }) => aspect === 'Programmed' || aspect === 'HealthCheck');
  return {
    node,
    ...(problem === undefined ? {} : { problem }),
    host: state?.host ?? [],
    ...(last === undefined ? {} : { reportedSecondsAgo: reportAge(last, now) }),
    ...directReturnOf(snapshot, service, node),
    frontends: forwarding?.frontends.length ?? 0,
    elsewhere: elsewhere.length,
    ...(check === undefined ? {} : { healthCheck: { port: check.port, localEndpoints } }),
    forwarding: [...reasons, ...reported.map((difference) => difference.reason)],
    ...(announcement.reason === undefined ? {} : { reason: announcement.reason }),
    addresses: announcement.addresses.map((announced) =>
      explainAddress(announced, (peer, prefixes) => {
        if (state === undefined || state.problem?.code === 'AgentStopped') return problem;
        const concerning = differing.filter((difference) => concerns(difference.reason, peer, prefixes));
        return (
          heldBack(concerning, frontendsOfAddress({ frontends: [...(forwarding?.frontends ?? []), ...elsewhere] }, announced.address)) ??
          sessionDown(state, peer)
        );
      }),
    ),
  };
}

/** From the last report, however old: so do the nodes themselves. */
function directReturnOf(snapshot: Snapshot, service: Service, node: string): Pick<NodeExplanation, 'directReturn'> {
  const { directReturn } = snapshot.nodeStates.get(node) ?? {};
  if (directReturn === undefined || !wantsDirectReturn(snapshot.config, service)) return {};
  return { directReturn: { receives: directReturn.receives, passes: directReturn.passes } };
}

/** `obstacleTo`: why a route that was decided is not at the peer, as far as the agent reports. */
function explainAddress(
  { address, type, result, refused }: AddressAnnouncement,
  obstacleTo: (peer: string, prefixes: readonly string[]) => Reason | undefined,
): AddressExplanation {
  const peers = (result.peers ?? []).map(({ peer, result: toPeer }): PeerExplanation => {
    if (!('routes' in toPeer)) return { peer, prefixes: [], reason: toPeer.reason };
    const prefixes = toPeer.routes.map(({ prefix }) => formatPrefix(prefix));
    const obstacle = obstacleTo(peer, prefixes);
    const { warning } = toPeer;
    return { peer, prefixes, ...(obstacle === undefined ? {} : { reason: obstacle }), ...(warning === undefined ? {} : { warning }) };
  });
  return { address: formatAddress(address), type, ...(result.announce ? {} : { reason: result.reason }), peers, refused };
}

/** Some reasons are about one prefix, or about one at one peer. */
function concerns({ code, details }: Reason, peer: string, prefixes: readonly string[]): boolean {
  if (code === 'UnreachableRouteMissing') return prefixes.includes(details.prefix);
  return code !== 'RouteNotPossible' || (details.peer === peer && prefixes.includes(details.prefix));
}

/**
 * Why the agent holds a route back. It names one frontend for a Service: that one tells of its own address only, and the
 * other addresses are held back when the kernel refused every frontend they have.
 */
function heldBack(ofService: NodeState['differing'], frontends: readonly string[]): Reason | undefined {
  const held = ofService.find(({ aspect }) => aspect === 'Announced')?.reason;
  if (held?.code === 'AwaitsForwarding') return frontends.includes(held.details.frontend) ? held : undefined;
  if (held === undefined || held.code !== 'NotProgrammed' || frontends.includes(held.details.frontend)) return held;
  const refused = new Set(
    ofService.flatMap(({ reason: { code, details } }) =>
      code === 'FrontendQuarantined' || code === 'FrontendTaken' ? [details.frontend] : [],
    ),
  );
  const [first] = frontends;
  if (first === undefined || !frontends.every((frontend) => refused.has(frontend))) return undefined;
  return reason('NotProgrammed', { frontend: first });
}

function sessionDown({ sessions }: NodeState, peer: string): Reason | undefined {
  const session = sessions.find((candidate) => candidate.peer === peer);
  if (session?.state === 'Established') return undefined;
  return reason('SessionDown', { peer, state: session?.state ?? 'unknown to the agent', lastError: session?.lastError ?? '' });
}

function explainBalancing(snapshot: Snapshot, service: Service): Pick<ServiceExplanation, 'balancing'> {
  const external = service.type === 'LoadBalancer' || service.type === 'NodePort' || service.externalIPs.length > 0;
  if (!external || whyNotServed(service, snapshot.config.serviceProxyName) !== undefined) return {};
  const hashing = consistentHashing(snapshot.config, service);
  if (hashing === undefined) return { balancing: { algorithm: 'random' } };
  const tables = decideForwarding(snapshot, service, '').forwarding?.frontends.flatMap(({ slots }) => slots?.backendOf.length ?? []) ?? [];
  return { balancing: { algorithm: 'consistent', hashed: hashing.hashed, slots: Math.max(hashing.slots, ...tables) } };
}

function countEndpoints(snapshot: Snapshot, key: ServiceKey): EndpointCount {
  const states = new Map<string, 'ready' | 'terminating' | 'unusable'>();
  for (const { endpoints } of snapshot.endpointSlices(key)) {
    for (const { address, ready, serving, terminating } of endpoints) {
      states.set(formatAddress(address), ready ? 'ready' : serving && terminating ? 'terminating' : 'unusable');
    }
  }
  const count = (state: string): number => [...states.values()].filter((other) => other === state).length;
  return { ready: count('ready'), terminating: count('terminating'), unusable: count('unusable') };
}
