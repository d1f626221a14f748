import { currentReport } from '../../model/objects/node-state.ts';
import { conditionText, reasonText, remedyText, type Reason } from '../../model/reasons.ts';
import type { Condition } from '../status-writer.ts';
import type { Judgement } from './service-judgement.ts';

/**
 * Adds to the condition of an announced Service the nodes that cannot forward: how many hold their routes back, or that an address is
 * announced by such nodes only. Costs nothing while every node forwards.
 */
export function withHeldBackNodes(condition: Condition, { snapshot, now, view, verdict }: Judgement): Condition {
  const holding = [...snapshot.nodes.keys()].filter((node) => (currentReport(snapshot.nodeStates, node, now)?.heldBack ?? []).length > 0);
  const withdrawn: Reason[] = [];
  for (const node of holding.toSorted()) {
    const { addresses } = view(node);
    const kept = addresses.find(({ heldBack }) => heldBack?.code === 'HeldBackLastNextHop')?.heldBack;
    if (kept !== undefined) {
      const { code, line } = verdict();
      return { ...condition, reason: kept.code, message: code === kept.code ? line : conditionText(kept) };
    }
    withdrawn.push(...addresses.flatMap(({ reason }) => (reason?.code === 'NodeHeldBack' ? [reason] : [])).slice(0, 1));
  }
  const [first] = withdrawn;
  if (first === undefined) return condition;
  const some = `${withdrawn.length} of ${snapshot.nodes.size} nodes ${withdrawn.length === 1 ? 'holds its' : 'hold their'} routes back`;
  return { ...condition, message: `${condition.message}. ${some}: ${reasonText(first)}. Fix: ${remedyText(first)}` };
}
