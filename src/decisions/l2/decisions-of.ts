import { BasisMemo, basisOf } from '../../model/store/versioned-map.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { usesLinks } from './link-advertisements.ts';
import { createL2Decisions, type L2Decisions, type OwnLinks } from './candidates.ts';

// Every Service asks for the candidates of its addresses, and most have the same. So the result is cached while the snapshot holds the same
// objects. A node's view of itself has its own entry, because `herald run` asks with and without it.
const memo = new BasisMemo<L2Decisions>();

/**
 * Returns the decisions for this state of the snapshot. Undefined: no address is answered on links. `own` must be the same object while it has the
 * same content. Costs the same for any number of nodes while none of them changes, if the snapshot is a `Store`.
 */
export function l2DecisionsOf(snapshot: Snapshot, own?: OwnLinks): L2Decisions | undefined {
  const { nodes, nodeStates, l2Advertisements, advertisements, peers, config } = snapshot;
  if (!usesLinks(snapshot)) return undefined;
  const derived = config.answerOnLocalLinks ? [advertisements, peers] : [];
  const basis = [config, ...[l2Advertisements, nodes, nodeStates, ...derived].flatMap(basisOf)];
  return memo.get(own ?? nodes, basis, () => createL2Decisions(snapshot, own));
}
