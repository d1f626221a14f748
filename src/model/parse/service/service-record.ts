import { isRecord } from '../../../lang/is-record.ts';
import { defined } from '../../../lang/defined.ts';
import type { Condition } from '../../objects/condition.ts';
import { conditionTypes } from '../../objects/condition-types.ts';
import { poolRecordIn, withoutPoolRecord } from '../../objects/pool-record.ts';
import type { Ingress, Service } from '../../objects/service.ts';
import { termsInMessage } from '../../objects/sharing-terms.ts';
import type { ReasonCode } from '../../reasons.ts';
import { FieldReader } from '../../reading/fields.ts';
import { readIngress } from './load-balancer-ingress.ts';
import type { FieldProblem, Findings } from '../../reading/problem.ts';

export interface ServiceRecord extends ConditionRecord {
  /** Absent when the record is not usable. */
  readonly ingress?: readonly Ingress[];
  /** Since when the Service lacks a requested address, RFC 3339 in UTC. Absent: it lacks none. */
  readonly waitingSince?: string;
  /** Only the conditions that Herald writes. */
  readonly conditions: readonly Condition[];
  readonly problems: readonly FieldProblem[];
}

/** The record in the conditions of a Service, as `Service` describes it. */
type ConditionRecord = Pick<Service, 'addressTaken' | 'recordedTerms' | 'recordedPools'>;

/**
 * Reads the record of a Service: an object that has only the status that Herald wrote. An empty ingress list is a record too: no address.
 */
export function readServiceRecord(raw: Readonly<Record<string, unknown>>): ServiceRecord {
  const findings: Findings = { problems: [], warnings: [], unusable: false };
  const status = new FieldReader(raw, findings, { unknown: 'ignored' }).object('status');
  const ingress = readIngress(status.object('loadBalancer'));
  const written = status.raw('conditions');
  const conditions = Array.isArray(written) ? written.filter(isRecord) : [];
  return {
    problems: findings.problems,
    conditions: conditions.flatMap((condition) => readCondition(condition) ?? []),
    ...(findings.unusable ? {} : { ingress }),
    ...defined({ waitingSince: waitingSince(unmetCondition(conditions)) }),
    ...readConditionRecord(written),
  };
}

/** Reads what the conditions say about the addresses of the Service: its right to them (docs/adr/0006, docs/adr/0028), and their pools. */
export function readConditionRecord(conditions: unknown): ConditionRecord {
  const list = Array.isArray(conditions) ? conditions.filter(isRecord) : [];
  const assigned = list.find(({ type }) => type === conditionTypes.addressAssigned);
  const message = typeof assigned?.['message'] === 'string' ? assigned['message'] : '';
  const recordedTerms = assigned?.['status'] === 'True' ? termsInMessage(withoutPoolRecord(message)) : undefined;
  const isTaken = unmetCondition(list)?.['reason'] === ('AddressTaken' satisfies ReasonCode);
  const pools = poolRecordIn(message);
  return {
    ...(isTaken ? { addressTaken: true } : {}),
    ...defined({ recordedTerms }),
    ...(pools.length === 0 ? {} : { recordedPools: pools }),
  };
}

type RawCondition = Readonly<Record<string, unknown>>;

/** Returns condition AddressAssigned when it is False. An unreadable condition counts as absent: no address depends on it alone. */
function unmetCondition(conditions: readonly RawCondition[]): RawCondition | undefined {
  return conditions.find(({ type, status }) => type === conditionTypes.addressAssigned && status === 'False');
}

function waitingSince(unmet: RawCondition | undefined): string | undefined {
  const since = unmet?.['lastTransitionTime'];
  return typeof since === 'string' && /^\d{4}-\d\d-\d\dT[\d:]{8}Z$/.test(since) ? since : undefined;
}

/** Reads one of Herald's conditions. An unreadable condition is left out and will be written again. */
function readCondition({ type, status, reason, message, observedGeneration }: RawCondition): Condition | undefined {
  const ours = Object.values<unknown>(conditionTypes).includes(type) && (status === 'True' || status === 'False' || status === 'Unknown');
  if (!ours || typeof type !== 'string' || typeof reason !== 'string') return undefined;
  const observed = typeof observedGeneration === 'number' ? { observedGeneration } : {};
  return { type, status, reason, message: typeof message === 'string' ? message : '', ...observed };
}
