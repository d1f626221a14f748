import type { HistoryEntry } from '../live/contract.ts';

/** What happened to an object, as several processes tell it. Plain data. */
export interface MergedHistory {
  readonly kind: HistoryEntry['kind'];
  readonly name: string;
  /** Oldest first, by the clocks of those who tell it. */
  readonly entries: readonly ToldEntry[];
  /** Who has told it. What happened before `since` they do not know. */
  readonly told: readonly { readonly who: string; readonly since: string }[];
  readonly unasked: readonly { readonly who: string; readonly node?: string; readonly why: string; readonly fix: string }[];
}

export interface ToldEntry extends HistoryEntry {
  /** "node1", or "controller". */
  readonly by: string;
}

export function inOrder(entries: readonly ToldEntry[]): ToldEntry[] {
  // Those of one process come in the order in which they happened, which the sort leaves as it is.
  return entries.toSorted((a, b) => (a.at === b.at ? 0 : a.at < b.at ? -1 : 1));
}

export function renderHistory({ kind, name, entries, told, unasked }: MergedHistory): string[] {
  const lead = (entry: ToldEntry): string => `${entry.at}  ${entry.by.padEnd(width)}  `;
  const width = Math.max(0, ...entries.map(({ by }) => by.length));
  const lines = entries.flatMap((entry) => {
    const { what, text, reason, causes = [] } = entry;
    const margin = ' '.repeat(lead(entry).length);
    return [
      `${lead(entry)}${what}: ${text}`,
      ...(reason === undefined ? [] : [`${margin}${reason.code}: ${reason.message}`]),
      ...(reason === undefined || reason.fix === '' ? [] : [`${margin}fix: ${reason.fix}`]),
      ...(causes.length === 0 ? [] : [`${margin}after ${causes.map(causeText).join(', ')}`]),
    ];
  });
  return [
    `${kind} ${name}`,
    '',
    ...(lines.length > 0
      ? lines
      : [
          told.length === 0
            ? 'Nobody could be asked.'
            : `Nothing has happened to it as far as those who were asked know. Whether there is one of this name: herald explain ${kind === 'Service' ? 'service' : 'peer'} ${name}`,
        ]),
    '',
    ...told.map(({ who, since }) => `${who} tells what happened since ${since}, the latest of each object`),
    ...unasked.flatMap(({ who, why, fix }) => [`not asked: ${who}: ${why}`, ...(fix === '' ? [] : [`    fix: ${fix}`])]),
  ];
}

function causeText({ kind, name, resourceVersion, deleted }: NonNullable<HistoryEntry['causes']>[number]): string {
  if (deleted === true) return `${kind} ${name} was deleted`;
  return `${kind} ${name} changed${resourceVersion === undefined || resourceVersion === '' ? '' : ` (version ${resourceVersion})`}`;
}
