import { defined } from '../../lang/defined.ts';
import { whyIncomplete, whySessionOf } from '../../decisions/announcement/sessions/session-down.ts';
import { sessionFacts } from '../../decisions/announcement/sessions/session-facts.ts';
import { currentReport, reportAge, whyNoReport } from '../../model/objects/node-state.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { sessionsOfNode, type SessionExplanation } from './session.ts';

/** A session of a node, and why it is not up. Plain data. */
export interface SessionRow extends SessionExplanation {
  readonly node: string;
  /** The problem of a session that is up. */
  readonly warning?: Reason;
  /** Age of the report; absent: there is none. */
  readonly reportedSecondsAgo?: number;
  /** The agent answered a query of this moment. Absent: the row is by its last report. */
  readonly source?: 'asked now';
}

export interface SessionReport {
  /** Sorted by node, then by peer. */
  readonly sessions: readonly SessionRow[];
}

/** Restricts a table to a node and a peer. Absent: all. */
export interface TableFilter {
  readonly node?: string;
  readonly peer?: string;
}

/**
 * Reports every session that BGPPeers require of the nodes. `now` is in milliseconds since the epoch; the age of agents' reports is
 * measured by it. `live` has the nodes whose agents' answers are in the snapshot.
 */
export function sessionReport(
  snapshot: Snapshot,
  now: number,
  wanted: TableFilter = {},
  live: ReadonlyMap<string, unknown> = new Map(),
): SessionReport {
  const nodes = [...snapshot.nodes.keys()].filter((node) => wanted.node === undefined || node === wanted.node).toSorted();
  return {
    sessions: nodes.flatMap((node) =>
      sessionsOfNode(snapshot, node, now)
        .filter(({ peer }) => wanted.peer === undefined || peer === wanted.peer)
        .map((session) => rowOf(snapshot, node, session, now, live.has(node))),
    ),
  };
}

/** Counts sessions that are expected and sessions that are up. Sessions that were shut down on purpose are left out. */
export function sessionCounts({ sessions }: SessionReport): { readonly established: number; readonly expected: number } {
  const expected = sessions.filter(({ reason: why }) => why?.code !== 'PeerAdminDown');
  return { established: expected.filter(isUp).length, expected: expected.length };
}

export function isUp({ state, reason: why }: SessionRow): boolean {
  return state === 'Established' && why === undefined;
}

function rowOf(snapshot: Snapshot, node: string, session: SessionExplanation, now: number, isLive: boolean): SessionRow {
  const last = snapshot.nodeStates.get(node);
  const why = session.reason ?? whyNotUp(snapshot, node, session.peer, now);
  return {
    node,
    ...session,
    ...defined({ reason: why, warning: why === undefined ? warningOf(snapshot, node, session.peer, now) : undefined }),
    ...(isLive ? { source: 'asked now' } : last === undefined ? {} : { reportedSecondsAgo: reportAge(last, now) }),
  };
}

function warningOf(snapshot: Snapshot, name: string, peer: string, now: number): Reason | undefined {
  const [node, object] = [snapshot.nodes.get(name), snapshot.peers.get(peer)];
  if (node === undefined || object === undefined) return undefined;
  const status = currentReport(snapshot.nodeStates, name, now)?.sessions.find((session) => session.peer === peer);
  return status?.warning ?? whyIncomplete(sessionFacts(object, node), status, now);
}

function whyNotUp(snapshot: Snapshot, node: string, peer: string, now: number): Reason | undefined {
  if (snapshot.peers.get(peer)?.adminDown === true) return reason('PeerAdminDown', { peer });
  const report = currentReport(snapshot.nodeStates, node, now);
  if (report === undefined) return whyNoReport(snapshot.nodeStates, node);
  if (report.problem?.code === 'AgentStopped') return report.problem;
  return whySessionOf(report, peer);
}
