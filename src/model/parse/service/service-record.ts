import { isRecord } from '../../../lang/is-record.ts';
import { defined } from '../../../lang/defined.ts';
import type { Ingress } from '../../objects/service.ts';
import type { Condition } from '../../objects/condition.ts';
import { conditionTypes } from '../../objects/condition-types.ts';
import { termsInMessage } from '../../objects/sharing-terms.ts';
import type { ReasonCode } from '../../reasons.ts';
import { FieldReader } from '../../reading/fields.ts';
import { readIngress } from './load-balancer-ingress.ts';
import type { FieldProblem, Findings } from '../../reading/problem.ts';

export interface ServiceRecord {
  /** Absent when the record is not usable. */
  readonly ingress?: readonly Ingress[];
  /** Another Service holds an address that this one holds or requests. */
  readonly addressTaken?: true;
  /** See Service.recordedTerms. */
  readonly recordedTerms?: string;
  /** Since when the Service lacks a requested address, RFC 3339 in UTC. Absent: it lacks none. */
  readonly waitingSince?: string;
  /** Only the conditions that Herald writes. */
  readonly conditions: readonly Condition[];
  readonly problems: readonly FieldProblem[];
}

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
    ...readPrecedence(written),
  };
}

/** Reads what the conditions say about the right of the Service to its addresses (docs/adr/0006, docs/adr/0028). */
export function readPrecedence(conditions: unknown): Pick<ServiceRecord, 'addressTaken' | 'recordedTerms'> {
  const list = Array.isArray(conditions) ? conditions.filter(isRecord) : [];
  const message = list.find(({ type, status }) => type === conditionTypes.addressAssigned && status === 'True')?.['message'];
  const recordedTerms = typeof message === 'string' ? termsInMessage(message) : undefined;
  const isTaken = unmetCondition(list)?.['reason'] === ('AddressTaken' satisfies ReasonCode);
  return { ...(isTaken ? { addressTaken: true } : {}), ...defined({ recordedTerms }) };
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
