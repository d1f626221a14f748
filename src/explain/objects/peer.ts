import { defined } from '../../lang/defined.ts';
import { addressOfSession, routerOf } from '../../decisions/announcement/peers.ts';
import { peersOnNode } from '../../decisions/configuration/peer-status.ts';
import type { BGPPeer } from '../../model/kinds/types.ts';
import { currentReport, whyNoReport } from '../../model/objects/node-state.ts';
import { reason, reasonText, type Reason, type ReasonCode } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatPrefix } from '../../net/prefix.ts';
import { announcementsOfNode } from '../routes/node-announcements.ts';
import { receivedText } from '../routes/received-report.ts';
import { routeText, type SentRoute } from '../routes/route-text.ts';
import type { LiveReceivedRoute } from '../../live/contract.ts';
import type { LiveNodes } from '../sessions/live-view.ts';
import { sessionSourceText, sourcesOf, type NodeSources } from '../sessions/block-source.ts';
import { otherCauses, verdictLine, type PeerVerdict } from './peer-verdict.ts';
import { neighborLines, sessionsOfNode, sessionText, type SessionExplanation } from '../sessions/session.ts';
import { causesOf, type SessionCause } from '../sessions/session-causes.ts';
import { sessionCounts, sessionReport } from '../sessions/session-report.ts';
import { withFix } from '../text/reason-lines.ts';

/** The sessions of a BGPPeer, node by node, and the routes that they carry. Plain data. */
interface PeerOverview {
  readonly peer: string;
  readonly verdict: PeerVerdict & { readonly line: string; readonly code?: ReasonCode };
  readonly address: string;
  readonly settings: readonly string[];
  /** The most frequent cause of sessions that are down. Absent: all are up. */
  readonly reason?: Reason;
  readonly nodes: readonly PeerNode[];
  /** Number of nodes that the nodeSelectors select. */
  readonly selected: number;
  /** Nodes that the nodeSelectors of the peer do not select. */
  readonly unselected: readonly string[];
}

interface PeerNode {
  readonly node: string;
  readonly source: NodeSources;
  /** Why the state of the session is unknown. */
  readonly problem?: Reason;
  readonly session: SessionExplanation;
  /** The routers that connected, in words. Empty: the BGPPeer has no dynamicNeighbors, or none connected. */
  readonly neighbors: readonly string[];
  /** Routes that the node should announce to the peer. */
  readonly routes: readonly SentRoute[];
  /** Routes of the peer that the node has accepted, as its agent said now. Absent: the BGPPeer has no `import`, or the agent was not asked. */
  readonly received?: readonly LiveReceivedRoute[];
}

interface PeerView {
  /** Says what the snapshot is based on. */
  readonly sourceOf?: (node: string) => NodeSources;
  /** The one node that is explained. All if absent, or if the peer does not select it. */
  readonly only?: string | undefined;
  /** The answers of agents. */
  readonly live?: LiveNodes;
}

