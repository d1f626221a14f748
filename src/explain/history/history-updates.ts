import type { HistoryEntry } from '../../live/contract.ts';
import { limits } from '../limits.ts';
import type { ProcessHistory, UnreachableProcess } from './merged-history.ts';

/** The state of a watched history after a poll. It is immutable: the next poll returns a new one. */
interface HistoryCursor {
  /** The latest history of each process, including processes that do not answer at the moment. */
  readonly tellings: readonly ProcessHistory[];
  /** Processes that did not answer the last poll. */
  readonly silent: ReadonlySet<string>;
  /** Processes that could not be queried in the last poll, and why. */
  readonly unasked: readonly UnreachableProcess[];
}

interface HistoryUpdate {
  readonly followed: HistoryCursor;
  /** For each process that answers: the entries that are new since the previous poll. */
  readonly fresh: readonly ProcessHistory[];
  /** Processes that were restarted, appeared, or do not answer any more, one sentence each. */
  readonly notes: readonly string[];
}

export const emptyCursor: HistoryCursor = { tellings: [], silent: new Set(), unasked: [] };

/** Returns what a poll adds to the previous polls. */
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

/** Finds the earlier history of the same process. A restarted process has another start time and does not match. */
function processIn({ tellings }: HistoryCursor, { who, since }: ProcessHistory): ProcessHistory | undefined {
  return tellings.find((one) => one.who === who && one.since === since);
}

/** Returns the new entries. A process drops its oldest entries; equal ones of one moment are counted. */
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
  return had ? `${who} was restarted at ${since}: it knows nothing from before` : `${who} answers, and knows what happened since ${since}`;
}

function unaskedText({ who, why }: UnreachableProcess): string {
  return `not queried: ${who}: ${why}`;
}
