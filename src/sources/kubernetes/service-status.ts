import { isRecord, type RawObject } from '../../kube/raw-object.ts';
import type { Condition } from '../../model/condition.ts';
import { ingressManifest } from '../../model/manifest.ts';
import type { RecordedServiceStatus } from '../directory/records.ts';

const ours = (type: unknown): boolean => typeof type === 'string' && type.startsWith('herald.dev/');

/** Whether Herald has written the status of a Service: what others wrote is not ours to take away. */
export function isRecorded(service: RawObject): boolean {
  return conditionsOf(service).some(({ type }) => ours(type));
}

/**
 * What the status of a Service must become, as a merge patch; undefined: it is so already. The uid and the resourceVersion say of
 * which Service that is true: where another writer, or another Service, has come between, the API server answers 409. `wanted`
 * undefined: everything of ours goes. Conditions of others stay; a condition keeps its time for as long as its status is the same.
 */
export function statusPatch(service: RawObject, wanted: RecordedServiceStatus | undefined, now: Date): object | undefined {
  const before = conditionsOf(service);
  const ingress = ingressManifest(wanted?.ingress ?? []);
  const conditions = [
    ...before.filter(({ type }) => !ours(type)),
    ...(wanted?.conditions ?? []).map((condition) => dated(condition, before, now)),
  ];
  if (same(ingressOf(service), ingress) && same(before, conditions)) return undefined;
  const { uid, resourceVersion } = service.metadata;
  return {
    metadata: { uid, resourceVersion },
    // Null removes a field in a merge patch (RFC 7396); an empty list would stay as one.
    status: { loadBalancer: { ingress: ingress.length === 0 ? null : ingress }, conditions: conditions.length === 0 ? null : conditions },
  };
}

/** Conditions of an object of ours: the whole list, as there is no other writer. Undefined: it is so already. */
export function conditionsPatch(object: RawObject, wanted: readonly Condition[], now: Date): object | undefined {
  const before = conditionsOf(object);
  const conditions = wanted.map((condition) => dated(condition, before, now));
  if (same(before, conditions)) return undefined;
  const { uid, resourceVersion } = object.metadata;
  return { metadata: { uid, resourceVersion }, status: { conditions } };
}

type RawCondition = Readonly<Record<string, unknown>>;

function conditionsOf({ status }: RawObject): readonly RawCondition[] {
  const conditions = isRecord(status) ? status['conditions'] : undefined;
  return Array.isArray(conditions) ? conditions.filter(isRecord) : [];
}

function ingressOf({ status }: RawObject): unknown {
  const loadBalancer = isRecord(status) ? status['loadBalancer'] : undefined;
  return (isRecord(loadBalancer) ? loadBalancer['ingress'] : undefined) ?? [];
}

/** The order of fields is that of the API server, which compares as text. */
function dated({ type, status, observedGeneration, reason, message }: Condition, before: readonly RawCondition[], now: Date): RawCondition {
  const known = before.find((condition) => condition['type'] === type && condition['status'] === status)?.['lastTransitionTime'];
  const lastTransitionTime = typeof known === 'string' ? known : `${now.toISOString().slice(0, 19)}Z`;
  return { type, status, ...(observedGeneration === undefined ? {} : { observedGeneration }), lastTransitionTime, reason, message };
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

/** The same value with the fields of every object in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, sorted(value[key])]),
  );
}
