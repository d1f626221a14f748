import type { ServiceOutcome, ServiceRow, ServicesView } from '../../../src/console/contract.ts';
import { outcomes } from '../parts/mark.tsx';

/** Selection in the URL. "" selects everything. */
export interface Filter {
  readonly text: string;
  readonly outcome: string;
  readonly namespace: string;
  readonly pool: string;
  readonly reason: string;
  /** "Announced=False". */
  readonly condition: string;
}

export const conditionTypes = ['AddressAssigned', 'Programmed', 'Announced'] as const;
const letters: Readonly<Record<string, string>> = { T: 'True', F: 'False', U: 'Unknown' };

export function filterOf(query: URLSearchParams): Filter {
  const of = (name: string): string => query.get(name) ?? '';
  return {
    text: of('q'),
    outcome: of('outcome'),
    namespace: of('namespace'),
    pool: of('pool'),
    reason: of('reason'),
    condition: of('condition'),
  };
}

/** The rows with the text that a search looks through, made once for each version of the list. */
export interface Searchable {
  readonly rows: readonly ServiceRow[];
  readonly texts: readonly string[];
}

export function searchable({ rows }: Pick<ServicesView, 'rows'>): Searchable {
  return {
    rows,
    texts: rows.map(({ namespace, name, addresses, pool = '', reason = '' }) =>
      `${namespace}/${name} ${addresses.join(' ')} ${pool} ${reason}`.toLowerCase(),
    ),
  };
}

/** Every word of the search must occur. `except` leaves out one criterion, to count what each of its values would show. */
export function select({ rows, texts }: Searchable, filter: Filter, except?: keyof Filter): ServiceRow[] {
  const words = filter.text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const [type = '', status = ''] = filter.condition.split('=');
  const place = conditionTypes.findIndex((one) => one === type);
  const is = (name: keyof Filter, value: string): boolean => except === name || filter[name] === '' || filter[name] === value;
  const found: ServiceRow[] = [];
  for (const [index, row] of rows.entries()) {
    if (!is('outcome', row.outcome) || !is('namespace', row.namespace)) continue;
    if (!is('pool', row.pool ?? '') || !is('reason', row.reason ?? '')) continue;
    if (place >= 0 && except !== 'condition' && letters[row.conditions.charAt(place)] !== status) continue;
    const text = texts[index] ?? '';
    if (words.every((word) => text.includes(word))) found.push(row);
  }
  return found;
}

export function countOutcomes(rows: readonly ServiceRow[]): Readonly<Record<ServiceOutcome, number>> {
  const counts = { served: 0, partly: 0, limited: 0, notServed: 0, announced: 0, unknown: 0, other: 0 };
  for (const { outcome } of rows) counts[outcome]++;
  return counts;
}

/** The values of a column, the most frequent first. */
export function valuesOf(rows: readonly ServiceRow[], value: (row: ServiceRow) => string | undefined): readonly string[] {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const one = value(row);
    if (one !== undefined) counts.set(one, (counts.get(one) ?? 0) + 1);
  }
  return [...counts].toSorted(([a, some], [b, others]) => others - some || (a < b ? -1 : 1)).map(([one]) => one);
}

/** Rows with a problem come first, otherwise in the order of their names. */
export function byGravity(rows: readonly ServiceRow[]): readonly ServiceRow[] {
  const groups = Map.groupBy(rows, ({ outcome }) => outcome);
  return outcomes.flatMap((outcome) => groups.get(outcome) ?? []);
}
