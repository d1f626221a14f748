import { conditionText, reasonText, remedyText, type Reason } from '../../model/reasons.ts';
import type { Condition } from '../status-writer.ts';
import type { Judgement } from './service-judgement.ts';

/**
 * Adds to the condition of an announced Service the nodes that cannot forward: how many hold their routes back, or that an address is
 * announced by such nodes only. Costs nothing while every node forwards.
 */
export function withHeldBackNodes(condition: Condition, { reports, views, verdict }: Judgement): Condition {
  const withdrawn: Reason[] = [];
  for (const { metadata } of reports.holding) {
    const { addresses } = views.of(metadata.name);
    const kept = addresses.find(({ heldBack }) => heldBack?.code === 'HeldBackLastNextHop')?.heldBack;
    if (kept !== undefined) {
      const { code, line } = verdict();
      return { ...condition, reason: kept.code, message: code === kept.code ? line : conditionText(kept) };
    }
    withdrawn.push(...addresses.flatMap(({ reason }) => (reason?.code === 'NodeHeldBack' ? [reason] : [])).slice(0, 1));
  }
  const [first] = withdrawn;
  if (first === undefined) return condition;
  const some = `${withdrawn.length} of ${reports.nodes.length} nodes ${withdrawn.length === 1 ? 'holds its' : 'hold their'} routes back`;
  return { ...condition, message: `${condition.message}. ${some}: ${reasonText(first)}. Fix: ${remedyText(first)}` };
}
