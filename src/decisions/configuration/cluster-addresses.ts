import type { IPAddressPool } from '../../model/kinds/types.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import { formatPrefix } from '../../net/prefix.ts';
import { formatRange, rangeOfPrefix, rangesOverlap } from '../../net/range.ts';
import {
  addressesOfOthers,
  networkAddresses,
  ofApiServer,
  podRanges,
  serviceRanges,
  type AddressOwner,
  type NetworkAddress,
  type UsedRange,
} from '../addresses-of-others.ts';
import { containsAddress } from '../allocation/pools/pools.ts';

/**
 * Returns the pools that contain addresses which belong to something else, by name: to a Node, a BGP peer, ClusterIPs, pods, or anything else
 * that no pool gives. The worst is reported, in this order; of several alike the first by name, so that the reason stays stable.
 */
export function clusterAddressesIn(
  snapshot: Snapshot,
  pools: Iterable<IPAddressPool> = snapshot.pools.values(),
): ReadonlyMap<string, Reason> {
  const [network, services, pods] = [networkAddresses(snapshot), serviceRanges(snapshot), podRanges(snapshot)];
  const hosts = [...addressesOfOthers(snapshot).hosts.values()].filter(({ isOfLink }) => isOfLink !== true);
  const others = [...hosts, ...ofApiServer(snapshot)];
  const held = new Map<string, Reason>();
  for (const pool of pools) {
    const found =
      heldAddress(pool, network) ??
      heldRange(pool, 'PoolHoldsServiceCIDR', services) ??
      heldRange(pool, 'PoolHoldsPodCIDR', pods) ??
      heldByOther(pool, others);
    if (found !== undefined) held.set(pool.metadata.name, found);
  }
  return held;
}

function heldAddress(pool: IPAddressPool, network: readonly NetworkAddress[]): Reason | undefined {
  const held = network.find(({ prefix: { address } }) => containsAddress(pool, address));
  if (held === undefined) return undefined;
  const place = { pool: pool.metadata.name, address: formatAddress(held.prefix.address) };
  return held.kind === 'Node'
    ? reason('PoolHoldsNodeAddress', { ...place, node: held.name })
    : reason('PoolHoldsPeerAddress', { ...place, peer: held.name });
}

function heldByOther(pool: IPAddressPool, others: readonly AddressOwner[]): Reason | undefined {
  const held = others.find(({ prefix: { address } }) => containsAddress(pool, address));
  if (held === undefined) return undefined;
  return reason('PoolHoldsOtherAddress', { pool: pool.metadata.name, address: formatAddress(held.prefix.address), of: held.of });
}

function heldRange(
  { metadata: { name: pool }, addresses }: IPAddressPool,
  code: 'PoolHoldsServiceCIDR' | 'PoolHoldsPodCIDR',
  used: readonly UsedRange[],
): Reason | undefined {
  for (const range of addresses) {
    const found = used.find(({ prefix }) => rangesOverlap(range, rangeOfPrefix(prefix)));
    if (found !== undefined) return reason(code, { pool, range: formatRange(range), cidr: formatPrefix(found.prefix), from: found.from });
  }
  return undefined;
}
