import { requestedDrain } from '../../model/kinds/requested-drain.ts';
import { nodeNames } from '../../decisions/verdict/node-names.ts';
import { hostProblemsOf, runningReport, type NodeState } from '../../model/objects/node-state.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { isUp, sessionReport } from '../sessions/session-report.ts';

/**
 * True when nothing that concerns many Services is amiss: every node reports and neither drains nor withdraws, and every session is up without a
 * warning. A Service with good conditions is then announced by each node and router that should. False where nodes answer ARP or NDP, of which
 * each address has its own state. `now`: milliseconds since the epoch.
 */
export function isFabricWhole(snapshot: Snapshot, now: number): boolean {
  const { config, nodes, nodeStates, l2Advertisements } = snapshot;
  if (l2Advertisements.size > 0 || nodes.size === 0) return false;
  if ([...nodes.values()].some((node) => requestedDrain(config, node) !== undefined)) return false;
  if (!nodeNames(snapshot, now).every((name) => nodes.has(name) && isSound(runningReport(nodeStates, name, now)))) return false;
  return sessionReport(snapshot, now).sessions.every((session) => isUp(session) && session.warning === undefined);
}

function isSound(report: NodeState | undefined): boolean {
  if (report === undefined || hostProblemsOf(report).length > 0) return false;
  const { problem, heldBack = [], drain, truncated } = report;
  return problem === undefined && heldBack.length === 0 && drain === undefined && truncated !== true;
}
