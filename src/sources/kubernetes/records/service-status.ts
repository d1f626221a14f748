import { isRecord } from '../../../lang/is-record.ts';
import type { RawObject } from '../../../kube/raw-object.ts';
import type { Condition } from '../../../model/objects/condition.ts';
import { ingressManifest } from '../../../model/status-manifest.ts';
import { sameContent } from '../../../model/store/same-content.ts';
import type { Ingress } from '../../../model/objects/service.ts';
import { formatTime } from '../../../model/time.ts';
import type { ObjectVersion } from './own-writes.ts';

/** metav1.Condition as it is on record. */
export interface DatedCondition extends Condition {
  readonly lastTransitionTime: string;
}

type RawCondition = Readonly<Record<string, unknown>>;

const ours = ({ type }: RawCondition): boolean => typeof type === 'string' && type.startsWith('herald.dev/');

/** Whether Herald has written the status of a Service: what others wrote is not ours to take away. */
export function isRecorded(service: RawObject): boolean {
  return conditionsOf(service).some(ours);
}

/** Those that Herald has written on a Service, as far as it writes them. */
export function ourConditions(service: RawObject): readonly DatedCondition[] {
  const conditions = conditionsOf(service).filter(ours) as unknown as readonly DatedCondition[];
  return conditions.map(({ type, status, observedGeneration, lastTransitionTime, reason, message }) => {
    const observed = observedGeneration === undefined ? {} : { observedGeneration };
    return { type, status, ...observed, lastTransitionTime, reason, message };
  });
}

/** In whatever order. */
export function sameConditions(a: readonly DatedCondition[], b: readonly DatedCondition[]): boolean {
  const sorted = (list: readonly DatedCondition[]): readonly DatedCondition[] => list.toSorted((a, b) => (a.type < b.type ? -1 : 1));
  return sameContent(sorted(a), sorted(b));
}

/** With their times: a condition keeps its own for as long as its status is the same (metav1.Condition). */
export function datedConditions(wanted: readonly Condition[], before: readonly DatedCondition[], now: Date): readonly DatedCondition[] {
  return wanted.map((condition) => dated(condition, before, now));
}

interface StatusChange {
  /** Absent: the addresses stay as they are. */
  readonly ingress?: readonly Ingress[];
  readonly conditions: readonly DatedCondition[];
  /** What we wrote before. */
  readonly before: readonly DatedCondition[];
}

/**
 * A strategic merge patch that makes the status of a Service so. The uid and the version say of which Service that was decided: where another writer,
 * or another Service, has come between, the API server answers 409. Conditions are merged by their type, so those of others stay without
 * our knowing of them; the list of addresses is one value, which is replaced.
 */
export function statusPatch({ uid, resourceVersion }: ObjectVersion, { ingress, conditions, before }: StatusChange): object {
  const dropped = before.filter(({ type }) => !conditions.some((condition) => condition.type === type));
  return {
    metadata: { uid, resourceVersion },
    status: {
      // Null removes a field; an empty list would stay as one.
      ...(ingress === undefined ? {} : { loadBalancer: { ingress: ingress.length === 0 ? null : ingressManifest(ingress) } }),
      conditions: [...conditions, ...dropped.map(({ type }) => ({ $patch: 'delete', type }))],
    },
  };
}

export function conditionsOf({ status }: RawObject): readonly RawCondition[] {
  const conditions = isRecord(status) ? status['conditions'] : undefined;
  return Array.isArray(conditions) ? conditions.filter(isRecord) : [];
}

/** A condition keeps its time for as long as its status is the same (metav1.Condition). */
export function dated(
  { type, status, observedGeneration, reason, message }: Condition,
  before: readonly (RawCondition | DatedCondition)[],
  now: Date,
): DatedCondition {
  const known = (before as readonly RawCondition[]).find((condition) => condition['type'] === type && condition['status'] === status);
  const time = known?.['lastTransitionTime'];
  const lastTransitionTime = typeof time === 'string' ? time : formatTime(now.getTime());
  const observed = observedGeneration === undefined ? {} : { observedGeneration };
  return { type, status, ...observed, lastTransitionTime, reason, message };
}
