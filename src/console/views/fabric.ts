import { defined } from '../../lang/defined.ts';
import { reasonLine } from '../../decisions/verdict/verdict-text.ts';
import { l2Segments } from '../../explain/l2/l2-segments.ts';
import { isUp, sessionReport, type SessionRow } from '../../explain/sessions/session-report.ts';
import { sessionText } from '../../explain/sessions/session.ts';
import { currentReport } from '../../model/objects/node-state.ts';
import { reasonText } from '../../model/reasons.ts';
import type { FabricCloud, FabricNode, FabricPeer, FabricSession, FabricView, Health } from '../contract.ts';
import type { Picture } from '../picture.ts';
import { readingFacts, timeText } from './reading-facts.ts';
import { nodeGroups } from './node-groups.ts';
import { countOutcomes, outcomeOf } from './services.ts';

/** Draws routers, sessions and nodes. */
export function fabricView(picture: Picture): FabricView {
  const { snapshot, now, live, overview, problems } = picture;
  const { sessions } = sessionReport(snapshot, now, {}, live);
  const drawn = sessions.map((row) => sessionOf(row, now));
  const nodes = nodesOf(picture);
  const peers = peersOf(picture, sessions, drawn);
  return {
    ...readingFacts(picture),
    nodes,
    peers,
    sessions: drawn,
    problems,
    groups: nodeGroups(nodes, peers, drawn),
    segments: l2Segments(snapshot, now),
    clouds: cloudsOf(picture),
    counts: {
      services: overview.services.total,
      ours: overview.services.ours,
      outcomes: countOutcomes(picture),
      sessions: { established: overview.sessions.established, expected: overview.sessions.expected },
      nodes: { total: overview.nodes.total, reporting: overview.nodes.reporting },
    },
    ...(overview.controller === undefined ? {} : { controller: { holder: overview.controller.holder } }),
  };
}

function sessionOf(row: SessionRow, now: number): FabricSession {
  const { node, peer, address, state, secondsInState, prefixesSent, bfd, reason, warning, source } = row;
  const why = reason ?? warning;
  return {
    node,
    peer,
    address,
    health: healthOf(row),
    isLive: source === 'asked now',
    words: sessionText(row),
    ...defined({
      state,
      prefixesSent,
      bfd,
      since: secondsInState === undefined ? undefined : timeText(now - secondsInState * 1000),
      why: why === undefined ? undefined : reasonLine(why),
    }),
  };
}

/** Reasons that say that nobody knows the state of a session. */
const silent = new Set(['AgentSilent', 'AgentStopped']);

function healthOf(row: SessionRow): Health {
  if (row.reason?.code === 'PeerAdminDown') return 'off';
  if (row.reason?.code === 'AgentSilent') return 'unknown';
  if (!isUp(row)) return 'bad';
  return row.warning === undefined ? 'good' : 'doubtful';
}

function nodesOf({ snapshot, now, overview }: Picture): FabricNode[] {
  const troubled = Map.groupBy(overview.nodes.troubled, ({ node }) => node);
  const l2 = new Map(overview.l2?.nodes.map(({ node, owned, links }) => [node, { owned, links }]));
  const draining = new Map(overview.nodes.draining.map(({ node, phase }) => [node, phase]));
  const names = new Set([...snapshot.nodes.keys(), ...troubled.keys()]);
  return [...names].toSorted().map((node) => {
    const reasons = (troubled.get(node) ?? []).map(({ reason }) => reason);
    const isSilent = currentReport(snapshot.nodeStates, node, now) === undefined || reasons.some(({ code }) => silent.has(code));
    return {
      node,
      health: reasons.length === 0 ? 'good' : isSilent ? 'unknown' : 'bad',
      lines: reasons.map((one) => reasonLine(one)),
      ...defined({ draining: draining.get(node), l2: l2.get(node) }),
    };
  });
}

function peersOf({ snapshot, overview }: Picture, rows: readonly SessionRow[], drawn: readonly FabricSession[]): FabricPeer[] {
  const objects = new Map(overview.objects.map(({ object, reason }) => [object, reasonText(reason)]));
  return [...snapshot.peers.keys()].toSorted().map((peer) => {
    const sessions = rows.filter((row) => row.peer === peer);
    const healths = new Set(drawn.filter((one) => one.peer === peer).map(({ health }) => health));
    return {
      peer,
      addresses: [...new Set(sessions.map(({ address }) => address))].toSorted(),
      asns: [...new Set(sessions.map(({ peerASN }) => String(peerASN)))].toSorted(),
      health: objects.has(`BGPPeer/${peer}`) ? 'bad' : worstOf(healths),
    };
  });
}

/** Services whose address is a name: a load balancer outside the cluster has it. */
function cloudsOf({ snapshot, services }: Picture): FabricCloud[] {
  return [...snapshot.services].flatMap(([key, service]): FabricCloud[] => {
    const hostnames = service.ingress.flatMap(({ hostname }) => hostname ?? []);
    if (hostnames.length === 0) return [];
    const state = services.get(key);
    return [{ service: key, hostnames, outcome: outcomeOf(snapshot, service, state, false), ...defined({ line: state?.problem?.line }) }];
  });
}

const byGravity: readonly Health[] = ['bad', 'doubtful', 'unknown', 'good', 'off'];

function worstOf(healths: ReadonlySet<Health>): Health {
  return byGravity.find((health) => healths.has(health)) ?? 'unknown';
}
