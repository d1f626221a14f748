import { alikeUnqueried } from '../text/unqueried.ts';
import type { HistoryCause, HistoryRoute } from '../../live/contract.ts';
import type { MergedHistory, HistorySource, AttributedEntry, UnreachableProcess } from './merged-history.ts';

/** Returns the history in lines. `wide` adds the routes of each entry peer by peer, and the version of each process. */
export function renderHistory(history: MergedHistory, wide: boolean): string[] {
  const { kind, name, told, unasked } = history;
  const entries = renderEntries(history, wide);
  return [
    `${kind} ${name}`,
    '',
    ...(entries.length > 0 ? entries : [nothingText(history)]),
    '',
    ...told.map((teller) => tellerText(teller, wide)),
    ...alikeUnqueried(unasked).flatMap(renderUnasked),
  ];
}

function nothingText({ kind, name, told }: MergedHistory): string {
  if (told.length === 0) return 'No process could be queried.';
  const subject = { Service: 'service', BGPPeer: 'peer', Node: 'node' }[kind];
  return `The queried processes know of nothing that happened to it. To check its name: herald explain ${subject} ${name}`;
}

/** Returns the entries alone, aligned with those of earlier outputs of the same processes. */
export function renderEntries({ entries, told }: Pick<MergedHistory, 'entries' | 'told'>, wide: boolean): string[] {
  const width = Math.max(0, ...told.map(({ by }) => by.length));
  return entries.flatMap((entry) => renderEntry(entry, width, wide));
}

function renderEntry(
  { at, by, what, text, reason, causes = [], routes = [], moreRoutes }: AttributedEntry,
  width: number,
  wide: boolean,
): string[] {
  const lead = `${at}  ${by.padEnd(width)}  `;
  const below = [
    ...(reason === undefined ? [] : [`${reason.code}: ${reason.message}`]),
    ...(reason === undefined || reason.fix === '' ? [] : [`fix: ${reason.fix}`]),
    ...(causes.length === 0 ? [] : [`after ${causes.map(causeText).join(', ')}`]),
    ...(wide ? renderRoutes(routes, moreRoutes) : []),
  ];
  return [`${lead}${what}: ${text}`, ...below.map((line) => `${' '.repeat(lead.length)}${line}`)];
}

function renderRoutes(routes: readonly HistoryRoute[], more = 0): string[] {
  const byPeer = Map.groupBy(routes, ({ peer }) => peer);
  const lines = [...byPeer]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([peer, of]) => `${peer}: ${of.map(({ prefix }) => prefix).join(', ')}`);
  return more === 0 ? lines : [...lines, `and ${more} more routes`];
}

function tellerText({ who, since, version }: HistorySource, wide: boolean): string {
  return `${who}${wide ? `, Herald ${version},` : ''} knows what happened since ${since}, the latest of each object`;
}

function renderUnasked({ who, why, fix }: Pick<UnreachableProcess, 'who' | 'why' | 'fix'>): string[] {
  return [`not queried: ${who}: ${why}`, ...(fix === '' ? [] : [`    fix: ${fix}`])];
}

function causeText({ kind, name, resourceVersion, deleted }: HistoryCause): string {
  if (deleted === true) return `${kind} ${name} was deleted`;
  return `${kind} ${name} changed${resourceVersion === undefined || resourceVersion === '' ? '' : ` (version ${resourceVersion})`}`;
}
