import { knownDifferences, type KnownDifference } from './known-differences.ts';
import type { Made } from './made.ts';

/** A setting that two controllers have made differently for one Service. "": it has not made this. */
export interface Difference {
  readonly service: string;
  readonly what: string;
  readonly herald: string;
  readonly other: string;
  /** Why. Undefined: the difference is unknown, which is a mistake. */
  readonly reason: string | undefined;
}

/** Compares what both have made for these Services. */
export function differences(
  services: readonly string[],
  herald: Made,
  other: Made,
  known: readonly KnownDifference[] = knownDifferences,
): Difference[] {
  return services.flatMap((service) => {
    const [ours, theirs] = [herald.get(service) ?? new Map<string, string>(), other.get(service) ?? new Map<string, string>()];
    const all = [...new Set([...ours.keys(), ...theirs.keys()])].toSorted();
    return all.flatMap((what): Difference[] => {
      const [mine, its] = [ours.get(what) ?? '', theirs.get(what) ?? ''];
      if (mine === its) return [];
      const fits = ({ what: pattern, values, services: only }: KnownDifference): boolean =>
        pattern.test(what) && (only?.includes(service) ?? true) && (values === undefined || (values[0].test(mine) && values[1].test(its)));
      return [{ service, what, herald: mine, other: its, reason: known.find(fits)?.reason }];
    });
  });
}

/** Prints known differences once each with their reason, and unknown ones completely. */
export function printDifferences(all: readonly Difference[], services: number, other: string): void {
  console.log(`\nCompared for ${services} Services with ${other}:`);
  for (const [reason, same = []] of Object.entries(Object.groupBy(all, (one) => one.reason ?? ''))) {
    if (reason === '') continue;
    console.log(`known: ${reason}\n  ${[...new Set(same.map(({ service }) => service))].join(', ')}`);
  }
  for (const { service, what, herald, other: its } of all.filter((one) => one.reason === undefined))
    console.log(`UNKNOWN: ${service}: ${what}: Herald "${herald}", ${other} "${its}"`);
  if (all.length === 0) console.log('no differences');
}
