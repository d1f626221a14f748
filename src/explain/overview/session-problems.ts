import { listText, reasonLine } from '../../decisions/verdict/verdict-text.ts';
import type { ReasonCode } from '../../model/reasons.ts';
import { causeRemedy, causesOf } from '../sessions/session-causes.ts';
import { isUp, type SessionRow } from '../sessions/session-report.ts';
import { isOfItself } from './overview.ts';
import type { Problem } from './problem.ts';

/**
 * Lists sessions that are down, one problem for each cause: a router whose every session is down, in whatever families; then a node whose
 * every session is down; then single sessions by BGPPeer; then sessions that are up without the BFD that they should have.
 */
export function sessionProblems(sessions: readonly SessionRow[]): Problem[] {
  const known = sessions.filter(isOfItself);
  const down = known.filter((row) => !isUp(row));
  const up = known.filter(isUp);
  const reachable = new Set(up.map(({ peer }) => peer));
  const connected = new Set(up.map(({ node }) => node));
  const isWhole = ({ peer }: SessionRow): boolean => !reachable.has(peer);
  const ofRouters = down.filter(isWhole);
  const left = down.filter((row) => !isWhole(row));
  const isCutOff = ({ node }: SessionRow): boolean => !connected.has(node);
  const single = left.filter((row) => !isCutOff(row));
  const warned = sessions.flatMap(({ warning, ...row }) => (warning === undefined ? [] : [{ ...row, reason: warning }]));
  return [
    ...grouped(ofRouters, (row) => `${symptomOf(row)} ${row.peerASN} ${nodesOf(ofRouters, row.peer).join()}`).flatMap(routerProblem),
    ...grouped(left.filter(isCutOff), ({ node }) => node).flatMap(nodeProblem),
    ...grouped(single, (row) => `${symptomOf(row)} ${row.peer}`).flatMap(peerProblem),
    // Sessions that are up, but not as their BGPPeer asks.
    ...grouped(warned, (row) => `${symptomOf(row)} ${row.peer}`).flatMap((rows) =>
      problem(`BGPPeer/${rows[0].peer}`, rows, `On ${listText(nodesIn(rows))}`),
    ),
  ];
}

type Group = readonly [SessionRow, ...SessionRow[]];

/** How a router ends its sessions that is no longer there. What a node notices first depends on its timers and on its last packet. */
const silence: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['PeerUnreachable', 'HoldTimeExpired', 'BFDDown']);

/** Equal for sessions that one event may have ended. */
function symptomOf({ reason }: SessionRow): string {
  if (reason === undefined) return '';
  return silence.has(reason.code) ? 'silence' : reason.code;
}

function routerProblem(rows: Group): Problem[] {
  const addresses = unique(rows.map(({ address }) => address));
  const peers = unique(rows.map(({ peer }) => peer));
  const nodes = nodesIn(rows);
  const where = nodes.length === 1 ? nodes.join() : `${nodes.length} nodes`;
  const lead = `Every session with ${listText(peers)} (${listText(addresses)}) is down, on ${where}`;
  return problem(`BGPPeer/${rows[0].peer}`, rows, lead, peers.slice(1));
}

function nodeProblem(rows: Group): Problem[] {
  const { node } = rows[0];
  return problem(`Node/${node}`, rows, `Every session of node ${node} is down`);
}

function peerProblem(rows: Group): Problem[] {
  const { peer } = rows[0];
  return problem(`BGPPeer/${peer}`, rows, `The session with ${peer} is down on ${listText(nodesIn(rows))}`);
}

/** The most frequent cause stands for all. */
function problem(object: string, rows: Group, lead: string, others: readonly string[] = []): Problem[] {
  return causesOf(rows)
    .slice(0, 1)
    .map((cause) => ({
      object,
      code: cause.reason.code,
      line: `${lead}: ${reasonLine(cause.reason, causeRemedy(cause))}`,
      ...(others.length === 0 ? {} : { others: others.map((peer) => `BGPPeer/${peer}`) }),
    }));
}

function grouped(rows: readonly SessionRow[], key: (row: SessionRow) => string): Group[] {
  return [...Map.groupBy(rows, key).values()] as unknown as Group[];
}

function nodesOf(rows: readonly SessionRow[], peer: string): string[] {
  return rows.filter((row) => row.peer === peer).map(({ node }) => node);
}

function nodesIn(rows: Group): string[] {
  return unique(rows.map(({ node }) => node));
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}
