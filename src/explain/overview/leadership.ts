import { reason, type Reason } from '../../model/reasons.ts';
import { shortAge } from '../text/age.ts';

/** The state of the controllers' Lease. */
export interface Leadership {
  /** "herald-system/herald-controller". */
  readonly lease: string;
  /** "": no controller leads. */
  readonly holder: string;
  readonly renewedSecondsAgo?: number;
  /** How long the Lease is valid after it was renewed. */
  readonly durationSeconds: number;
}

/** Returns why no controller leads. Undefined: one does. */
export function whyNoneLeads({ lease, holder, renewedSecondsAgo: age, durationSeconds }: Leadership): Reason | undefined {
  if (holder === '') return reason('NoControllerLeads', { lease, why: 'is free' });
  if (age === undefined || age <= durationSeconds) return undefined;
  return reason('NoControllerLeads', { lease, why: `has expired: ${holder} renewed it ${shortAge(age)} ago` });
}
