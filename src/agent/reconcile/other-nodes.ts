import { requestedDrain } from '../../model/kinds/requested-drain.ts';
import { isCurrent } from '../../model/objects/node-state.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';

/**
 * Describes the nodes other than `own` as text: their settings, their drains, the families they hold back and whether their reports are
 * recent. A node that withdraws in favour of others decides again when this text changes. A report that goes stale causes no event, so the
 * text has to be polled. `now`: milliseconds since the epoch.
 */
export function otherNodesText(snapshot: Snapshot, own: string, now: number): string {
  const texts = [...snapshot.nodes.values()].map((node) => {
    const { name, labels } = node.metadata;
    const state = snapshot.nodeStates.get(name);
    const established = state?.sessions.flatMap((session) => (session.state === 'Established' ? [session.peer] : [])) ?? [];
    const isStale = state === undefined || !isCurrent(state, now);
    const differing = state?.differing.map(({ service, aspect }) => `${service} ${aspect}`);
    const problems = [state?.problem?.code, differing, state?.truncated];
    const drain = [requestedDrain(snapshot.config, node), state?.drain?.since];
    const heldBack = state?.heldBack?.map(({ family }) => family);
    return name === own ? '' : JSON.stringify([name, labels, node.networkUnavailable, drain, established, isStale, problems, heldBack]);
  });
  return texts.toSorted().join('\n');
}
