import { isRecord } from '../../lang/is-record.ts';
import type { Condition } from '../../model/objects/condition.ts';
import { readReleased, type ReleasedAddress } from '../../model/parse/released-address.ts';
import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import type { RawObject } from '../../kube/raw-object.ts';
import { ourConditions } from '../../sources/kubernetes/records/service-status.ts';

/** Returns the released addresses that the status of pools keeps. */
export function recordedReleases(objects: readonly unknown[]): readonly ReleasedAddress[] {
  return objects.flatMap((raw) => (isRecord(raw) && raw['kind'] === 'IPAddressPool' ? readReleased(raw['status']) : []));
}

/** Returns the conditions that Herald has written to the status of Services. */
export function recordedConditions(objects: readonly unknown[]): ReadonlyMap<ServiceKey, readonly Condition[]> {
  const found = objects.flatMap((raw): (readonly [ServiceKey, readonly Condition[]])[] => {
    if (!isRecord(raw) || raw['kind'] !== 'Service' || !isRecord(raw['metadata'])) return [];
    const { name, namespace = 'default' } = raw['metadata'];
    if (typeof name !== 'string' || typeof namespace !== 'string') return [];
    const conditions = ourConditions(raw as unknown as RawObject);
    return conditions.length === 0 ? [] : [[serviceKey({ namespace, name }), conditions]];
  });
  return new Map(found);
}
