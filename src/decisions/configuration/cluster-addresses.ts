import type { IPAddressPool } from '../../model/kinds/types.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import { networkAddresses, type NetworkAddress } from '../allocation/pools/network-addresses.ts';
import { containsAddress } from '../allocation/pools/pools.ts';
import { formatPrefix, hostPrefix, type Prefix } from '../../net/prefix.ts';
import { formatRange, rangeOfPrefix, rangesOverlap } from '../../net/range.ts';

type ClusterObjects = Pick<Snapshot, 'pools' | 'nodes' | 'peers' | 'serviceCIDRs' | 'services' | 'config'>;

/** A range that the cluster uses, and the object and field that say so. */
export interface UsedRange {
  readonly prefix: Prefix;
  readonly from: string;
}

/**
 * Returns the pools that contain addresses which the cluster itself needs, by name: of a Node, of a BGP peer, of ClusterIPs, of pods. The
 * worst is reported, in this order; of several alike the first by name, so that the reason stays stable.
 */
export function clusterAddressesIn(
  snapshot: ClusterObjects,
  pools: Iterable<IPAddressPool> = snapshot.pools.values(),
): ReadonlyMap<string, Reason> {
  const all = [...pools];
  const [network, services, pods] = [networkAddresses(snapshot), serviceRanges(snapshot), podRanges(snapshot)];
  const held = new Map<string, Reason>();
  for (const pool of all) {
    const found =
      heldAddress(pool, network) ?? heldRange(pool, 'PoolHoldsServiceCIDR', services) ?? heldRange(pool, 'PoolHoldsPodCIDR', pods);
    if (found !== undefined) held.set(pool.metadata.name, found);
  }
  return held;
}

function heldAddress(pool: IPAddressPool, network: readonly NetworkAddress[]): Reason | undefined {
  const held = network.find((one) => containsAddress(pool, one.address));
  if (held === undefined) return undefined;
  const place = { pool: pool.metadata.name, address: formatAddress(held.address) };
  return held.kind === 'Node'
    ? reason('PoolHoldsNodeAddress', { ...place, node: held.name })
    : reason('PoolHoldsPeerAddress', { ...place, peer: held.name });
}

/** Where no object states the ranges of ClusterIPs, the address of the Service default/kubernetes shows one of each family. */
export function serviceRanges({ serviceCIDRs, config, services }: ClusterObjects): UsedRange[] {
  const stated = [
    ...config.serviceCIDRs.map((prefix) => ({ prefix, from: 'serviceCIDRs of HeraldConfig/default' })),
    ...[...serviceCIDRs.values()].flatMap(({ metadata, cidrs }) =>
      cidrs.map((prefix) => ({ prefix, from: `ServiceCIDR "${metadata.name}"` })),
    ),
  ];
  if (stated.length > 0) return sorted(stated);
  const { clusterIPs = [] } = services.get('default/kubernetes') ?? {};
  return clusterIPs.map((address) => ({ prefix: hostPrefix(address), from: 'the ClusterIP of Service default/kubernetes' }));
}

export function podRanges({ nodes, config }: ClusterObjects): UsedRange[] {
  return sorted([
    ...config.podCIDRs.map((prefix) => ({ prefix, from: 'podCIDRs of HeraldConfig/default' })),
    ...[...nodes.values()].flatMap(({ metadata, podCIDRs }) =>
      podCIDRs.map((prefix) => ({ prefix, from: `spec.podCIDRs of node "${metadata.name}"` })),
    ),
  ]);
}

function sorted(ranges: readonly UsedRange[]): UsedRange[] {
  return ranges.toSorted((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0));
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
