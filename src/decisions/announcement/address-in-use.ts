import type { AddressType } from '../../model/kinds/types.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import { recordedPoolOf } from '../../model/objects/pool-record.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress, type Address } from '../../net/address.ts';
import { addressesOfOthers, inUseBy, ownerOf } from '../addresses-of-others.ts';
import { poolsOf } from '../allocation/pools/pools.ts';

/** Returns why no node announces an address of the Service, by BGP, ARP or NDP: it belongs to something else. Undefined: to nothing known. */
export function whyInUse(snapshot: Snapshot, service: Service, address: Address, type: AddressType): Reason | undefined {
  // The API server gives ClusterIPs out of the ranges that belong to them.
  if (type === 'ClusterIP') {
    const host = addressesOfOthers(snapshot).hosts.get(formatAddress(address));
    return host === undefined ? undefined : inUseBy(host, address, 'held');
  }
  const owner = ownerOf(snapshot, address, serviceKey(service.metadata));
  if (owner === undefined) return undefined;
  if (type === 'ExternalIP') return inUseBy(owner, address, 'external');
  const [pool] = poolsOf(snapshot.pools, address);
  const isUnpooled = pool === undefined && recordedPoolOf(service, address) === undefined;
  return inUseBy(owner, address, isUnpooled ? 'unpooled' : 'held', pool?.metadata.name);
}
