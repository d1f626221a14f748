import type { Node } from '../../model/objects/cluster.ts';
import type { IPAddressPool } from '../../model/kinds/types.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { formatAddress } from '../../net/address.ts';
import { rangeContains } from '../../net/range.ts';

/**
 * Returns the pools that contain a Node's InternalIP, by name. Assigned to a Service, every node would answer for that address and the Node
 * would be unreachable. Of several Nodes the first by name is reported, so that the reason stays stable.
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
