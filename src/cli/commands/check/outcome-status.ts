import type { CheckOutcome } from '../../../explain/check/facts.ts';

/** Exit statuses of `herald check`, by its result. */
const statuses: Readonly<Record<CheckOutcome, number>> = { passed: 0, unchecked: 1, incomplete: 2, failed: 3 };

/** The order in which a result of one Service decides about the status for several. */
const gravest: readonly CheckOutcome[] = ['failed', 'incomplete', 'unchecked', 'passed'];

/** Returns the exit status for the results of one or several Services. One that was not checked beside others leaves the whole incomplete. */
export function statusOf(outcomes: readonly CheckOutcome[]): number {
  const found = gravest.find((outcome) => outcomes.includes(outcome)) ?? 'unchecked';
  return statuses[found === 'unchecked' && outcomes.includes('passed') ? 'incomplete' : found];
}
