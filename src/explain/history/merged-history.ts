import type { HistoryEntry } from '../../live/contract.ts';

/** What happened to an object, as several processes tell it. Plain data. */
export interface MergedHistory {
  readonly kind: HistoryEntry['kind'];
  readonly name: string;
  /** Oldest first, by the clocks of those who tell it. */
  readonly entries: readonly ToldEntry[];
  readonly told: readonly Teller[];
  readonly unasked: readonly UnaskedTeller[];
}

export interface ToldEntry extends HistoryEntry {
  /** Of the teller. */
  readonly by: string;
}

/** A process that has told what it knows. */
export interface Teller {
  /** "the agent of node1". */
  readonly who: string;
  /** "node1", or "controller". */
  readonly by: string;
  /** When it was started, RFC 3339. What happened before it does not know. */
  readonly since: string;
  /** Of Herald. */
  readonly version: string;
}

export interface UnaskedTeller {
  readonly who: string;
  readonly node?: string;
  readonly why: string;
  readonly fix: string;
}

/** What one process tells of an object. */
export interface Telling extends Teller {
  /** Oldest first. */
  readonly entries: readonly HistoryEntry[];
}

export function mergeHistory(
  { kind, name }: Pick<MergedHistory, 'kind' | 'name'>,
  tellings: readonly Telling[],
  unasked: readonly UnaskedTeller[],
): MergedHistory {
  const entries = tellings.flatMap((telling) => telling.entries.map((entry): ToldEntry => ({ ...entry, by: telling.by })));
  const told = tellings.map(({ who, by, since, version }): Teller => ({ who, by, since, version }));
  return { kind, name, entries: entries.toSorted(byTime), told: told.toSorted(byWho), unasked };
}

/** Those of one process come in the order in which they happened, which the sort leaves as it is. */
const byTime = (a: HistoryEntry, b: HistoryEntry): number => (a.at === b.at ? 0 : a.at < b.at ? -1 : 1);
const byWho = (a: Teller, b: Teller): number => (a.who < b.who ? -1 : 1);
