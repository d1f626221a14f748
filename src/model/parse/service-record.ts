import type { Ingress } from '../service.ts';
import { conditionTypes } from '../condition-types.ts';
import { Fields, isRecord } from './fields.ts';
import { readIngress } from './ingress.ts';
import type { FieldProblem, Findings } from './problem.ts';

export interface ServiceRecord {
  /** Absent when the record cannot be used. */
  readonly ingress?: readonly Ingress[];
  /** Since when it lacks what it asks for, RFC 3339 in UTC. */
  readonly waitingSince?: string;
  readonly problems: readonly FieldProblem[];
}

/** A Service of which only the status is there: what Herald itself recorded. An empty list is a record too: no address. */
export function readServiceRecord(raw: Readonly<Record<string, unknown>>): ServiceRecord {
  const findings: Findings = { problems: [], warnings: [], unusable: false };
  const status = new Fields(raw, findings, { unknown: 'ignored' }).object('status');
  const ingress = readIngress(status.object('loadBalancer'));
  const since = readWaitingSince(status.raw('conditions'));
  return {
    problems: findings.problems,
    ...(findings.unusable ? {} : { ingress }),
    ...(since === undefined ? {} : { waitingSince: since }),
  };
}

/** Only the order of those that wait depends on it: what cannot be read is as good as absent. */
function readWaitingSince(conditions: unknown): string | undefined {
  const unmet = (Array.isArray(conditions) ? conditions.filter(isRecord) : []).find(
    ({ type, status }) => type === conditionTypes.addressAssigned && status === 'False',
  );
  const since = unmet?.['lastTransitionTime'];
  return typeof since === 'string' && /^\d{4}-\d\d-\d\dT[\d:]{8}Z$/.test(since) ? since : undefined;
}
