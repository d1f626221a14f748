import type { Plan, SessionChange } from '../../explain/plan/plan.ts';
import { planSections, type PlanSection } from '../../explain/plan/render-plan.ts';
import type { NodeChange } from '../../explain/plan/route-changes.ts';
import type { Health, PlanLink, PlanMap, PlanRow, PlanSectionView, PlanView } from '../contract.ts';
import { limits } from '../limits.ts';
import type { PlannedChanges } from '../picture.ts';

/** Draws what manifests would change, with the words of `herald plan`. */
export function planView({ changes, lines, summary, notes, outside, from, kind, at }: PlannedChanges): PlanView {
  const beyond = outside.filter((line) => line !== '');
  const sections = [...planSections(changes), ...(beyond.length === 0 ? [] : [{ title: 'Outside the cluster', lines: beyond }])];
  return {
    from,
    kind,
    at,
    notes,
    lines,
    summary,
    sections: sections.map(sectionView),
    map: mapOf(changes),
  };
}

function sectionView({ title, lines }: PlanSection): PlanSectionView {
  return { title, rows: lines.slice(0, limits.planRows).map(rowOf), more: Math.max(0, lines.length - limits.planRows) };
}

function rowOf(line: string): PlanRow {
  const [, sign = '', text = ''] = /^\s*(?:([-+~!]) )?(.*)$/s.exec(line) ?? [];
  return { sign: sign as PlanRow['sign'], text };
}

/** The sessions and routes that change, by router and node. Empty when they concern too many nodes to draw. */
function mapOf({ sessions, routes }: Plan): PlanMap {
  const links = new Map<string, { readonly node: string; readonly peer: string; readonly of: Change[] }>();
  const add = (node: string, peer: string, change: Change): void => {
    const link = links.get(`${node} ${peer}`) ?? { node, peer, of: [] };
    links.set(`${node} ${peer}`, link);
    link.of.push(change);
  };
  for (const { node, peer, change } of sessions) add(node, peer, { kind: 'session', change });
  for (const { node, what, change } of routes) add(node, what.slice(what.lastIndexOf(' to ') + ' to '.length), { kind: 'route', change });
  const all = [...links.values()];
  const namesOf = (name: 'node' | 'peer'): string[] => [...new Set(all.map((link) => link[name]))].toSorted();
  const nodes = namesOf('node');
  if (nodes.length > limits.plannedNodes) return { peers: [], nodes: [], links: [] };
  return { peers: namesOf('peer'), nodes, links: all.map(({ node, peer, of }) => linkOf(node, peer, of)) };
}

type Change =
  | { readonly kind: 'session'; readonly change: SessionChange['change'] }
  | { readonly kind: 'route'; readonly change: NodeChange['change'] };

function linkOf(node: string, peer: string, changes: readonly Change[]): PlanLink {
  const counts = Map.groupBy(changes, ({ kind, change }) => `${kind} ${change}` as keyof typeof words);
  const known = (Object.keys(words) as (keyof typeof words)[]).filter((key) => counts.has(key));
  return {
    node,
    peer,
    health: known.map((key) => words[key].health).reduce((worst, one) => (gravity[one] > gravity[worst] ? one : worst), 'good'),
    words: known.map((key) => words[key].text(counts.get(key)?.length ?? 0)),
  };
}

const routesText = (count: number): string => `${count} route${count === 1 ? '' : 's'}`;

/** The worst first. */
const words = {
  'session reset': { health: 'bad', text: () => 'the session resets' },
  'session stop': { health: 'bad', text: () => 'the session stops' },
  'route remove': { health: 'doubtful', text: (count: number) => `${routesText(count)} withdrawn` },
  'route change': { health: 'doubtful', text: (count: number) => `${routesText(count)} changed` },
  'session live': { health: 'good', text: () => 'the session changes without a reset' },
  'session start': { health: 'good', text: () => 'a session starts' },
  'route add': { health: 'good', text: (count: number) => `${routesText(count)} added` },
} as const satisfies Record<string, { readonly health: Health; readonly text: (count: number) => string }>;

const gravity = { good: 0, doubtful: 1, bad: 2 } as const;
