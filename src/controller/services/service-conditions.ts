import { secondAnswers } from '../../decisions/verdict/l2-view.ts';
import { problemLine, reasonLine } from '../../decisions/verdict/verdict-text.ts';
import type { Verdict } from '../../decisions/verdict/verdict.ts';
import { poolsToRecord } from '../../decisions/announcement/pool-of-address.ts';
import { withPoolRecord } from '../../model/objects/pool-record.ts';
import { conditionTypes } from '../../model/objects/condition-types.ts';
import { conditionText, isUnserved, reasonText, type Reason, type ReasonCode } from '../../model/reasons.ts';
import { assignedAddresses, type Service } from '../../model/objects/service.ts';
import { assignedMessage } from '../../model/objects/sharing-terms.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { limits } from '../limits.ts';
import { externalIPsCondition } from './denied-external-ips.ts';
import type { Reconciliation } from '../provider.ts';
import type { Condition } from '../status-writer.ts';
import { assessAnnounced } from './announced-condition.ts';
import { judgementOf, negative, type Assessment, type Judgement, reportCut } from './service-judgement.ts';
import { isRunning } from '../../model/objects/node-state.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import type { CurrentReports } from './current-reports.ts';

/** Why a Service does not have what it asks for. */
export interface UnmetRequest {
  readonly reason: Reason | undefined;
  readonly details: NonNullable<Reconciliation['details']>;
  /** Why its addresses changed although its owner did not ask for others: another Service keeps them. */
  readonly moved?: Reason;
  /** Why nobody answers clients, or soon will not, although the Service has what it asks for. */
  readonly remark?: Reason | undefined;
}

export interface JudgedService {
  readonly conditions: readonly Condition[];
  /** Absent: every condition is True and good news, and nothing else suggests that clients are not answered. */
  readonly verdict?: Verdict;
  /** Decides the verdict in any case. It costs more than the conditions. */
  readonly judge: () => Verdict;
}

/**
 * Judges a Service that has an address or asks for one. Pure. `unmet`: the provider's refusal. `now`: milliseconds since the epoch. The
 * negative condition with the code of the verdict has its line; the others follow from it and point to it.
 */
export function judgeService(snapshot: Snapshot, service: Service, unmet: UnmetRequest, now: number): JudgedService {
  const judgement = judgementOf(snapshot, service, unmet.reason, now);
  const assessments = assessed(judgement, unmet);
  const conditions = explained(assessments, judgement);
  // It is about external IPs only, so it has no part in the verdict on the assigned addresses.
  const denied = externalIPsCondition(snapshot, service);
  const all = denied === undefined ? conditions : [...conditions, denied];
  const recorded = withRecordedPools(all, snapshot, service);
  const { generation } = service.metadata;
  return {
    conditions: generation === undefined ? recorded : recorded.map((condition) => ({ ...condition, observedGeneration: generation })),
    ...(conditions.every(isGood) && !mayBeUnserved(judgement) ? {} : { verdict: judgement.verdict() }),
    judge: judgement.verdict,
  };
}

/**
 * Judges a Service that pools do not serve, such as one of type ClusterIP or one with external IPs. It has a verdict if a node reports something
 * of it, unless another program serves it. `now`: milliseconds since the epoch.
 */
export function judgeOther(snapshot: Snapshot, service: Service, now: number): Pick<JudgedService, 'verdict' | 'judge'> {
  const judgement = judgementOf(snapshot, service, 'other', now);
  const isForwarded = service.type === 'ClusterIP' || service.type === 'NodePort' || service.externalIPs.length > 0;
  return { ...(isForwarded && isReported(judgement) ? { verdict: judgement.verdict() } : {}), judge: judgement.verdict };
}

function isReported({ service, reports }: Judgement): boolean {
  const key = serviceKey(service.metadata);
  return reports.failing.has(key) || reports.differing.has(key);
}

/** True when clients of some target may get no answer although every condition is good. The verdict decides; it costs more. */
function mayBeUnserved(judgement: Judgement): boolean {
  const { service, reports, views } = judgement;
  const [state] = reports.running;
  // A port without an endpoint is refused by every node alike.
  const idle = state === undefined ? [] : (views.of(state.metadata.name).idle ?? []);
  return service.externalIPs.length > 0 || idle.some(({ effect }) => effect === 'refused') || isReported(judgement);
}

/** Whatever the condition says, it records the pools of the addresses: nodes announce by them when a pool is gone. */
function withRecordedPools(conditions: readonly Condition[], snapshot: Snapshot, service: Service): readonly Condition[] {
  const pools = poolsToRecord(snapshot, service);
  return conditions.map((condition) =>
    condition.type === conditionTypes.addressAssigned ? { ...condition, message: withPoolRecord(condition.message, pools) } : condition,
  );
}

/** The address is announced, so Announced is True, but the last next hop drops the packets, or another one answers too. */
const doubtful: ReadonlySet<string> = new Set<ReasonCode>(['HeldBackLastNextHop', ...secondAnswers]);

function isGood({ status, reason }: Condition): boolean {
  return status === 'True' && !doubtful.has(reason);
}

