import { findEntry } from '../../model/reasons.ts';
import type { ServiceOutcome } from '../contract.ts';
import type { BriefVerdict } from '../picture.ts';

/** Classifies a verdict, for every view alike. Undefined: the Service could not be judged. */
export function outcomeOf(verdict: BriefVerdict | undefined): ServiceOutcome {
  if (verdict === undefined) return 'unknown';
  const { outcome, code } = verdict;
  if (code === undefined) return outcome;
  const isOfOther = findEntry(code)?.givesAway === true || (code === 'ClassNotSet' && outcome === 'unknown');
  if (isOfOther) return 'other';
  return outcome === 'served' || outcome === 'announced' ? 'limited' : outcome;
}