/** `now` is in milliseconds since the epoch. The age of agents' reports is measured by it. */
export function explainPeer(snapshot: Snapshot, name: string, now: number, view: PeerView = {}): PeerOverview | undefined {
  const { sourceOf = (node: string) => sourcesOf(snapshot, node, now), only, live }: PeerView = view;
  const peer = snapshot.peers.get(name);
  if (peer === undefined) return undefined;
  const all = [...snapshot.nodes.keys()].toSorted();
  const nodes = all.flatMap((node): PeerNode[] => {
    const session = sessionsOfNode(snapshot, node, now).find((one) => one.peer === name);
    if (session === undefined) return [];
    const state = currentReport(snapshot.nodeStates, node, now);
    const problem = state === undefined ? whyNoReport(snapshot.nodeStates, node) : state.problem;
    const routes = announcementsOfNode(snapshot, node, now).routes.get(name) ?? [];
    const received = peer.import === undefined ? undefined : live?.get(node)?.received?.filter((route) => route.peer === name);
    return [
      {
        node,
        source: sourceOf(node),
        ...defined({ problem }),
        session,
        neighbors: neighborLines(session, now),
        routes,
        ...defined({ received }),
      },
    ];
  });
  const selected = new Set(nodes.map(({ node }) => node));
  const verdict = verdictOf(snapshot, peer, now, only !== undefined && selected.has(only) ? only : undefined);
  const because = verdict.outcome === 'up' ? undefined : verdict.causes[0]?.reason;
  return {
    peer: name,
    verdict: {
      ...verdict,
      line: verdictLine(verdict, nodes.length),
      ...defined({ code: (verdict.causes[0] ?? verdict.warnings[0])?.reason.code }),
    },
    address: addressOfSession(peer) === undefined ? `unnumbered on ${peer.interface ?? '?'}` : routerOf(peer),
    settings: [
      `our AS ${peer.localASN ?? peer.myASN}`,
      `its AS ${peer.peerASN ?? `any that is ${peer.dynamicASN ?? 'external'}`}`,
      `hold time ${peer.holdTimeSeconds} s`,
      ...(peer.vrf === undefined ? [] : [`VRF ${peer.vrf}`]),
      ...neighborSettings(peer),
      ...(peer.passive ? ['passive: the peer connects'] : []),
      ...(peer.passwordSecret === undefined ? [] : [`password of Secret ${peer.passwordSecret.namespace}/${peer.passwordSecret.name}`]),
      ...(peer.bfdProfile === undefined ? [] : [`BFD by profile ${peer.bfdProfile}`]),
      ...(peer.enableGracefulRestart ? ['graceful restart'] : []),
      ...importSettings(peer),
    ],
    ...defined({ reason: because }),
    nodes: only === undefined ? nodes : nodes.filter(({ node }) => node === only),
    selected: selected.size,
    unselected: all.filter((node) => !selected.has(node)),
  };
}

function neighborSettings({ dynamicNeighbors: dynamic }: BGPPeer): string[] {
  if (dynamic === undefined) return [];
  const asns = dynamic.asns.map(({ from, to = from }) => (from === to ? `${from}` : `${from} to ${to}`));
  return [
    `at most ${dynamic.maximum} routers that connect from ${dynamic.ranges.map(formatPrefix).join(', ')}`,
    ...(asns.length === 0 ? [] : [`with the AS numbers ${asns.join(', ')}`]),
  ];
}

function importSettings({ import: imported }: BGPPeer): string[] {
  if (imported === undefined) return [];
  const { prefixes, communities, localPref } = imported;
  const ranges = prefixes.map(({ prefix, ge, le }) =>
    [formatPrefix(prefix), ...(ge === undefined ? [] : [`ge ${ge}`]), ...(le === undefined ? [] : [`le ${le}`])].join(' '),
  );
  return [
    `takes the routes ${ranges.join(', ') || 'of no prefix'}`,
    ...(communities.length === 0 ? [] : [`with the communities ${communities.join(' ')}`]),
    ...(localPref === undefined ? [] : [`with local preference ${localPref}`]),
  ];
}

function verdictOf(snapshot: Snapshot, { metadata: { name } }: BGPPeer, now: number, node: string | undefined): PeerVerdict {
  const { sessions } = sessionReport(snapshot, now, { peer: name, ...defined({ node }) });
  const { established, expected } = sessionCounts({ sessions });
  const outcome = expected > 0 && established === expected ? 'up' : established > 0 ? 'partly' : 'down';
  const none: SessionCause = { reason: reason('PeerSelectsNoNode', { peer: name }), peers: [name], nodes: [], others: [] };
  const warnings = causesOf(sessions.map(({ node, peer, warning }) => ({ node, peer, ...defined({ reason: warning }) })));
  const shared = sharedIdentifier(snapshot, name, now).filter(({ nodes }) => node === undefined || nodes.includes(node));
  return {
    ...defined({ node }),
    outcome,
    established,
    expected,
    causes: sessions.length === 0 ? [none] : causesOf(sessions),
    warnings: [...shared, ...warnings],
  };
}

