import type { ReadingFacts } from '../contract.ts';
import type { Picture } from '../picture.ts';

export function readingFacts({ from, kind, now, notes }: Picture): ReadingFacts {
  return { from, kind, at: timeText(now), notes };
}

/** RFC 3339, of milliseconds since the epoch. */
export function timeText(milliseconds: number): string {
  // oxlint-disable-next-line no-restricted-globals -- writing a date as text is pure
  return new Date(milliseconds).toISOString();
}

/** Milliseconds since the epoch, of RFC 3339. NaN: it is no time. */
export function timeOf(text: string): number {
  // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
  return Date.parse(text);
}