/** Returns the conditions of a Service, as `judgeService` does. */
export function serviceConditions(snapshot: Snapshot, service: Service, unmet: UnmetRequest, now: number): readonly Condition[] {
  return judgeService(snapshot, service, unmet, now).conditions;
}

/** The condition of a Service that no longer asks for an address while its earlier resources remain. */
export function notReleased(because: Reason): Condition {
  const type = conditionTypes.addressAssigned;
  return { type, status: 'False', reason: because.code, message: shortened(reasonLine(because)) };
}

function assessed(judgement: Judgement, { reason, remark }: UnmetRequest): Assessment[] {
  const type = conditionTypes.addressAssigned;
  const assigned: Assessment = reason === undefined ? assessAssigned(judgement.service, remark) : negative(type, reason);
  // Nodes neither forward nor announce a load balancer that has a hostname.
  if (assignedAddresses(judgement.service).length === 0) return [assigned];
  return [assigned, assessProgrammed(judgement), assessAnnounced(judgement), ...assessAnswered(judgement)];
}

function assessAssigned(service: Service, remark: Reason | undefined): Assessment {
  const type = conditionTypes.addressAssigned;
  if (remark === undefined) return { type, status: 'True', reason: 'Assigned', message: assignedMessage(service) };
  const line = isUnserved(remark) ? problemLine('Not served', reasonText(remark), remark).line : reasonLine(remark);
  return { type, status: 'True', reason: remark.code, message: shortened(line) };
}

/**
 * False while the verdict is that clients' connections fail, as agents saw them. There is no such condition otherwise: an answer that was seen
 * says nothing about the next connection, and writing each one down would cost more than it tells.
 */
function assessAnswered({ reports, service, verdict }: Judgement): Assessment[] {
  const failing = reports.failing.get(serviceKey(service.metadata)) ?? [];
  const { code } = failing.length === 0 ? {} : verdict();
  return failing
    .filter(({ reason: because }) => because.code === code)
    .slice(0, 1)
    .map(({ reason: because }) => negative(conditionTypes.answered, because));
}

/** Gives the line of the verdict to the first condition with its code. Later negative conditions follow from it and point to it. */
function explained(assessments: readonly Assessment[], { verdict }: Judgement): Condition[] {
  const isNegative = assessments.some(({ because }) => because !== undefined);
  const { code, line } = isNegative ? verdict() : { line: '' };
  const first = assessments.findIndex(({ because }) => because !== undefined && because.code === code);
  return assessments.map(({ because, message = '', ...condition }, index) => {
    if (because === undefined) return { ...condition, message };
    if (index === first) return { ...condition, message: shortened(line) };
    if (first === -1 || index < first) return { ...condition, message: shortened(reasonLine(because)) };
    const cause = assessments[first]?.type.replace('herald.dev/', '') ?? '';
    return { ...condition, message: shortened(`${conditionText(because)}; the cause is in condition ${cause}`) };
  });
}

/** Cuts the message: it may quote long text that a user wrote. */
function shortened(message: string): string {
  return message.length <= limits.conditionMessage ? message : `${message.slice(0, limits.conditionMessage - 3)}...`;
}

/** True when every agent that reports has programmed the Service as decided, and no endpoint is behind a node that does not forward. */
export function assessProgrammed(judgement: Judgement): Assessment {
  const { snapshot, reports, service } = judgement;
  const type = conditionTypes.programmed;
  if (reports.running.length === 0) return { type, status: 'Unknown', reason: 'NoAgentReports', message: 'No agent reports' };
  // A reason of this Service comes before a problem that a node has with every Service.
  const [difference] = [
    ...notProgrammed(reports, service),
    ...cutOff(judgement),
    ...reports.withProblem.flatMap(({ problem }) => problem ?? []),
  ];
  if (difference !== undefined) return negative(type, difference);
  if (reports.cut.length > 0) return { type, ...reportCut };
  const [unseen] = reports.unseen.flatMap(({ host = [] }) => host.filter(({ code }) => code === 'ForwardingNotSeen'));
  // In scope `external` the finding is about ClusterIPs only, which have no condition.
  if (unseen !== undefined && snapshot.config.services === 'none')
    return { type, status: 'Unknown', reason: unseen.code, message: conditionText(unseen) };
  return { type, status: 'True', reason: 'Programmed', message: 'Every node that reports forwards the Service as decided' };
}

/** Returns why clients do not reach endpoints on nodes that have settled not to forward. Costs nothing while every node forwards. */
function cutOff({ views, verdict, reports }: Judgement): Reason[] {
  const holding = reports.holding.filter((state) => isRunning(state) && state.heldBack?.some(({ settled }) => settled) === true);
  if (holding.length === 0 || verdict().code !== 'EndpointsCutOff') return [];
  return holding.flatMap(({ metadata }) => views.of(metadata.name).lost ?? []).map(({ reason }) => reason);
}

function notProgrammed({ differing }: CurrentReports, { metadata }: Service): Reason[] {
  const found = differing.get(serviceKey(metadata)) ?? [];
  const isMissing = ({ aspect, agentRuns, reason: { code } }: (typeof found)[number]): boolean =>
    aspect === 'Programmed' && agentRuns && code !== 'ServiceLimited';
  return found.filter(isMissing).map(({ reason }) => reason);
}