/** Returns nodes that use one router ID in their sessions with the peer. */
function sharedIdentifier(snapshot: Snapshot, peer: string, now: number): SessionCause[] {
  const nodes = [...snapshot.nodes.keys()].toSorted();
  const found = nodes.flatMap((node) => {
    const routerID = peersOnNode(snapshot, node, now).get(peer)?.routerID;
    return routerID === undefined ? [] : [{ node, routerID }];
  });
  return [...Map.groupBy(found, ({ routerID }) => routerID)].flatMap(([routerID, sharing]): SessionCause[] => {
    const [one, other] = sharing;
    if (one === undefined || other === undefined) return [];
    const because = reason('DuplicateRouterID', { peer, routerID, node: one.node, other: other.node });
    return [{ reason: because, peers: [peer], nodes: sharing.map(({ node }) => node), others: [] }];
  });
}

/** Returns the explanation in lines, the verdict first. `whole` lists every route; otherwise routes are counted. */
export function renderPeer({ peer, verdict, address, settings, nodes, unselected, selected }: PeerOverview, whole: boolean): string[] {
  return [
    verdict.line,
    ...otherCauses(verdict, selected),
    '',
    `BGPPeer ${peer} (${address})`,
    '',
    `Settings   ${settings.join(', ')}`,
    ...nodes.flatMap((one) => ['', ...renderPeerNode(one, whole)]),
    ...(unselected.length === 0 ? [] : ['', `Not selected by its nodeSelectors: ${unselected.join(', ')}`]),
  ];
}

/** The verdict has the reasons already. */
function renderPeerNode({ node, source, problem, session, neighbors, routes, received = [] }: PeerNode, whole: boolean): string[] {
  const isUp = session.state === 'Established' && problem === undefined;
  const lead = isUp ? 'sends' : 'would send';
  const { lastError: _, ...withoutError } = session;
  return [
    `Node ${node}${sessionSourceText(source)}`,
    ...(problem === undefined || problem.code === 'AgentSilent' || problem.code === 'AgentStopped' ? [] : withFix('  ', problem)),
    session.reason === undefined
      ? `  session with ${sessionText(isUp ? session : withoutError)}`
      : `  no session: ${reasonText(session.reason)}`,
    ...neighbors.map((line) => `    ${line}`),
    ...(session.reason !== undefined && routes.length === 0
      ? []
      : [
          `  ${lead} ${routes.length} route${routes.length === 1 ? '' : 's'}${session.prefixesSent === undefined ? '' : `, reports ${session.prefixesSent} sent`}`,
        ]),
    ...(whole ? routes.map((route) => `    ${routeText(route)}`) : []),
    ...receivedLines(session, received, whole),
  ];
}

/** Most routes that are not in the kernel and are listed without being asked for. */
const shownReceived = 5;

function receivedLines({ families }: SessionExplanation, received: readonly LiveReceivedRoute[], whole: boolean): string[] {
  const sum = (of: 'accepted' | 'installed'): number => families.reduce((total, family) => total + (family[of] ?? 0), 0);
  if (families.every(({ accepted }) => accepted === undefined)) return [];
  const accepted = sum('accepted');
  const missing = received.filter(({ installed }) => !installed);
  const shown = whole ? received : missing.slice(0, shownReceived);
  return [
    `  accepts ${accepted} route${accepted === 1 ? '' : 's'} of the peer, ${sum('installed')} of them in the kernel`,
    ...shown.map((route) => `    ${receivedText(route)}`),
    ...(whole || missing.length <= shownReceived ? [] : [`    ${missing.length - shownReceived} more: herald routes --received`]),
  ];
}
