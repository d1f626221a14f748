import type { Condition } from '../../model/objects/condition.ts';
import { conditionTypes } from '../../model/objects/condition-types.ts';
import { assignedAddresses, type Service } from '../../model/objects/service.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Reading } from './reading.ts';

/**
 * Returns why a Service that would get an address gets none: the controller has suspended allocation. It reads the records when it starts,
 * so an unreadable record alone is no proof; the condition that the controller wrote is. Undefined: allocation is not suspended.
 */
export async function whyAllocationSuspended(
  reading: Pick<Reading, 'unreadableRecord'>,
  service: Service,
  conditions: readonly Condition[],
): Promise<Reason | undefined> {
  const isSuspended = conditions.some(({ type, reason: code }) => type === conditionTypes.addressAssigned && code === 'RecordUnreadable');
  if (!isSuspended || assignedAddresses(service).length > 0) return undefined;
  const file = await reading.unreadableRecord();
  return file === undefined ? undefined : reason('RecordUnreadable', { file });
}
