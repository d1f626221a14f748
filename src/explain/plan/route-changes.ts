import { defined } from '../../lang/defined.ts';
import type { NodeState } from '../../model/objects/node-state.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { beginsDrain, routesOfNode, withAssumedReports, type NodeRoutes } from './node-routes.ts';

export interface NodeChange {
  readonly node: string;
  readonly change: 'add' | 'remove' | 'change';
  /** "192.0.2.1/32 to tor1", "192.0.2.1 TCP 80". */
  readonly what: string;
  /** How long after the edit it happens. Absent: at once. */
  readonly afterSeconds?: number;
}

/** A drain of a node that an edit begins. */
export interface DrainChange {
  readonly node: string;
  /** How long its routes are announced as the last resort of routers before they are withdrawn. */
  readonly settleSeconds: number;
  /** Number of routes that are withdrawn then. */
  readonly withdrawn: number;
  /** Number of routes that stay, because no other node is known to announce their addresses. */
  readonly kept: number;
}

/** The routes of one node before and after an edit. */
export interface RouteChanges {
  readonly before: NodeRoutes;
  /** When a drain that the edit begins has settled. */
  readonly after: NodeRoutes;
  readonly changes: readonly NodeChange[];
  readonly drain?: DrainChange;
}

/** Compares the routes of a node. A node whose drain begins withdraws its routes only after `settleSeconds`. `now`: see OwnState. */
export function routeChanges(current: Snapshot, proposed: Snapshot, node: string, now: number | undefined): RouteChanges {
  const view = defined({ now });
  const before = routesOfNode(current, node, view);
  if (!beginsDrain(current, proposed, node)) {
    const after = routesOfNode(proposed, node, view);
    return { before, after, changes: differences(node, sentBy(before), sentBy(after)) };
  }
  const { settleSeconds } = proposed.config.nodeDrain;
  const after = routesOfNode(withAssumedReports(proposed), node, { ...view, settled: true });
  const changes = differences(node, sentBy(before), sentBy(after)).map((one): NodeChange =>
    one.change === 'remove' && settleSeconds > 0 ? { ...one, afterSeconds: settleSeconds } : one,
  );
  const withdrawn = changes.filter(({ change }) => change === 'remove').length;
  return { before, after, changes, drain: { node, settleSeconds, withdrawn, kept: after.routes.size } };
}

function sentBy({ routes }: NodeRoutes): Map<string, string> {
  return new Map([...routes].map(([what, { sent }]) => [what, sent]));
}

/** Compares two sets of texts, each with what else may differ, sorted by text. */
export function differences(node: string, before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): NodeChange[] {
  const keys = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return keys.flatMap((what): NodeChange[] => {
    const [old, next] = [before.get(what), after.get(what)];
    if (old === next) return [];
    return [{ node, what, change: old === undefined ? 'add' : next === undefined ? 'remove' : 'change' }];
  });
}

/**
 * Returns how many routes a router loses when the session with it resets, of those that the node announces before and after. None if the
 * session is known to be down.
 */
export function routesLostBy(peer: string, { before, after }: RouteChanges, report: NodeState | undefined): number {
  const session = report?.sessions.find((one) => one.peer === peer);
  if (session !== undefined && session.state !== 'Established') return 0;
  return [...before.routes].filter(([what, route]) => route.peer === peer && after.routes.has(what)).length;
}
