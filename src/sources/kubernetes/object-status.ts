import { isRecord, type RawObject } from '../../kube/raw-object.ts';
import type { Condition } from '../../model/condition.ts';
import type { RecordedObjectStatus } from '../directory/records.ts';
import { conditionsOf, dated } from './service-status.ts';

/** The status of an object of ours as a merge patch: all of it, as there is no other writer. Undefined: it is so already. */
export function objectPatch(object: RawObject, { conditions, fields }: RecordedObjectStatus, now: Date): object | undefined {
  const before = isRecord(object['status']) ? object['status'] : {};
  const status = { ...fields, conditions: conditions.map((condition) => dated(condition, conditionsOf(object), now)) };
  if (Object.entries(status).every(([name, value]) => same(before[name], value))) return undefined;
  const { uid, resourceVersion } = object.metadata;
  return { metadata: { uid, resourceVersion }, status };
}

/** Those that can be understood. */
export function recordedConditions(object: RawObject): readonly Condition[] {
  return conditionsOf(object).flatMap(({ type, status, reason, message }) => {
    if (typeof type !== 'string' || typeof reason !== 'string' || (status !== 'True' && status !== 'False' && status !== 'Unknown'))
      return [];
    return [{ type, status, reason, message: typeof message === 'string' ? message : '' }];
  });
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(plain(a)) === JSON.stringify(plain(b));
}

/** The same value with the fields of every object in one order. What we read of an int64 is the nearest number of JavaScript. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(plain);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, plain(value[key])]),
  );
}
