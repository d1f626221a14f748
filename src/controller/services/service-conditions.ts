import { decideAnnouncement, type ServiceAnnouncement } from '../../decisions/announcement/decision.ts';
import { whySessionDown } from '../../decisions/announcement/session-down.ts';
import { conditionTypes } from '../../model/objects/condition-types.ts';
import { currentReport, type NodeState } from '../../model/objects/node-state.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import { conditionText, reason, type Reason } from '../../model/reasons.ts';
import { assignedAddresses, type Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { limits } from '../limits.ts';
import type { Reconciliation } from '../provider.ts';
import type { Condition } from '../status-writer.ts';

/** Why a Service does not have what it asks for. */
export interface UnmetRequest {
  readonly reason: Reason | undefined;
  readonly details: NonNullable<Reconciliation['details']>;
  /** Why its addresses changed although its owner did not ask for that. */
  readonly moved?: Reason;
}

/**
 * Returns the conditions of a Service that has an address or asks for one. Pure. `unmet`: the provider's refusal. `now`: milliseconds since
 * the epoch.
 */
export function serviceConditions(snapshot: Snapshot, service: Service, unmet: UnmetRequest, now: number): Condition[] {
  const assigned = addressAssigned(unmet);
  const conditions =
    // Nodes neither forward nor announce a load balancer that has a hostname.
    assignedAddresses(service).length === 0
      ? [assigned]
      : [assigned, programmed(snapshot, service, now), announced(snapshot, service, now)];
  const { generation } = service.metadata;
  return generation === undefined ? conditions : conditions.map((condition) => ({ ...condition, observedGeneration: generation }));
}

/** The condition of a Service that no longer asks for an address while its earlier resources remain. */
export function notReleased(because: Reason): Condition {
  return negativeCondition(conditionTypes.addressAssigned, because);
}

/** Lists the code of each pool when several refused. The numbers, which change while the Service waits, are in `herald explain`. */
function addressAssigned({ reason, details }: UnmetRequest): Condition {
  const type = conditionTypes.addressAssigned;
  if (reason === undefined) return { type, status: 'True', reason: 'Assigned', message: 'The Service has the addresses it asks for' };
  if (details.length < 2) return negativeCondition(type, reason);
  const each = details.slice(0, limits.detailsInCondition).map(({ of, code }) => `${of} ${code}`);
  if (details.length > each.length) each.push('and others');
  return { ...negativeCondition(type, reason), message: `${conditionText(reason)}: ${each.join(', ')}` };
}

/** Returns true when some live agent has not processed this version of the Service: its report is about an older one. */
export function hasUnobservedGeneration(snapshot: Snapshot, service: Service, now: number): boolean {
  const wanted = BigInt(service.metadata.resourceVersion || '0');
  return liveReports(snapshot, now).some(({ consumed }) => BigInt(consumed['Service'] ?? '0') < wanted);
}

/**
 * Returns the current reports of agents on existing nodes. Without any Node object all reports count, because it is unknown which nodes
 * exist.
 */
function liveReports({ nodes, nodeStates }: Snapshot, now: number): NodeState[] {
  const names = [...nodeStates.keys()].filter((name) => nodes.size === 0 || nodes.has(name));
  return names.flatMap((name) => currentReport(nodeStates, name, now) ?? []).filter(({ problem }) => problem?.code !== 'AgentStopped');
}

const reportCut = {
  status: 'Unknown',
  reason: 'ReportCut',
  message: 'More Services differ from what was decided than the report of a node lists',
} as const;

function negativeCondition(type: string, because: Reason): Condition {
  return { type, status: 'False', reason: because.code, message: shortened(conditionText(because)) };
}

/** Cuts the message: it may quote long text that a user wrote. */
function shortened(message: string): string {
  return message.length <= limits.conditionMessage ? message : `${message.slice(0, limits.conditionMessage - 3)}...`;
}

function programmed(snapshot: Snapshot, service: Service, now: number): Condition {
  const type = conditionTypes.programmed;
  const reports = liveReports(snapshot, now);
  if (reports.length === 0) return { type, status: 'Unknown', reason: 'NoAgentReports', message: 'No agent reports' };
  for (const state of reports) {
    const difference = state.problem ?? differenceOf(state, service, 'Programmed');
    if (difference !== undefined) return negativeCondition(type, difference);
  }
  if (reports.some(({ truncated }) => truncated === true)) return { type, ...reportCut };
  const unseen = reports.flatMap(({ host = [] }) => host).find(({ code }) => code === 'ForwardingNotSeen');
  // In scope `external` the finding is about ClusterIPs only, which have no condition.
  if (unseen !== undefined && snapshot.config.services === 'none')
    return { type, status: 'Unknown', reason: unseen.code, message: conditionText(unseen) };
  return { type, status: 'True', reason: 'Programmed', message: 'Every node that reports forwards the Service as decided' };
}

/**
 * True when at least one node announces the Service to at least one peer. If only nodes that are being drained do, the condition says so.
 * Else it has the first reason, in order of node names.
 */
function announced(snapshot: Snapshot, service: Service, now: number): Condition {
  const type = conditionTypes.announced;
  let first: Reason | undefined;
  let draining: Reason | undefined;
  let cut = false;
  for (const node of [...snapshot.nodes.keys()].toSorted()) {
    const { obstacle, drain } = announcementOnNode(snapshot, service, node, now);
    if (obstacle !== undefined) first ??= obstacle;
    else if (drain !== undefined) draining ??= drain;
    else if (snapshot.nodeStates.get(node)?.truncated === true) cut = true;
    else return { type, status: 'True', reason: 'Announced', message: 'At least one node announces the Service' };
  }
  if (cut) return { type, ...reportCut };
  if (draining !== undefined) return { type, status: 'True', reason: draining.code, message: conditionText(draining) };
  if (first !== undefined) return negativeCondition(type, first);
  return { type, status: 'Unknown', reason: 'NoNodes', message: 'There is no Node object' };
}

/** Why a node announces no address of the Service. Without an obstacle it announces some; `drain` then says why that may end. */
function announcementOnNode(
  snapshot: Snapshot,
  service: Service,
  node: string,
  now: number,
): { readonly obstacle?: Reason; readonly drain?: Reason } {
  const decision = decideAnnouncement(snapshot, service, node, { now });
  const obstacle = whyNotAnnounced(decision, snapshot, service, node, now);
  if (obstacle !== undefined) return { obstacle };
  const drain = decision.addresses.flatMap(({ result }) => (result.announce ? (result.drain ?? []) : []))[0];
  return drain === undefined ? {} : { drain };
}

function whyNotAnnounced(
  decision: ServiceAnnouncement,
  snapshot: Snapshot,
  service: Service,
  node: string,
  now: number,
): Reason | undefined {
  if (decision.reason !== undefined) return decision.reason;
  const announcing = decision.addresses.flatMap(({ result }) => (result.announce ? [result] : []));
  if (announcing.length === 0) {
    return decision.addresses.flatMap(({ result }) => (result.announce ? [] : [result.reason]))[0] ?? reason('NoAddress', {});
  }
  const state = currentReport(snapshot.nodeStates, node, now);
  if (state === undefined) return reason('AgentSilent', { node });
  const difference = state.problem ?? differenceOf(state, service, 'Announced') ?? differenceOf(state, service, 'Programmed');
  if (difference !== undefined) return difference;
  const peers = new Set(announcing.flatMap((result) => result.peers.flatMap((peer) => ('routes' in peer.result ? [peer.peer] : []))));
  const sessions = state.sessions.filter(({ peer }) => peers.has(peer));
  if (sessions.some((session) => session.state === 'Established')) return undefined;
  const down = sessions[0];
  if (down === undefined) return reason('AgentSilent', { node });
  return whySessionDown(down.peer, down);
}

function differenceOf(state: NodeState, service: Service, aspect: 'Programmed' | 'Announced'): Reason | undefined {
  const key = serviceKey(service.metadata);
  return state.differing.find((difference) => difference.service === key && difference.aspect === aspect)?.reason;
}
