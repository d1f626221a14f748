import { serviceConditions } from '../../../controller/services/service-conditions.ts';
import { decideAllocationClaim } from '../../../decisions/allocation/claim.ts';
import { allocationRequest } from '../../../decisions/allocation/request.ts';
import { allocatorOf } from '../../../explain/pools/allocation.ts';
import type { Condition } from '../../../model/objects/condition.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import { reason } from '../../../model/reasons.ts';
import type { Reading } from '../../reading/reading.ts';

/**
 * The conditions of Services as they are at this moment, before the controller has let them settle: by its own function for those that take
 * addresses from pools. On record are those of other providers; and of all where not everything could be read, as decisions would be wrong then.
 */
export async function currentConditions(reading: Reading): Promise<ReadonlyMap<ServiceKey, readonly Condition[]>> {
  const { snapshot, unread, now } = reading;
  // A record may outlive its Service.
  const recorded = new Map([...(await reading.conditions())].filter(([key]) => snapshot.services.has(key)));
  // What a Secret holds is taken for granted.
  if (unread.some(({ why, kind }) => why === 'forbidden' && kind !== 'Secret')) return recorded;
  const allocator = allocatorOf(snapshot);
  const present = new Map(recorded);
  for (const [key, service] of snapshot.services) {
    if (!decideAllocationClaim(service, snapshot.config).mine) continue;
    const { reason: refusal } = allocator.decide(allocationRequest(service, snapshot));
    // It would get one: the controller has not come to it yet.
    const isLate = refusal === undefined && service.ingress.length === 0;
    const unmet = isLate ? reason('NoAddress', undefined) : refusal;
    present.set(key, serviceConditions(snapshot, service, { reason: unmet, details: [] }, now));
  }
  return present;
}
