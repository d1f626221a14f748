import { assignedAddresses } from '../../model/objects/service.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { bitsOf, formatAddress, isLinkLocal, parseAddressLeniently, sameAddress, type Address } from '../../net/address.ts';
import { matchesInterface } from '../../net/interface-pattern.ts';
import { formatPrefix, maskedPrefix, prefixContains, type Prefix } from '../../net/prefix.ts';
import type { HostInterface } from '../../system/host.ts';
import type { NamedPool } from '../announcement/advertisements.ts';
import { announcedPool, poolsOfAddress } from '../announcement/pool-of-address.ts';
import { advertisedAt } from './advertised.ts';

interface Network {
  readonly interface: string;
  readonly own: Address;
  readonly prefix: Prefix;
}

/**
 * Finds pools whose addresses are announced by BGP only and lie in a network of this host. Machines of that network do not ask a router
 * for such an address but the link, by ARP or NDP, where Herald is silent without an L2Advertisement. Only pools with an assigned address
 * count, also one by whose record an address is announced that it contains no longer.
 */
export function judgeLocalPools(snapshot: Snapshot, interfaces: readonly HostInterface[]): Reason[] {
  const networks = networksOf(snapshot, interfaces);
  const found = new Map<string, { readonly pool: NamedPool; readonly network: Network; readonly example: string }>();
  if (networks.length === 0 || snapshot.advertisements.size === 0) return [];
  const announcing = [...snapshot.advertisements.values()].filter(({ addressTypes }) => addressTypes.includes('LoadBalancer'));
  for (const [key, service] of snapshot.services) {
    for (const address of assignedAddresses(service)) {
      const network = networks.find(({ prefix }) => prefixContains(prefix, address));
      if (network === undefined || networks.some(({ own }) => sameAddress(own, address))) continue;
      const pool = announcedPool(poolsOfAddress(snapshot, [service], address), announcing, [service]);
      if (pool === undefined || !('reason' in advertisedAt(snapshot, address))) continue;
      const place = `${pool.metadata.name} ${network.interface} ${address.family}`;
      if (!found.has(place)) found.set(place, { pool, network, example: `${formatAddress(address)} of Service ${key}` });
    }
  }
  return [...found.values()].slice(0, reported).map(({ pool, network, example }) =>
    reason('PoolUnansweredOnLink', {
      example,
      pool: pool.metadata.name,
      network: formatPrefix(network.prefix),
      interface: network.interface,
      protocol: network.prefix.address.family === 4 ? 'ARP' : 'NDP',
    }),
  );
}

/** A node reports no more of these. */
const reported = 8;

/** Returns the networks beside those of pods. */
function networksOf({ config }: Snapshot, interfaces: readonly HostInterface[]): Network[] {
  return interfaces.flatMap(({ name, address: text, length }): Network[] => {
    const address = parseAddressLeniently(text);
    if (!address.ok || isLinkLocal(address.value) || length === bitsOf(address.value.family)) return [];
    const isOfPods =
      config.podInterfaces.some((pattern) => matchesInterface(name, pattern)) ||
      config.podCIDRs.some((prefix) => prefixContains(prefix, address.value));
    return isOfPods ? [] : [{ interface: name, own: address.value, prefix: maskedPrefix(address.value, length) }];
  });
}
