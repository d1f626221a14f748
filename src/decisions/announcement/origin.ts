import { defined } from '../../lang/defined.ts';
import { recordedPoolOf } from '../../model/objects/pool-record.ts';
import { formatAddress, type Address } from '../../net/address.ts';
import { prefixContains } from '../../net/prefix.ts';
import type { AddressType } from '../../model/kinds/types.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { nearestRange } from '../allocation/pools/nearest-range.ts';
import { serviceRanges } from '../forwarding/node.ts';
import { allowedExternalPrefixes } from '../external-ip-policy.ts';
import { whyExternalIPDenied } from '../forwarding/external-ips.ts';
import { poolPrefixes, type AddressOrigin } from './advertisements.ts';
import { announcedPool, balancedAdvertisements, poolsOfAddress } from './pool-of-address.ts';

/**
 * Returns the origin of an address, or why it may not be announced. Each address is judged by itself: after pools were changed, a Service's
 * two families may lie in different pools, each with its own advertisements. An address that no pool contains any more is announced as one
 * of its pool on record.
 */
export function originOf(snapshot: Snapshot, service: Service, address: Address, type: AddressType): AddressOrigin | Reason {
  switch (type) {
    case 'LoadBalancer': {
      const pools = poolsOfAddress(snapshot, [service], address);
      const announced = pools.length > 1 ? announcedPool(pools, balancedAdvertisements(snapshot), [service]) : undefined;
      const pool = announced ?? pools[0];
      if (pool === undefined)
        return reason('AddressNotFromPool', { address: formatAddress(address), ...nearestRange(snapshot.pools.values(), address) });
      const name = `IPAddressPool "${pool.metadata.name}"`;
      if (pool.isKept === true) return { type, pool, prefixes: [], name, isKept: true };
      const recorded = recordedPoolOf(service, address);
      const formerBlock = recorded?.pool === pool.metadata.name ? recorded.block : undefined;
      return { type, pool, prefixes: poolPrefixes(pool.contains, address), name, ...defined({ formerBlock }) };
    }
    case 'ClusterIP':
      return {
        type,
        prefixes: serviceRanges(snapshot).filter((cidr) => prefixContains(cidr, address)),
        name: 'a ServiceCIDR or serviceCIDRs in HeraldConfig',
      };
    case 'ExternalIP': {
      const { namespace } = service.metadata;
      const denied = whyExternalIPDenied(snapshot, namespace, address);
      if (denied !== undefined) return denied;
      return { type, prefixes: allowedExternalPrefixes(snapshot, namespace, address), name: 'an ExternalIPPolicy' };
    }
  }
}
