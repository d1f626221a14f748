import type { EndpointLook, LookedAtEndpoint } from '../../../explain/service/endpoint-looks.ts';
import { ageText } from '../../../explain/text/age.ts';
import { countText } from '../../../explain/text/count-text.ts';
import type { Health, PathEndpoint, PathEndpointNode } from '../../contract.ts';
import { limits } from '../../limits.ts';

/** Returns the endpoints by node, with the last look at each. With many, a node has a summary in their place, nodes with a failure first. */
export function endpointsOfPath(endpoints: readonly LookedAtEndpoint[]): {
  readonly nodes: readonly PathEndpointNode[];
  readonly moreNodes: number;
} {
  const byNode = Map.groupBy(endpoints, ({ node = '' }) => node);
  const isGrouped = endpoints.length > limits.drawnEndpoints;
  const nodes = [...byNode].map(([node, own]): PathEndpointNode => {
    const drawn = own.map(endpointOf);
    const health = worstOf(drawn);
    return isGrouped ? { node, health, endpoints: [], summary: summaryOf(own) } : { node, health, endpoints: drawn, summary: '' };
  });
  const sorted = isGrouped ? nodes.toSorted((a, b) => gravity[a.health] - gravity[b.health] || (a.node < b.node ? -1 : 1)) : nodes;
  return { nodes: sorted.slice(0, limits.drawnEndpoints), moreNodes: Math.max(0, sorted.length - limits.drawnEndpoints) };
}

function endpointOf(endpoint: LookedAtEndpoint): PathEndpoint {
  const { address, state, looks } = endpoint;
  const states = state === 'ready' ? [] : [state === 'terminating' ? 'terminating but serving' : 'not usable'];
  return { address, health: healthOf(endpoint), look: [...states, ...(looks === undefined ? [] : looksText(state, looks))].join(', ') };
}

function healthOf({ state, looks = [] }: Pick<LookedAtEndpoint, 'state' | 'looks'>): Health {
  if (state === 'unusable') return 'off';
  const answering = looks.filter(({ result }) => result === 'answered').length;
  if (looks.length === 0) return 'unknown';
  return answering === looks.length ? 'good' : answering === 0 ? 'bad' : 'doubtful';
}

const words: Readonly<Record<EndpointLook['result'], string>> = {
  answered: 'answered',
  refused: 'refused',
  silent: 'gave no answer',
  dropped: 'dropped by a filter',
  unroutable: 'no way to it',
};

/** "refused 5 s ago on node2", "answered 12 s ago on node1". */
function looksText(state: LookedAtEndpoint['state'], looks: readonly EndpointLook[]): string[] {
  if (looks.length === 0) return state === 'unusable' ? [] : ['no connection seen'];
  const failing = looks.filter(({ result }) => result !== 'answered');
  const latest = looks.filter(({ result }) => result === 'answered').toSorted((a, b) => (a.secondsAgo ?? 0) - (b.secondsAgo ?? 0));
  return [...failing, ...latest.slice(0, 1)].map(({ result, secondsAgo, node }) => {
    const age = secondsAgo === undefined ? '' : ` ${ageText(secondsAgo)} ago`;
    return `${words[result]}${age} on ${node}`;
  });
}

/** "12 endpoints: 1 fails, 9 answered, 2 without a connection". */
function summaryOf(endpoints: readonly LookedAtEndpoint[]): string {
  const healths = endpoints.map(healthOf);
  const count = (...of: readonly Health[]): number => healths.filter((health) => of.includes(health)).length;
  const parts = [
    [count('bad', 'doubtful'), 'failing'],
    [count('good'), 'answered'],
    [count('unknown'), 'without a connection seen'],
    [count('off'), 'not usable'],
  ] as const;
  const told = parts.flatMap(([number, what]) => (number === 0 ? [] : [`${number} ${what}`]));
  return `${countText(endpoints.length, 'endpoint')}: ${told.join(', ')}`;
}

const gravity: Readonly<Record<Health, number>> = { bad: 0, doubtful: 1, unknown: 2, good: 3, off: 4 };

function worstOf(endpoints: readonly PathEndpoint[]): Health {
  const used = endpoints.map(({ health }) => health).toSorted((a, b) => gravity[a] - gravity[b]);
  return used[0] ?? 'off';
}
