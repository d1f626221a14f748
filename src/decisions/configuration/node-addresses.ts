import type { Node } from '../../model/objects/cluster.ts';
import type { IPAddressPool } from '../../model/kinds/types.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { formatAddress } from '../../net/address.ts';
import { rangeContains } from '../../net/range.ts';

/**
 * Which pools hold the InternalIP of a Node, by name: given to a Service, every node would answer it, and the Node could not be reached any more. Of
 * several the first by name is told, so that the reason stays the same while others come and go.
 */
export function nodeAddressesIn(pools: Iterable<IPAddressPool>, nodes: ReadonlyMap<string, Node>): ReadonlyMap<string, Reason> {
  const held = new Map<string, Reason>();
  const inOrder = [...nodes].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const { metadata, addresses } of pools) {
    for (const [node, { internalIPs }] of inOrder) {
      const address = internalIPs.find((one) => addresses.some((range) => rangeContains(range, one)));
      if (address === undefined) continue;
      held.set(metadata.name, reason('PoolHoldsNodeAddress', { pool: metadata.name, node, address: formatAddress(address) }));
      break;
    }
  }
  return held;
}
