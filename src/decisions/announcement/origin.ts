import { formatAddress, type Address } from '../../net/address.ts';
import { prefixContains } from '../../net/prefix.ts';
import type { AddressType } from '../../model/kinds/types.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { poolsOf } from '../allocation/pools/pools.ts';
import { serviceRanges } from '../forwarding/node.ts';
import { allowedExternalPrefixes, whyExternalIPDenied } from '../forwarding/external-ips.ts';
import { covers, poolPrefixes, type Origin } from './advertisements.ts';

/**
 * Where an address comes from, or why it is nobody's to announce. Each address is judged by itself: where pools were cut
 * anew, the two families of a Service may be in different ones by then, and either has its own advertisements.
 */
export function originOf(snapshot: Snapshot, service: Service, address: Address, type: AddressType): Origin | Reason {
  switch (type) {
    case 'LoadBalancer': {
      const origins = poolsOf(snapshot.pools, address).map((pool): Origin => {
        return { type, pool, prefixes: poolPrefixes(pool, address), name: `IPAddressPool "${pool.metadata.name}"` };
      });
      // Where pools overlap nobody can tell from which of them an address was given, and a pool that came later must not
      // take it off the air: the first counts that is announced at all.
      const advertisements = [...snapshot.advertisements.values()];
      const [first, ...others] = origins;
      const isAnnounced = (origin: Origin): boolean => advertisements.some((advertisement) => covers(advertisement, origin));
      return (
        (others.length > 0 ? origins.find(isAnnounced) : first) ??
        first ??
        reason('AddressNotFromPool', { address: formatAddress(address) })
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
