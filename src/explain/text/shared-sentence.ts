import { reasonText, stableText, type Reason } from '../../model/reasons.ts';

/**
 * Returns the sentence of a reason, or that of several which differ in `detailsOfOneNode`, without the symptoms of each: "...; since 2026-01-01 12:01 UTC at the
 * latest".
 */
export function sharedSentence(because: Reason, reasons: readonly Reason[]): string {
  const stable = stableText(because);
  const times = reasons.flatMap((one) => detailOf(one, 'since'));
  if (stable === undefined || times.length < 2 || new Set(reasons.map(reasonText)).size === 1) return reasonText(because);
  const latest = times.toSorted().at(-1) ?? '';
  return `${stable}; since ${latest.slice(0, 10)} ${latest.slice(11, 16)} UTC at the latest`;
}

/** Returns a detail that is text, or nothing. */
export function detailOf({ details }: Reason, name: string): string[] {
  const value = (details as Readonly<Record<string, unknown>> | undefined)?.[name];
  return typeof value === 'string' ? [value] : [];
}
