import { containsAddress, effectivePools } from '../../decisions/allocation/pools/pools.ts';
import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import { assignedAddresses } from '../../model/objects/service.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import { formatRange } from '../../net/range.ts';

/** A pool that would give no address any more, or never would. */
export interface RefusedPoolChange {
  readonly pool: string;
  readonly reason: Reason;
  /** The ranges that the pool would not give. */
  readonly addresses: readonly string[];
  /** Services with an address of the pool: they keep it, but cannot get another one from the pool. */
  readonly heldBy: readonly { readonly service: ServiceKey; readonly addresses: readonly string[] }[];
}

/** Returns the pools that the proposed objects would refuse and the current ones do not, sorted by name. */
export function newlyRefused(current: Snapshot, proposed: Snapshot): RefusedPoolChange[] {
  const before = effectivePools(current.pools).refused;
  const refused = [...effectivePools(proposed.pools).refused].filter(
    ([name, { reason }]) => JSON.stringify(before.get(name)?.reason) !== JSON.stringify(reason),
  );
  return refused
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { pool, reason }]) => {
      const former = before.has(name) ? undefined : current.pools.get(name);
      const heldBy = [...(former === undefined ? [] : current.services.values())].flatMap((service) => {
        const held = assignedAddresses(service).filter(
          (address) => former !== undefined && containsAddress(former, address) && containsAddress(pool, address),
        );
        return held.length === 0 ? [] : [{ service: serviceKey(service.metadata), addresses: held.map(formatAddress) }];
      });
      return {
        pool: name,
        reason,
        addresses: pool.addresses.map(formatRange),
        heldBy: heldBy.toSorted((a, b) => (a.service < b.service ? -1 : 1)),
      };
    });
}
