import { differences, type Case } from './differences.ts';

export interface Explanation {
  /** The rows of the intended differences, one for each case that one explains. */
  readonly intended: readonly string[];
  readonly unexplained: ReadonlySet<Case>;
}

/**
 * Names the row of each case. A Service that has on one side an address which another one, whose difference is intended, has on the other
 * side only is explained by the same row: the address was free for it on one side.
 */
export function explain(cases: readonly Case[]): Explanation {
  const rows = new Map<Case, string>();
  for (const one of cases) {
    const known = differences.find(({ applies }) => applies(one));
    if (known !== undefined) rows.set(one, known.row);
  }
  for (let before = -1; before !== rows.size;) {
    before = rows.size;
    for (const one of cases) {
      const cause = rows.has(one) ? undefined : [...rows].find(([other]) => follows(one, other));
      if (cause !== undefined) rows.set(one, cause[1]);
    }
  }
  return { intended: [...rows.values()], unexplained: new Set(cases.filter((one) => !rows.has(one))) };
}

const follows = (one: Case, cause: Case): boolean =>
  one.metallb.addresses.some((address) => cause.herald.addresses.includes(address)) ||
  one.herald.addresses.some((address) => cause.metallb.addresses.includes(address));
