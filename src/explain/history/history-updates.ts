import type { HistoryEntry } from '../../live/contract.ts';
import { limits } from '../limits.ts';
import type { ProcessHistory, UnreachableProcess } from './merged-history.ts';

/** What looks at a history have brought so far. A value: the next look makes another one. */
interface HistoryCursor {
  /** The latest of each process, also of those that do not answer at the moment. */
  readonly tellings: readonly ProcessHistory[];
  /** Who of them did not answer the last look. */
  readonly silent: ReadonlySet<string>;
  /** Who could not be asked then, and why. */
  readonly unasked: readonly UnreachableProcess[];
}

interface HistoryUpdate {
  readonly followed: HistoryCursor;
  /** Of each process that answers: what it had not told before. */
  readonly fresh: readonly ProcessHistory[];
  /** Processes that were started again, have come, or do not answer any more, each as a sentence. */
  readonly notes: readonly string[];
}

export const emptyCursor: HistoryCursor = { tellings: [], silent: new Set(), unasked: [] };

/** What a look brings that the looks before have not brought. */
export function updateHistory(
  before: HistoryCursor,
  tellings: readonly ProcessHistory[],
  unasked: readonly UnreachableProcess[],
): HistoryUpdate {
  const answering = new Set(tellings.map(({ who }) => who));
  const absent = before.tellings.filter(({ who }) => !answering.has(who));
  const known = [...tellings, ...absent].slice(0, limits.followedProcesses);
  return {
    followed: { tellings: known, silent: new Set(absent.map(({ who }) => who)), unasked },
    fresh: tellings.map((telling) => ({ ...telling, entries: newEntries(processIn(before, telling)?.entries ?? [], telling.entries) })),
    notes: [
      ...unasked.filter((one) => !before.unasked.some((other) => unaskedText(other) === unaskedText(one))).map(unaskedText),
      ...absent
        .filter(({ who }) => !before.silent.has(who) && !unasked.some((one) => one.who === who))
        .map(({ who }) => `${who} does not answer any more`),
      ...tellings.flatMap((telling) => returnText(before, telling) ?? []),
    ],
  };
}

/** The same process, and not one that has taken its place. */
function processIn({ tellings }: HistoryCursor, { who, since }: ProcessHistory): ProcessHistory | undefined {
  return tellings.find((one) => one.who === who && one.since === since);
}

/** A process forgets its oldest and adds to the end. Two of one moment may be alike, so that they are counted. */
function newEntries(before: readonly HistoryEntry[], now: readonly HistoryEntry[]): HistoryEntry[] {
  const known = new Map<string, number>();
  for (const entry of before) known.set(JSON.stringify(entry), (known.get(JSON.stringify(entry)) ?? 0) + 1);
  return now.filter((entry) => {
    const left = known.get(JSON.stringify(entry)) ?? 0;
    known.set(JSON.stringify(entry), left - 1);
    return left <= 0;
  });
}

function returnText(before: HistoryCursor, telling: ProcessHistory): string | undefined {
  const { who, since } = telling;
  if (processIn(before, telling) !== undefined) return before.silent.has(who) ? `${who} answers again` : undefined;
  const had = before.tellings.some((one) => one.who === who);
  return had
    ? `${who} was started again at ${since}: what happened before it does not know`
    : `${who} answers, and tells what happened since ${since}`;
}

function unaskedText({ who, why }: UnreachableProcess): string {
  return `not asked: ${who}: ${why}`;
}
