import { reason, reasonText, remedyText, type Reason, type ReasonCode } from '../../../model/reasons.ts';
import type { PoolRefusal } from './pools.ts';

/** From the pool that nearly gave an address to the one that is for others. */
const nearness: readonly ReasonCode[] = [
  'PoolFull',
  'QuotaReached',
  'PoolDraining',
  'PoolHasNoFamily',
  'PoolNotAutoAssigned',
  'PoolServiceNotSelected',
  'PoolNamespaceNotSelected',
  'PoolRefused',
];

/** Sums up the refusals of several pools by the nearest miss: the first pool, in the order of trial, whose refusal came last in the search. */
export function noPoolFits(refusals: readonly PoolRefusal[]): Reason {
  const rank = ({ reason: { code } }: PoolRefusal): number => (nearness.includes(code) ? nearness.indexOf(code) : nearness.length);
  const [nearest] = refusals.toSorted((a, b) => rank(a) - rank(b));
  if (nearest === undefined) return reason('NoPools', undefined);
  const { pool, reason: why } = nearest;
  return reason('NoPoolFits', { pools: refusals.length, pool, because: reasonText(why), remedy: remedyText(why) });
}
