import { requestedDrain } from '../../model/kinds/requested-drain.ts';
import type { Node } from '../../model/objects/cluster.ts';
import { isCurrent } from '../../model/objects/node-state.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';

/**
 * Describes the nodes other than `own` as text: their settings, their drains, the families they hold back and whether their reports are
 * recent. A node that withdraws in favour of others decides again when this text changes. A report that goes stale causes no event, so the
 * text has to be polled. `now`: milliseconds since the epoch.
 */
export function otherNodesText(snapshot: Snapshot, own: string, now: number): string {
  const texts = [...snapshot.nodes.values()].map((node) => {
    const { name } = node.metadata;
    const differing = snapshot.nodeStates.get(name)?.differing.map(({ service, aspect }) => `${service} ${aspect}`);
    return name === own ? '' : JSON.stringify([name, settingsText(node), readinessText(snapshot, node, now), differing]);
  });
  return texts.toSorted().join('\n');
}

/** Describes what decides whether a node may announce at all. */
export function settingsText({ metadata: { labels }, networkUnavailable }: Node): string {
  return JSON.stringify([labels, networkUnavailable]);
}

/** Describes what decides whether routers have routes of a node, without differences of single Services. `now`: see `otherNodesText`. */
export function readinessText(snapshot: Snapshot, node: Node, now: number): string {
  const state = snapshot.nodeStates.get(node.metadata.name);
  const established = state?.sessions.flatMap((session) => (session.state === 'Established' ? [session.peer] : [])) ?? [];
  const isStale = state === undefined || !isCurrent(state, now);
  const drain = [requestedDrain(snapshot.config, node), state?.drain?.since];
  const heldBack = state?.heldBack?.map(({ family }) => family);
  return JSON.stringify([drain, established, isStale, state?.problem?.code, state?.truncated, heldBack]);
}
