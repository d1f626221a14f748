import { formatAddress, type Address } from '../../net/address.ts';
import { prefixContains } from '../../net/prefix.ts';
import type { AddressType } from '../../model/kinds/types.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { poolsOf } from '../allocation/pools/pools.ts';
import { nearestRange } from '../allocation/pools/nearest-range.ts';
import { serviceRanges } from '../forwarding/node.ts';
import { allowedExternalPrefixes } from '../external-ip-policy.ts';
import { whyExternalIPDenied } from '../forwarding/external-ips.ts';
import { covers, poolPrefixes, type AddressOrigin } from './advertisements.ts';

/**
 * Returns the origin of an address, or why it may not be announced. Each address is judged by itself: after pools were changed, a Service's
 * two families may lie in different pools, each with its own advertisements.
 */
export function originOf(snapshot: Snapshot, service: Service, address: Address, type: AddressType): AddressOrigin | Reason {
  switch (type) {
    case 'LoadBalancer': {
      const origins = poolsOf(snapshot.pools, address).map((pool): AddressOrigin => {
        return { type, pool, prefixes: poolPrefixes(pool, address), name: `IPAddressPool "${pool.metadata.name}"` };
      });
      // Overlapping pools do not reveal which one assigned an address, and a pool created later must not withdraw it. So the first pool
      // that is announced at all counts.
      const advertisements = [...snapshot.advertisements.values()];
      const [first, ...others] = origins;
      const isAnnounced = (origin: AddressOrigin): boolean => advertisements.some((advertisement) => covers(advertisement, origin));
      return (
        (others.length > 0 ? origins.find(isAnnounced) : first) ??
        first ??
        reason('AddressNotFromPool', { address: formatAddress(address), ...nearestRange(snapshot.pools.values(), address) })
      );
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
