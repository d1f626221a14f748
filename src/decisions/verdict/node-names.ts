import { currentReport } from '../../model/objects/node-state.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { BasisMemo, basisOf } from '../../model/store/versioned-map.ts';

interface Names {
  readonly all: readonly string[];
  readonly hasStrays: boolean;
}

const memo = new BasisMemo<Names>();

/**
 * Returns the names of nodes, sorted: those of Node objects, and of agents that report although there is no Node. The last report of a node that
 * was removed says nothing any more. `now` is in milliseconds since the epoch.
 */
export function nodeNames({ nodes, nodeStates }: Pick<Snapshot, 'nodes' | 'nodeStates'>, now: number): readonly string[] {
  const { all, hasStrays } = memo.get(nodes, [...basisOf(nodes), ...basisOf(nodeStates)], (): Names => {
    const names = [...new Set([...nodes.keys(), ...nodeStates.keys()])].toSorted();
    return { all: names, hasStrays: nodes.size > 0 && names.length > nodes.size };
  });
  if (!hasStrays) return all;
  return all.filter((name) => nodes.has(name) || currentReport(nodeStates, name, now) !== undefined);
}
