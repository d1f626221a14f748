import type { NodeExplanation } from '../../../explain/service/service-node.ts';
import type { ServiceExplanation } from '../../../explain/service/service.ts';
import { detailsOfOneNode, type Reason } from '../../../model/reasons.ts';
import type { Health, PathArrow, PathNode } from '../../contract.ts';
import { limits } from '../../limits.ts';
import { healthOf, whysOf } from './why.ts';

/** Nodes that do the same for the Service. */
export interface NodeGroup {
  readonly id: string;
  readonly nodes: readonly NodeExplanation[];
}

/** Returns the boxes of the nodes. With many nodes, alike ones share a box, those with a problem first. */
export function nodesOfPath(explanation: Pick<ServiceExplanation, 'nodes'>): {
  readonly groups: readonly NodeGroup[];
  readonly nodes: readonly PathNode[];
  readonly forwarding: readonly PathArrow[];
} {
  const { nodes } = explanation;
  const isGrouped = nodes.length > limits.drawnNodes;
  const alike = Map.groupBy(nodes, (node) => (isGrouped ? characterOf(node) : node.node));
  const groups = [...alike.values()].map((members): NodeGroup => ({ id: `node ${members[0]?.node ?? ''}`, nodes: members }));
  const sorted = isGrouped ? groups.toSorted((a, b) => rankOf(a) - rankOf(b)) : groups;
  return { groups: sorted, nodes: sorted.flatMap(boxOf), forwarding: sorted.flatMap(arrowOf) };
}

function boxOf({ id, nodes }: NodeGroup): PathNode[] {
  const [first] = nodes;
  if (first === undefined) return [];
  const reasons = nodeReasons(first);
  return [
    {
      id,
      names: nodes.map(({ node }) => node),
      health: healthOf(reasons),
      detail: `${detailOf(first)}${leftOutText(first)}`,
      whys: whysOf(reasons),
    },
  ];
}

function arrowOf({ id, nodes }: NodeGroup): PathArrow[] {
  const [first] = nodes;
  if (first === undefined) return [];
  const { problem, forwarding, frontends, elsewhere, idle = [], lost = [] } = first;
  const reasons = [...forwarding, ...lost.map(({ reason }) => reason)];
  const here = nodes.reduce((sum, node) => sum + endpointsOn(node), 0);
  const label = here === 0 ? '' : `${here} here`;
  return [{ from: id, to: 'endpoints', health: forwards(), label, whys: whysOf(reasons) }];

  function forwards(): Health {
    if (reasons.length > 0) return 'bad';
    if (problem !== undefined) return 'unknown';
    if (frontends + elsewhere === 0 || idle.length === frontends + elsewhere) return 'off';
    return 'good';
  }
}

const endpointsOn = ({ endpoints = [] }: NodeExplanation): number => Math.max(0, ...endpoints.map(({ here }) => here));

/** Reasons that concern the node and not one of its sessions. Without an address no node announces one, which is not the node's problem. */
function nodeReasons({ problem, host, reason, forwarding }: NodeExplanation): Reason[] {
  const own = reason === undefined || reason.code === 'NoAddress' ? [] : [reason];
  return [...(problem === undefined ? [] : [problem]), ...host, ...own, ...forwarding];
}

/** A node without a report says what it should do. */
function detailOf({ problem, frontends, elsewhere, endpoints = [], directReturn }: NodeExplanation): string {
  if (frontends === 0) return elsewhere > 0 ? `leaves ${elsewhere} to another program` : problem === undefined ? 'forwards nothing' : '';
  const [first] = endpoints;
  const to = first === undefined ? '' : ` to ${first.used} of ${first.usable} endpoint${first.usable === 1 ? '' : 's'}`;
  const because = first?.because === 'local' ? ', policy Local' : first?.because === 'topology' ? ', by topology hints' : '';
  return `${problem === undefined ? 'forwards' : 'should forward'} ${frontends} frontend${frontends === 1 ? '' : 's'}${to}${because}${directReturnText(directReturn)}`;
}

/** Prefixes that the node leaves to others because of `maxNextHops`. */
function leftOutText({ addresses }: NodeExplanation): string {
  const left = addresses.flatMap(({ reason }) => {
    if (reason?.code !== 'BeyondMaxNextHops') return [];
    const { advertisement, prefix, others } = reason.details;
    return [`; maxNextHops of BGPAdvertisement "${advertisement}" leaves ${prefix} to ${others}`];
  });
  return left.join('');
}

function directReturnText(directReturn: NodeExplanation['directReturn']): string {
  if (directReturn === undefined) return '';
  const { receives, passes } = directReturn;
  return `; direct return: passes on by ${passes.join(', ') || 'nothing'}, receives by ${receives.join(', ') || 'nothing'}`;
}

/** Equal for nodes that are alike: everything but their names, ages, and what only one node can have. */
function characterOf(node: NodeExplanation): string {
  const { node: name, reportedSecondsAgo: _age, source: _source, sessions: _sessions, ...rest } = node;
  return JSON.stringify(rest, (key, value: unknown) => (key === 'live' || detailsOfOneNode.has(key) ? undefined : value)).replaceAll(
    name,
    '',
  );
}

function rankOf({ nodes }: NodeGroup): number {
  const [first] = nodes;
  if (first === undefined) return 2;
  if (nodeReasons(first).length > 0) return 0;
  return first.addresses.some(({ peers }) => peers.some(({ reason }) => reason !== undefined)) ? 1 : 2;
}
