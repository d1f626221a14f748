import { isRecord } from '../../../lang/is-record.ts';
import type { RawObject } from '../../../kube/raw-object.ts';
import type { Condition } from '../../../model/objects/condition.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import { ingressManifest } from '../../../model/status-manifest.ts';
import { sameContent } from '../../../model/store/same-content.ts';
import type { Ingress } from '../../../model/objects/service.ts';
import { formatTime } from '../../../model/time.ts';
import type { ObjectVersion } from './own-writes.ts';

/** A recorded metav1.Condition. */
export interface DatedCondition extends Condition {
  readonly lastTransitionTime: string;
}

export function servicePath(key: ServiceKey): string {
  const [namespace = '', name = ''] = key.split('/', 2);
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/services/${encodeURIComponent(name)}`;
}

type RawCondition = Readonly<Record<string, unknown>>;

const ours = ({ type }: RawCondition): boolean => typeof type === 'string' && type.startsWith('herald.dev/');

/** True when Herald wrote the Service's status. Other programs' status is not ours to remove. */
export function isRecorded(service: RawObject): boolean {
  return conditionsOf(service).some(ours);
}

/** Returns Herald's conditions on a Service, as far as they can be parsed. */
export function ourConditions(service: RawObject): readonly DatedCondition[] {
  const conditions = conditionsOf(service).filter(ours) as unknown as readonly DatedCondition[];
  return conditions.map(({ type, status, observedGeneration, lastTransitionTime, reason, message }) => {
    const observed = observedGeneration === undefined ? {} : { observedGeneration };
    return { type, status, ...observed, lastTransitionTime, reason, message };
  });
}

/** Compares in any order. */
export function sameConditions(a: readonly DatedCondition[], b: readonly DatedCondition[]): boolean {
  const sorted = (list: readonly DatedCondition[]): readonly DatedCondition[] => list.toSorted((a, b) => (a.type < b.type ? -1 : 1));
  return sameContent(sorted(a), sorted(b));
}

/** Adds times: a condition keeps its transition time while its status is the same (metav1.Condition). */
export function datedConditions(wanted: readonly Condition[], before: readonly DatedCondition[], now: Date): readonly DatedCondition[] {
  return wanted.map((condition) => dated(condition, before, now));
}

interface StatusChange {
  /** Absent when the addresses stay as they are. */
  readonly ingress?: readonly Ingress[];
  readonly conditions: readonly DatedCondition[];
  /** The conditions that we wrote before. */
  readonly before: readonly DatedCondition[];
}

/**
 * Builds a strategic merge patch for a Service's status. The uid and version tie it to the Service that was decided on: the API server
 * answers 409 after another write or for another Service. Conditions merge by type, so those of other programs stay; the list of addresses
 * is one value and is replaced.
 */
export function statusPatch({ uid, resourceVersion }: ObjectVersion, { ingress, conditions, before }: StatusChange): object {
  const dropped = before.filter(({ type }) => !conditions.some((condition) => condition.type === type));
  return {
    metadata: { uid, resourceVersion },
    status: {
      // Null removes the field; an empty list would stay.
      ...(ingress === undefined ? {} : { loadBalancer: { ingress: ingress.length === 0 ? null : ingressManifest(ingress) } }),
      conditions: [...conditions, ...dropped.map(({ type }) => ({ $patch: 'delete', type }))],
    },
  };
}

export function conditionsOf({ status }: RawObject): readonly RawCondition[] {
  const conditions = isRecord(status) ? status['conditions'] : undefined;
  return Array.isArray(conditions) ? conditions.filter(isRecord) : [];
}

/** A condition keeps its transition time while its status is the same (metav1.Condition). */
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
