import type { HistoryEntry } from '../../live/contract.ts';

/** What happened to an object, as several processes tell it. Plain data. */
export interface MergedHistory {
  readonly kind: HistoryEntry['kind'];
  readonly name: string;
  /** Oldest first, by the clocks of those who tell it. */
  readonly entries: readonly AttributedEntry[];
  readonly told: readonly HistorySource[];
  readonly unasked: readonly UnreachableProcess[];
}

export interface AttributedEntry extends HistoryEntry {
  /** Of the teller. */
  readonly by: string;
}

/** A process that has told what it knows. */
export interface HistorySource {
  /** "the agent of node1". */
  readonly who: string;
  /** "node1", or "controller". */
  readonly by: string;
  /** When it was started, RFC 3339. What happened before it does not know. */
  readonly since: string;
  /** Of Herald. */
  readonly version: string;
}

export interface UnreachableProcess {
  readonly who: string;
  readonly node?: string;
  readonly why: string;
  readonly fix: string;
}

/** What one process tells of an object. */
export interface ProcessHistory extends HistorySource {
  /** Oldest first. */
  readonly entries: readonly HistoryEntry[];
}

export function mergeHistory(
  { kind, name }: Pick<MergedHistory, 'kind' | 'name'>,
  tellings: readonly ProcessHistory[],
  unasked: readonly UnreachableProcess[],
): MergedHistory {
  const entries = tellings.flatMap((telling) => telling.entries.map((entry): AttributedEntry => ({ ...entry, by: telling.by })));
  const told = tellings.map(({ who, by, since, version }): HistorySource => ({ who, by, since, version }));
  return { kind, name, entries: entries.toSorted(byTime), told: told.toSorted(byWho), unasked };
}

/** Those of one process come in the order in which they happened, which the sort leaves as it is. */
const byTime = (a: HistoryEntry, b: HistoryEntry): number => (a.at === b.at ? 0 : a.at < b.at ? -1 : 1);
const byWho = (a: HistorySource, b: HistorySource): number => (a.who < b.who ? -1 : 1);
