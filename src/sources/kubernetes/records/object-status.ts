import { isRecord } from '../../../lang/is-record.ts';
import type { RawObject } from '../../../kube/raw-object.ts';
import type { Condition } from '../../../model/objects/condition.ts';
import { sameContent } from '../../../model/store/same-content.ts';
import type { RecordedObjectStatus } from '../../directory/records/status-writer.ts';
import { conditionsOf, dated } from './service-status.ts';

/** Builds a merge patch for the whole status of one of our objects, which has no other writer. Undefined when nothing differs. */
export function objectPatch(object: RawObject, { conditions, fields }: RecordedObjectStatus, now: Date): object | undefined {
  const before = isRecord(object['status']) ? object['status'] : {};
  const status = { ...fields, conditions: conditions.map((condition) => dated(condition, conditionsOf(object), now)) };
  if (Object.entries(status).every(([name, value]) => sameContent(before[name], asRead(value)))) return undefined;
  const { uid, resourceVersion } = object.metadata;
  return { metadata: { uid, resourceVersion }, status };
}

/** Returns the recorded conditions that can be parsed. */
export function recordedConditions(object: RawObject): readonly Condition[] {
  return conditionsOf(object).flatMap(({ type, status, reason, message }) => {
    if (typeof type !== 'string' || typeof reason !== 'string' || (status !== 'True' && status !== 'False' && status !== 'Unknown'))
      return [];
    return [{ type, status, reason, message: typeof message === 'string' ? message : '' }];
  });
}

/** An int64 is read as the nearest JavaScript number. */
function asRead(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(asRead);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, asRead(item)]));
}
