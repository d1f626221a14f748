import { causeRemedy, causeText, nodesText, type SessionCause } from '../sessions/session-causes.ts';

/** Says if a BGPPeer has the sessions that it asks for. */
export interface PeerVerdict {
  /** The only node that it is about. Absent: all. */
  readonly node?: string;
  readonly outcome: 'up' | 'partly' | 'down';
  readonly established: number;
  readonly expected: number;
  /** Why sessions are down, the most frequent cause first. */
  readonly causes: readonly SessionCause[];
  /** Problems of sessions that are up. */
  readonly warnings: readonly SessionCause[];
}

/**
 * "Up: 3 of 3 sessions.", of one node "Up on node n1: 1 of 1 sessions.", or the cause and its fix: "Down: 0 of 3 sessions. All 3 nodes: ...
 * Set ...". `nodes`: the number of nodes that the peer selects.
 */
export function verdictLine({ outcome, established, expected, causes, warnings, node }: PeerVerdict, nodes: number): string {
  const lead = { up: 'Up', partly: 'Partly up', down: 'Down' }[outcome];
  const [first = warnings[0], ...others] = causes;
  const counted = `${lead}${node === undefined ? '' : ` on node ${node}`}: ${established} of ${expected} sessions`;
  if (first === undefined) return `${counted}.`;
  const more = others.length === 0 ? '' : ` ${others.length === 1 ? 'Another cause' : `${others.length} other causes`} below.`;
  const who = first.nodes.length === 0 || node !== undefined ? '' : `${nodesText(first.nodes, nodes)}: `;
  const sentence = `${who}${causeText(first)}`;
  return causes.length === 0
    ? `${counted}, but ${node === undefined ? 'on ' : ''}${sentence}. ${ending(causeRemedy(first))}`.trimEnd()
    : `${counted}. ${capitalized(sentence)}. ${ending(causeRemedy(first))}${more}`.trimEnd();
}

/** Lists the causes that the verdict does not have, one line each, with their fixes. */
export function otherCauses({ causes, warnings }: PeerVerdict, nodes: number): string[] {
  const shown = causes[0] ?? warnings[0];
  return [...causes, ...warnings]
    .filter((one) => one !== shown)
    .flatMap((one) => {
      const fix = causeRemedy(one);
      return [`  ${nodesText(one.nodes, nodes)}: ${causeText(one)}`, ...(fix === '' ? [] : [`      fix: ${fix}`])];
    });
}

function ending(fix: string): string {
  return fix === '' ? '' : `${capitalized(fix)}.`;
}

function capitalized(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
