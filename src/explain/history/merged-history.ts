import { defined } from '../../lang/defined.ts';
import type { HistoryEntry } from '../../live/contract.ts';

/** The history of an object, merged from the histories of several processes. Plain data. */
export interface MergedHistory {
  readonly kind: HistoryEntry['kind'];
  readonly name: string;
  /** Oldest first, by the clocks of the processes. */
  readonly entries: readonly AttributedEntry[];
  readonly told: readonly HistorySource[];
  readonly unasked: readonly UnreachableProcess[];
}

export interface AttributedEntry extends HistoryEntry {
  /** The process that recorded the entry. */
  readonly by: string;
}

/** A process whose history was read. */
export interface HistorySource {
  /** "the agent of node1". */
  readonly who: string;
  /** "node1", or "controller". */
  readonly by: string;
  /** When the process was started, RFC 3339. It knows nothing from before. */
  readonly since: string;
  /** The version of Herald. */
  readonly version: string;
  /** It remembers more entries than were read: the newest are missing. */
  readonly more?: true;
}

export interface UnreachableProcess {
  readonly who: string;
  readonly node?: string;
  readonly why: string;
  readonly fix: string;
}

/** The history of an object from one process. */
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
  const told = tellings.map(({ who, by, since, version, more }): HistorySource => ({ who, by, since, version, ...defined({ more }) }));
  return { kind, name, entries: entries.toSorted(byTime), told: told.toSorted(byWho), unasked };
}

/** A stable sort keeps entries of one process in the order in which they happened. */
const byTime = (a: HistoryEntry, b: HistoryEntry): number => (a.at === b.at ? 0 : a.at < b.at ? -1 : 1);
const byWho = (a: HistorySource, b: HistorySource): number => (a.who < b.who ? -1 : 1);
