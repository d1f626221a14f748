import type { Reason } from '../../model/reasons.ts';
import { detailOf, sharedSentence } from '../text/shared-sentence.ts';
import { causeKey } from '../../decisions/verdict/causes/causes.ts';
import { causeRemedy } from '../sessions/session-causes.ts';
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
  const inOrder = [...groups.filter(([one]) => one?.obstacles.length !== 0), ...groups.filter(([one]) => one?.obstacles.length === 0)];
  return inOrder.flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const title = `${group.length === 1 ? 'Node' : 'Nodes'} ${listText(group.map(({ node }) => node))}`;
    return ['', `${title}${first.source}`, ...problemLines(group), ...first.works];
  });
}

interface Brief {
  readonly node: string;
  /** Follows the names of the nodes: where their state comes from. */
  readonly source: string;
  readonly obstacles: readonly Obstacle[];
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
  const obstacles = folded([
    ...[problem, ...host, ...forwarding, isOurs ? reason : undefined].flatMap((because) =>
      because === undefined ? [] : [{ subjects: [], lead: '', because }],
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
  const told = obstacles.map(({ subjects, lead, because }) => `${subjects.join()}${lead}${causeKey(because)}`);
  const lines = [source.replaceAll(/\d+ (?:s|min|h|d)\b/g, ''), ...told, ...works];
  return { node, source, obstacles, works, key: lines.join('\n').replaceAll(node, '') };
}

interface Obstacle {
  /** Addresses. */
  readonly subjects: readonly string[];
  /** Follows the addresses. */
  readonly lead: string;
  readonly because: Reason;
}

/** Joins the addresses that lack the same for the same cause. */
function folded(obstacles: readonly Obstacle[]): Obstacle[] {
  const alike = Map.groupBy(obstacles, ({ lead, because }) => `${lead}${causeKey(because)}`);
  return [...alike.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [{ ...first, subjects: [...new Set([first, ...others].flatMap(({ subjects }) => subjects))] }],
  );
}

function obstaclesOf({ address, reason, drain, peers, refused }: AddressExplanation, problem: Reason | undefined): Obstacle[] {
  const isTold = (because: Reason): boolean => because.code === problem?.code || isUnreported(because);
  const isCarried = peers.some((peer) => peer.reason?.code !== 'PeerFamilyNotCarried');
  const isAnnounced = peers.some((peer) => peer.reason === undefined);
  const missing = peers.filter(
    (peer) =>
      peer.reason !== undefined &&
      !isTold(peer.reason) &&
      !(isCarried && peer.reason.code === 'PeerFamilyNotCarried') &&
      // An advertisement with spec.peers leaves the others out on purpose.
      !(isAnnounced && peer.reason.code === 'PeerNotInAdvertisement'),
  );
  const subjects = [address];
  return [
    ...(reason === undefined || peers.length > 0 ? [] : [{ subjects, lead: ' is not announced: ', because: reason }]),
    ...(drain === undefined ? [] : [{ subjects, lead: ': ', because: drain }]),
    ...missing.flatMap((peer) =>
      peer.reason === undefined ? [] : [{ subjects, lead: ` is not announced to ${peer.peer}: `, because: peer.reason }],
    ),
    ...peers.flatMap(({ warning }) => (warning === undefined ? [] : [{ subjects: [], lead: 'warning: ', because: warning }])),
    ...refused
      .filter(({ reason: because }) => because.code !== reason?.code)
      .map(({ reason: because }) => ({ subjects: [], lead: '', because })),
  ];
}

function namesOf(peers: readonly { readonly peer: string }[]): string {
  return peers.map(({ peer }) => peer).join(', ');
}

/** Returns each cause once, and each fix once, below the last cause that it mends. The obstacles of the nodes differ in `detailsOfOneNode`. */
function problemLines(group: readonly Brief[]): string[] {
  const [first] = group;
  const causes = (first?.obstacles ?? []).map(({ subjects, lead, because }, index) => {
    const reasons = group.flatMap(({ obstacles }) => obstacles[index]?.because ?? []);
    const verb = subjects.length > 1 ? lead.replace(' is ', ' are ') : lead;
    return { line: `  ${listText(subjects)}${verb}${sharedSentence(because, reasons)}`, fix: fixOf(because, reasons) };
  });
  return [...Map.groupBy(causes, ({ fix }) => fix)].flatMap(([fix, list]) => [
    ...new Set(list.map(({ line }) => line)),
    ...(fix === '' ? [] : [`      fix: ${fix}`]),
  ]);
}

function fixOf(because: Reason, reasons: readonly Reason[]): string {
  const own = detailOf(because, 'local');
  const others = [...new Set(reasons.flatMap((one) => detailOf(one, 'local')))].filter((local) => local !== '' && !own.includes(local));
  return causeRemedy({ reason: because, peers: [], nodes: [], others });
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
