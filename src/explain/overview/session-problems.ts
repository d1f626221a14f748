import { defined } from '../../lang/defined.ts';
import { listText, reasonLine } from '../../decisions/verdict/verdict-text.ts';
import { reason } from '../../model/reasons.ts';
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
  return [
    ...grouped(ofRouters, (row) => `${codeOf(row)} ${row.peerASN} ${nodesOf(ofRouters, row.peer).join()}`).map(routerProblem),
    ...grouped(left.filter(isCutOff), ({ node }) => node).map(nodeProblem),
    ...grouped(
      left.filter((row) => !isCutOff(row)),
      (row) => `${codeOf(row)} ${row.peer}`,
    ).map(peerProblem),
    ...grouped(
      sessions.filter(({ warning }) => warning !== undefined),
      ({ warning, peer }) => `${warning?.code} ${peer}`,
    ).map(warningProblem),
  ];
}

type Group = readonly [SessionRow, ...SessionRow[]];

function routerProblem(rows: Group): Problem {
  const peers = peersOf(rows);
  const addresses = unique(rows.map(({ address }) => address));
  const nodes = unique(rows.map(({ node }) => node));
  return problem(
    `BGPPeer/${rows[0].peer}`,
    rows,
    `Every session with ${listText(peers)} (${listText(addresses)}) is down, on ${counted(nodes)}`,
    peers,
  );
}

function nodeProblem(rows: Group): Problem {
  const { node } = rows[0];
  return { ...problem(`Node/${node}`, rows, `Every session of node ${node} is down`, []) };
}

function peerProblem(rows: Group): Problem {
  const nodes = unique(rows.map(({ node }) => node));
  return problem(`BGPPeer/${rows[0].peer}`, rows, `The session with ${rows[0].peer} is down on ${listText(nodes)}`, [rows[0].peer]);
}

/** A session that is up, but not as its BGPPeer asks. */
function warningProblem(rows: Group): Problem {
  const { warning, ...row } = rows[0];
  const nodes = unique(rows.map(({ node }) => node));
  return problem(`BGPPeer/${row.peer}`, [{ ...row, ...defined({ reason: warning }) }], `On ${listText(nodes)}`, [row.peer]);
}

function problem(object: string, rows: Group, lead: string, peers: readonly string[]): Problem {
  const [row] = rows;
  const because = row.reason ?? reason('SessionDown', { peer: row.peer, state: row.state ?? 'unknown', lastError: row.lastError ?? '' });
  const others = peers.slice(1).map((peer) => `BGPPeer/${peer}`);
  return { object, code: because.code, line: `${lead}: ${reasonLine(because)}`, ...(others.length === 0 ? {} : { others }) };
}

function grouped(rows: readonly SessionRow[], key: (row: SessionRow) => string): Group[] {
  return [...Map.groupBy(rows, key).values()] as unknown as Group[];
}

function codeOf(row: SessionRow): string {
  return row.reason?.code ?? '';
}

function nodesOf(rows: readonly SessionRow[], peer: string): string[] {
  return rows.filter((row) => row.peer === peer).map(({ node }) => node);
}

function peersOf(rows: Group): string[] {
  return unique(rows.map(({ peer }) => peer));
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}

function counted(nodes: readonly string[]): string {
  return nodes.length === 1 ? (nodes[0] ?? '') : `${nodes.length} nodes`;
}
