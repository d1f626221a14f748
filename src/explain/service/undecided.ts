import { isSummary } from '../../decisions/allocation/pools/nearest-pool.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { markUndecided, type PartlyRead } from '../unread-objects.ts';
import type { AllocationExplanation } from '../pools/allocation.ts';
import { withConclusion, type ServiceExplanation } from './service.ts';

/** Marks what rests on objects that could not be read, and judges the Service again. */
export function withUndecided<T extends ServiceExplanation>(
  explanation: T,
  read: PartlyRead & { readonly snapshot: Snapshot },
  namespace: string,
): T {
  const marked = markUndecided(explanation, read, namespace);
  return withConclusion({ ...marked, allocation: withUndecidedSummary(marked.allocation) }, read.snapshot);
}

/** Of a pool that may select the namespace the controller may know a reason that is nearer to the Service than those of the others. */
function withUndecidedSummary(allocation: AllocationExplanation): AllocationExplanation {
  const open = allocation.pools.find(({ reason }) => reason?.code === 'Undecided')?.reason;
  const isOpen = open !== undefined && allocation.reason !== undefined && isSummary(allocation.reason);
  return isOpen ? { ...allocation, reason: open } : allocation;
}
