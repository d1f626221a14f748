import { reasonText, remedyText, type Reason } from '../../model/reasons.ts';
import { listText } from '../../decisions/verdict/verdict-text.ts';
import { isUnreported } from '../../decisions/verdict/client-reachability.ts';
import { sourceText } from '../sessions/block-source.ts';
import type { AddressExplanation, NodeExplanation } from './service-node.ts';

/**
 * Lists what the nodes do for a Service: nodes with equal lines once, those with problems first. Sessions, routes and addresses that stay
 * inside the cluster are left out. `types`: addresses of these types are listed.
 */
export function renderNodesBriefly(nodes: readonly NodeExplanation[], types: readonly AddressExplanation['type'][]): string[] {
  const briefs = nodes.map((node) => briefOf(node, types));
  const groups = [...Map.groupBy(briefs, ({ key }) => key).values()];
  const inOrder = [...groups.filter(([one]) => one?.problems.length !== 0), ...groups.filter(([one]) => one?.problems.length === 0)];
  return inOrder.flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const title = `${group.length === 1 ? 'Node' : 'Nodes'} ${listText(group.map(({ node }) => node))}`;
    return ['', `${title}${first.source}`, ...first.problems, ...first.works];
  });
}

interface Brief {
  readonly node: string;
  /** Follows the names of the nodes: where their state comes from. */
  readonly source: string;
  readonly problems: readonly string[];
  readonly works: readonly string[];
  /** Equal for nodes that are shown once. */
  readonly key: string;
}

function briefOf(explanation: NodeExplanation, types: readonly AddressExplanation['type'][]): Brief {
  const { node, problem, host, forwarding, frontends, elsewhere, endpoints = [], reason } = explanation;
  const isOurs = types.includes('LoadBalancer');
  const shown = explanation.addresses.filter(
    ({ type, peers }) => types.includes(type) || (isOurs && type === 'ClusterIP' && peers.length > 0),
  );
  const problems = causeLines([
    ...[problem, ...host, ...forwarding, isOurs ? reason : undefined].flatMap((because) =>
      because === undefined ? [] : [{ lead: '', because }],
    ),
    ...shown.flatMap((address) => obstaclesOf(address, problem)),
  ]);
  const [{ used, usable } = { used: 0, usable: 0 }] = endpoints;
  const share = used === usable ? `${used}` : `${used} of ${usable}`;
  const others = elsewhere === 0 ? '' : `, leaves ${elsewhere} to another program`;
  const to = frontends === 0 ? '' : ` to ${share} endpoint${usable === 1 ? '' : 's'}`;
  const works = [
    `  ${problem === undefined ? 'forwards' : 'should forward'} ${frontends} frontend${frontends === 1 ? '' : 's'}${others}${to}`,
    ...shown.flatMap(announcedLines),
  ];
  const source = explanation.source === undefined ? '' : sourceText(explanation.source);
  const lines = [source.replaceAll(/\d+ (?:s|min|h|d)\b/g, ''), ...problems, ...works];
  return { node, source, problems, works, key: lines.join('\n').replaceAll(node, '') };
}

interface Obstacle {
  readonly lead: string;
  readonly because: Reason;
}

function obstaclesOf({ address, reason, drain, peers, refused }: AddressExplanation, problem: Reason | undefined): Obstacle[] {
  const isTold = (because: Reason): boolean => because.code === problem?.code || isUnreported(because);
  const isCarried = peers.some((peer) => peer.reason?.code !== 'PeerFamilyNotCarried');
  const missing = peers.filter(
    (peer) => peer.reason !== undefined && !isTold(peer.reason) && !(isCarried && peer.reason.code === 'PeerFamilyNotCarried'),
  );
  return [
    ...(reason === undefined || peers.length > 0 ? [] : [{ lead: `${address} is not announced: `, because: reason }]),
    ...(drain === undefined ? [] : [{ lead: `${address}: `, because: drain }]),
    ...missing.flatMap((peer) =>
      peer.reason === undefined ? [] : [{ lead: `${address} is not announced to ${peer.peer}: `, because: peer.reason }],
    ),
    ...peers.flatMap(({ warning }) => (warning === undefined ? [] : [{ lead: 'warning: ', because: warning }])),
    ...refused.filter(({ reason: because }) => because.code !== reason?.code).map(({ reason: because }) => ({ lead: '', because })),
  ];
}

function namesOf(peers: readonly { readonly peer: string }[]): string {
  return peers.map(({ peer }) => peer).join(', ');
}

/** Returns each cause once, and each fix once, below the last cause that it mends. */
function causeLines(obstacles: readonly Obstacle[]): string[] {
  const byFix = Map.groupBy(obstacles, ({ because }) => remedyText(because));
  return [...byFix].flatMap(([fix, list]) => [
    ...new Set(list.map(({ lead, because }) => `  ${lead}${reasonText(because)}`)),
    ...(fix === '' ? [] : [`      fix: ${fix}`]),
  ]);
}

function announcedLines({ address, type, peers }: AddressExplanation): string[] {
  const title = type === 'LoadBalancer' ? address : `${address} (${type})`;
  const having = peers.filter(({ reason }) => reason === undefined);
  const expected = peers.filter(({ reason, prefixes }) => prefixes.length > 0 && isUnreported(reason));
  const isAsked = having.every(({ live }) => live !== undefined);
  return [
    ...(having.length === 0 ? [] : [`  ${title} is announced to ${namesOf(having)}${isAsked ? ' (asked now)' : ''}`]),
    ...(expected.length === 0 ? [] : [`  ${title} would be announced to ${namesOf(expected)}`]),
  ];
}
