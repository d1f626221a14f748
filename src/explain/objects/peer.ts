import { defined } from '../../lang/defined.ts';
import { peerStatus, peersOnNode } from '../../decisions/configuration/peer-status.ts';
import { currentReport, whyNoReport } from '../../model/objects/node-state.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import { announcementsOfNode } from '../routes/node-announcements.ts';
import { routeText, type SentRoute } from '../routes/route-text.ts';
import { sessionSourceText, sourcesOf, type NodeSources } from '../sessions/block-source.ts';
import { sessionsOfNode, sessionText, type SessionExplanation } from '../sessions/session.ts';
import { withFix } from '../text/reason-lines.ts';

/** The sessions of a BGPPeer, node by node, and the routes that they carry. Plain data. */
interface PeerOverview {
  readonly peer: string;
  readonly address: string;
  readonly settings: readonly string[];
  /** Why a session that should exist is missing. */
  readonly reason?: Reason;
  readonly nodes: readonly PeerNode[];
  /** Nodes that the nodeSelectors of the peer do not select. */
  readonly unselected: readonly string[];
}

interface PeerNode {
  readonly node: string;
  readonly source: NodeSources;
  /** Why the state of the session is unknown. */
  readonly problem?: Reason;
  readonly session: SessionExplanation;
  /** Routes that the node should announce to the peer. */
  readonly routes: readonly SentRoute[];
}

/** `now` is in milliseconds since the epoch. The age of agents' reports is measured by it. `sourceOf` says what the snapshot is based on. */
export function explainPeer(
  snapshot: Snapshot,
  name: string,
  now: number,
  sourceOf: (node: string) => NodeSources = (node) => sourcesOf(snapshot, node, now),
): PeerOverview | undefined {
  const peer = snapshot.peers.get(name);
  if (peer === undefined) return undefined;
  const all = [...snapshot.nodes.keys()].toSorted();
  const nodes = all.flatMap((node): PeerNode[] => {
    const session = sessionsOfNode(snapshot, node, now).find((one) => one.peer === name);
    if (session === undefined) return [];
    const state = currentReport(snapshot.nodeStates, node, now);
    const problem = state === undefined ? whyNoReport(snapshot.nodeStates, node) : state.problem;
    const routes = announcementsOfNode(snapshot, node, now).routes.get(name) ?? [];
    return [{ node, source: sourceOf(node), ...defined({ problem }), session, routes }];
  });
  const selected = new Set(nodes.map(({ node }) => node));
  const summary = all.flatMap((node) => peersOnNode(snapshot, node, now).get(name) ?? []);
  const refused = summary.flatMap((one) => one.refused ?? [])[0];
  const { unready } = peerStatus(peer, {
    nodes: summary.length,
    expected: summary.filter(({ expected }) => expected).length,
    established: summary.filter(({ established }) => established).length,
    ...defined({ refused }),
  });
  return {
    peer: name,
    address: peer.peerAddress === undefined ? `unnumbered on ${peer.interface ?? '?'}` : formatAddress(peer.peerAddress),
    settings: [
      `our AS ${peer.localASN ?? peer.myASN}`,
      `its AS ${peer.peerASN ?? `any that is ${peer.dynamicASN ?? 'external'}`}`,
      `hold time ${peer.holdTimeSeconds} s`,
      ...(peer.passive ? ['passive: the peer connects'] : []),
      ...(peer.passwordSecret === undefined ? [] : [`password of Secret ${peer.passwordSecret.namespace}/${peer.passwordSecret.name}`]),
      ...(peer.bfdProfile === undefined ? [] : [`BFD by profile ${peer.bfdProfile}`]),
      ...(peer.enableGracefulRestart ? ['graceful restart'] : []),
    ],
    ...defined({ reason: unready }),
    nodes,
    unselected: all.filter((node) => !selected.has(node)),
  };
}

/** Returns the explanation in lines. `whole` lists every route; otherwise routes are counted. */
export function renderPeer({ peer, address, settings, reason: because, nodes, unselected }: PeerOverview, whole: boolean): string[] {
  return [
    `BGPPeer ${peer} (${address})`,
    '',
    `Settings   ${settings.join(', ')}`,
    ...(because === undefined ? ['Ready      every session that should be is established'] : withFix('Ready      no: ', because)),
    ...nodes.flatMap((one) => ['', ...renderPeerNode(one, whole)]),
    ...(unselected.length === 0 ? [] : ['', `Not selected by its nodeSelectors: ${unselected.join(', ')}`]),
  ];
}

function renderPeerNode({ node, source, problem, session, routes }: PeerNode, whole: boolean): string[] {
  const lead = session.state === 'Established' && problem === undefined ? 'sends' : 'would send';
  return [
    `Node ${node}${sessionSourceText(source)}`,
    ...(problem === undefined ? [] : withFix('  ', problem)),
    ...(session.reason === undefined ? [`  session with ${sessionText(session)}`] : withFix('  no session: ', session.reason)),
    `  ${lead} ${routes.length} route${routes.length === 1 ? '' : 's'}${session.prefixesSent === undefined ? '' : `, reports ${session.prefixesSent} sent`}`,
    ...(whole ? routes.map((route) => `    ${routeText(route)}`) : []),
  ];
}
