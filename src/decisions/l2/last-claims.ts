import type { AddressClaim } from '../../model/objects/node-state.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';

/** The last claim of an address, and the node that made it. */
export interface LastClaim extends AddressClaim {
  readonly node: string;
}

/** Returns the last claim of each address, by the address as text. Of claims with the same number the first node by name counts. */
export function lastClaims(
  { nodes, nodeStates }: Pick<Snapshot, 'nodes' | 'nodeStates'>,
  own?: { readonly node: string; readonly claims: readonly AddressClaim[] },
): ReadonlyMap<string, LastClaim> {
  const last = new Map<string, LastClaim>();
  for (const node of nodes.keys()) {
    const claims = node === own?.node ? own.claims : nodeStates.get(node)?.claims;
    for (const claim of claims ?? []) {
      const before = last.get(claim.address);
      if (before === undefined || isLater({ ...claim, node }, before)) last.set(claim.address, { ...claim, node });
    }
  }
  return last;
}

/** True if the first claim replaces the second. Every node decides alike. */
function isLater(one: LastClaim, other: LastClaim): boolean {
  return one.number > other.number || (one.number === other.number && one.node < other.node);
}
