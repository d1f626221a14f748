import { defined } from '../../lang/defined.ts';
import type { AttributedEntry } from '../../explain/history/merged-history.ts';
import type { Health, HistoryView, MomentNode, MomentRoute, MomentView, MomentWords } from '../contract.ts';
import { limits } from '../limits.ts';
import type { RecalledHistory } from '../picture.ts';
import { timeOf } from './reading-facts.ts';

export function historyView({ entries, told, unasked }: RecalledHistory, moment?: MomentView): HistoryView {
  const left = Math.max(0, entries.length - limits.historyEntries);
  return { entries: entries.slice(left), told, unasked, left, ...defined({ moment }) };
}

/**
 * Draws the path of a Service at a moment from the entries before it. `recalled` has those of the Service, `sessions` those of all routers.
 * Entries carry their routes as data; nothing is read out of their texts.
 */
export function momentView(at: string, recalled: RecalledHistory, sessions: Pick<RecalledHistory, 'entries'>): MomentView {
  const until = ({ at: then }: AttributedEntry): boolean => timeOf(then) <= timeOf(at);
  const before = recalled.entries.filter(until);
  const lastSession = new Map(sessions.entries.filter(until).map((entry) => [`${entry.by} ${entry.name}`, entry]));
  const byProcess = Map.groupBy(before, ({ by }) => by);
  const { controller = [], ...ofNodes } = Object.fromEntries(byProcess);
  const nodes = Object.entries(ofNodes).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const routes = nodes.flatMap(([node, entries]) => routesOf(node, entries, lastSession));
  return {
    at,
    peers: [...new Set(routes.map(({ peer }) => peer))].toSorted(),
    nodes: nodes.map(([node, entries]): MomentNode => ({ node, health: healthOfNode(entries), words: lastWords(entries) })),
    routes,
    controller: lastWords(controller),
    gaps: gapsOf(at, before, recalled),
  };
}

/** Follows the routes that a node announced and withdrew, router by router. */
function routesOf(node: string, entries: readonly AttributedEntry[], lastSession: ReadonlyMap<string, AttributedEntry>): MomentRoute[] {
  const peers = new Map<string, { readonly prefixes: Set<string>; last: AttributedEntry }>();
  for (const entry of entries) {
    for (const { peer, prefix } of entry.routes ?? []) {
      const known = peers.get(peer) ?? { prefixes: new Set<string>(), last: entry };
      peers.set(peer, known);
      known.last = entry;
      if (entry.what === 'Withdrawn') known.prefixes.delete(prefix);
      else known.prefixes.add(prefix);
    }
  }
  return [...peers].map(([peer, { prefixes, last }]): MomentRoute => {
    const session = lastSession.get(`${node} ${peer}`);
    const announced = [...prefixes].toSorted().join(', ');
    if (prefixes.size === 0) return { peer, node, health: last.reason === undefined ? 'off' : 'bad', words: withReason('withdrawn', last) };
    if (session?.what !== 'SessionDown') return { peer, node, health: 'good', words: announced };
    return { peer, node, health: 'bad', words: `the session was down: ${session.text}` };
  });
}

function withReason(words: string, { reason }: AttributedEntry): string {
  return reason === undefined ? words : `${words}: ${reason.message}`;
}

/** The groups of events of which the last one says the state. */
const groups = [
  ['Programmed', 'Removed', 'Refused', 'Accepted'],
  ['Owner', 'NotOwner'],
  ['Conflict', 'ConflictEnded', 'Disputed'],
] as const;

function groupOf({ what }: AttributedEntry): string {
  return groups.find((words) => words.some((word) => word === what))?.join() ?? what;
}

/** Of each group the last entry. Routes are drawn, so their entries are left out. */
function lastWords(entries: readonly AttributedEntry[]): MomentWords[] {
  const last = new Map<string, AttributedEntry>();
  for (const entry of entries) {
    if (entry.routes !== undefined) continue;
    last.delete(groupOf(entry));
    last.set(groupOf(entry), entry);
  }
  return [...last.values()].map((entry) => ({ at: entry.at, what: entry.what, text: withReason(entry.text, entry) }));
}

const healths: Readonly<Record<string, Health>> = { Programmed: 'good', Accepted: 'good', Removed: 'off', Refused: 'bad' };

function healthOfNode(entries: readonly AttributedEntry[]): Health {
  const last = entries.findLast(({ what }) => what in healths);
  return healths[last?.what ?? ''] ?? 'unknown';
}

/** Processes that cannot know the moment, and routes that an entry does not list. */
function gapsOf(at: string, before: readonly AttributedEntry[], { told, unasked }: RecalledHistory): string[] {
  const late = told.filter(({ since }) => timeOf(since) > timeOf(at)).map(({ who, since }) => `${who} was started later, at ${since}`);
  const cut = before.filter(({ moreRoutes = 0 }) => moreRoutes > 0).map(({ by }) => `${by} announced more routes than it recorded`);
  return [...late, ...new Set(cut), ...unasked.map(({ who, why }) => `${who} was not queried: ${why}`)];
}
