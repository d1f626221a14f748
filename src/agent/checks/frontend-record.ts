import type { Frontend } from '../../net/frontend.ts';
import { formatPrefix } from '../../net/prefix.ts';
import { limits } from '../limits.ts';
import type { PairEvidence } from './pair-evidence.ts';

/** When clients of a frontend were answered, and what is usual there. Times are milliseconds of the clock. */
export interface FrontendRecord {
  answered: number;
  /** Number of looks that saw a later answer than all before, and the first answer. */
  looks: number;
  first: number;
  /** Milliseconds from the latest answer to the last look. */
  quiet: number;
  /** About the two longest of these times in the last ten minutes that ended with an answer, the longest first. */
  readonly lulls: [number, number];
  /** The frontend as it was last. */
  frontend: Frontend;
  /** By endpoint. */
  readonly pairs: Map<string, PairEvidence>;
}

const sourcesOf = ({ sourceRanges = [] }: Frontend): string => sourceRanges.map(formatPrefix).join();

/** Forgets answers when other clients may connect now: they tell nothing of these. A frontend is a new object when it changes. */
export function forgetOtherSources(record: FrontendRecord, frontend: Frontend): void {
  if (record.frontend === frontend) return;
  if (sourcesOf(record.frontend) !== sourcesOf(frontend)) Object.assign(record, unanswered());
  record.frontend = frontend;
}

export const unanswered = () => ({ answered: Number.NEGATIVE_INFINITY, looks: 0, first: 0, quiet: 0, lulls: [0, 0] as [number, number] });

/**
 * Notes the latest answer of a look. A look sees the last packet of a connection only, and the latest connection of many, so the distance of two
 * answers that were seen says little. How old the latest one was at each look does.
 */
export function noteAnswer(record: FrontendRecord, at: number): void {
  if (at <= record.answered) return;
  const [longest, second] = record.lulls.map((lull) => lull * Math.max(0, 1 - (at - record.answered) / limits.evidenceMilliseconds));
  const sorted = [longest ?? 0, second ?? 0, record.quiet].toSorted((a, b) => b - a);
  record.lulls.splice(0, 2, sorted[0] ?? 0, sorted[1] ?? 0);
  if (record.looks++ === 0) record.first = at;
  record.answered = at;
  record.quiet = 0;
}

/**
 * Nothing is usual where few looks saw answers, or all at once, as by a person who tries the Service. One long lull, such as an outage, is not
 * usual once there were others.
 */
export function unusualLull({ answered, looks, first, lulls: [longest, second] }: FrontendRecord): number {
  if (looks < fewLooks || answered - first < usualMilliseconds) return Number.POSITIVE_INFINITY;
  return Math.max(limits.quietMilliseconds, 3 * (looks > severalLooks ? second : longest));
}

const fewLooks = 3;
const severalLooks = 4;
const usualMilliseconds = 60_000;
