import { reason, reasonText, remedyText, type Reason, type ReasonCode } from '../../../model/reasons.ts';
import type { PoolRefusal } from './pools.ts';

/** From pools that serve the Service but have no address for it, the most useful reason first, to those that are for others. */
const steps: readonly (readonly ReasonCode[])[] = [
  ['PoolFull', 'QuotaReached', 'PoolDraining', 'PoolOverlaps'],
  ['PoolHasNoFamily'],
  ['PoolNotAutoAssigned'],
  ['PoolServiceNotSelected'],
  ['PoolNamespaceNotSelected'],
];

/**
 * Sums up the refusals of pools, which are in the order of trial. Only the pools nearest to the Service count: a pool for other namespaces
 * is no answer where one for this namespace is full. If their codes agree, the first one's own reason is the answer.
 */
export function summaryOf(refusals: readonly PoolRefusal[]): Reason {
  const stepOf = ({ reason: { code } }: PoolRefusal): number => steps.findIndex((codes) => codes.includes(code));
  const nearest = Math.min(...refusals.map(stepOf));
  const rank = ({ reason: { code } }: PoolRefusal): number => steps[nearest]?.indexOf(code) ?? 0;
  const [first, ...others] = refusals.filter((refusal) => stepOf(refusal) === nearest).toSorted((a, b) => rank(a) - rank(b));
  if (first === undefined) return reason('NoPools', undefined);
  const { pool, reason: why } = first;
  if (others.every((other) => other.reason.code === why.code)) return why;
  return reason('NoPoolFits', { pool, because: reasonText(why), remedy: remedyText(why) });
}

/** True for a reason that sums up those of several pools, or is one of them. */
export function isSummary({ code }: Reason): boolean {
  return code === 'NoPoolFits' || steps.some((codes) => codes.includes(code));
}
