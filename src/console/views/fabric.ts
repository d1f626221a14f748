import { defined } from '../../lang/defined.ts';
import { reasonLine } from '../../decisions/verdict/verdict-text.ts';
import { l2Segments } from '../../explain/l2/l2-segments.ts';
import { isUp, sessionReport, type SessionRow } from '../../explain/sessions/session-report.ts';
import { sessionText } from '../../explain/sessions/session.ts';
import { ageText, secondsSince } from '../../explain/text/age.ts';
import type { Problem } from '../../explain/overview/problem.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { currentReport } from '../../model/objects/node-state.ts';
import type { FabricCloud, FabricNode, FabricPeer, FabricProblem, FabricSession, FabricView, Health } from '../contract.ts';
import type { Picture } from '../picture.ts';
import { endHealths, type EndHealths } from './fabric-health.ts';
import { readingFacts, timeText } from './reading-facts.ts';
import { nodeGroups } from './node-groups.ts';
import { outcomeOf } from './service-outcome.ts';
import { countOutcomes } from './services.ts';

/** Draws routers, sessions and nodes. */
export function fabricView(picture: Picture): FabricView {
  const { snapshot, now, live, overview, problems } = picture;
  const { sessions } = sessionReport(snapshot, now, {}, live);
  const drawn = sessions.map((row) => sessionOf(row, now));
  const ends = endHealths(drawn);
  const nodes = nodesOf(picture, ends);
  const peers = peersOf(picture, sessions, ends);
  const facts = readingFacts(picture);
  return {
    ...facts,
    // The list of problems has the errors of objects.
    notes: facts.notes.filter(({ line }) => !problems.some((problem) => line === `problem: ${problem.line}`)),
    nodes,
    peers,
    sessions: drawn,
    problems: problems.map((problem) => withOutcome(problem, picture)),
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

function withOutcome(problem: Problem, { verdicts }: Picture): FabricProblem {
  const verdict = verdicts.get(problem.object.replace(/^Service\//, '') as ServiceKey);
  return verdict === undefined ? problem : { ...problem, outcome: outcomeOf(verdict) };
}

function sessionOf(row: SessionRow, now: number): FabricSession {
  const { node, peer, address, state, secondsInState, prefixesSent, bfd, reason, warning, source } = row;
  const why = reason ?? warning;
  const down = isUp(row) ? undefined : secondsDown(row, now);
  return {
    node,
    peer,
    address,
    health: healthOf(row),
    isLive: source === 'asked now',
    words: wordsOf(row, down),
    ...defined({
      state,
      prefixesSent,
      bfd,
      since:
        down === undefined
          ? secondsInState === undefined
            ? undefined
            : timeText(now - secondsInState * 1000)
          : timeText(now - down * 1000),
      why: why === undefined ? undefined : reasonLine(why),
    }),
  };
}

/** A session that is down tries again and again, so its state is always new. Its cause has the time when it went down. */
function secondsDown({ reason: because }: SessionRow, now: number): number | undefined {
  const { since } = (because?.details ?? {}) as { readonly since?: unknown };
  return typeof since === 'string' ? secondsSince(since, now) : undefined;
}

function wordsOf(row: SessionRow, down: number | undefined): string {
  if (down === undefined) return sessionText(row);
  const { secondsInState: _, ...session } = row;
  return `${sessionText(session)}; down for ${ageText(down)}`;
}

/** Reasons that say that nobody knows the state of a session. */
const silent = new Set(['AgentSilent', 'AgentStopped']);

function healthOf(row: SessionRow): Health {
  if (row.reason?.code === 'PeerAdminDown') return 'off';
  if (row.reason?.code === 'AgentSilent') return 'unknown';
  if (!isUp(row)) return 'bad';
  return row.warning === undefined ? 'good' : 'doubtful';
}

function nodesOf({ snapshot, now, overview, problems }: Picture, ends: EndHealths): FabricNode[] {
  const troubled = Map.groupBy(overview.nodes.troubled, ({ node }) => node);
  const listed = linesByObject(problems);
  const l2 = new Map(overview.l2?.nodes.map(({ node, owned, links }) => [node, { owned, links }]));
  const draining = new Map(overview.nodes.draining.map(({ node, phase }) => [node, phase]));
  const names = new Set([...snapshot.nodes.keys(), ...troubled.keys()]);
  return [...names].toSorted().map((node) => {
    const reasons = (troubled.get(node) ?? []).map(({ reason }) => reason);
    const isSilent = currentReport(snapshot.nodeStates, node, now) === undefined || reasons.some(({ code }) => silent.has(code));
    const own = reasons.map((one) => reasonLine(one));
    // The list of problems names the first of several nodes. A node's own reasons name the node itself.
    const lines = own.length > 0 ? own : (listed.get(`Node/${node}`) ?? []);
    return {
      node,
      health: lines.length === 0 ? (ends.nodes.get(node) ?? 'good') : isSilent ? 'unknown' : 'bad',
      lines,
      ...defined({ draining: draining.get(node), l2: l2.get(node) }),
    };
  });
}

function linesByObject(problems: Picture['problems']): Map<string, string[]> {
  const lines = new Map<string, string[]>();
  for (const { object, others = [], line } of problems)
    for (const one of [object, ...others]) lines.set(one, [...(lines.get(one) ?? []), line]);
  return lines;
}

function peersOf({ snapshot, overview }: Picture, rows: readonly SessionRow[], ends: EndHealths): FabricPeer[] {
  const objects = new Set(overview.objects.map(({ object }) => object));
  const byPeer = Map.groupBy(rows, ({ peer }) => peer);
  return [...snapshot.peers.keys()].toSorted().map((peer) => {
    const sessions = byPeer.get(peer) ?? [];
    return {
      peer,
      addresses: [...new Set(sessions.map(({ address }) => address))].toSorted(),
      asns: [...new Set(sessions.map(({ peerASN }) => String(peerASN)))].toSorted(),
      health: objects.has(`BGPPeer/${peer}`) ? 'bad' : (ends.peers.get(peer) ?? 'unknown'),
    };
  });
}

/** Services whose address is a name: a load balancer outside the cluster has it. */
function cloudsOf({ snapshot, verdicts }: Picture): FabricCloud[] {
  return [...snapshot.services].flatMap(([key, service]): FabricCloud[] => {
    const hostnames = service.ingress.flatMap(({ hostname }) => hostname ?? []);
    if (hostnames.length === 0) return [];
    const verdict = verdicts.get(key);
    return [{ service: key, hostnames, outcome: outcomeOf(verdict), ...defined({ line: verdict?.line }) }];
  });
}
