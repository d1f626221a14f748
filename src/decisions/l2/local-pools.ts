import type { IPAddressPool } from '../../model/kinds/types.ts';
import { assignedAddresses } from '../../model/objects/service.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { bitsOf, formatAddress, isLinkLocal, parseAddressLeniently, sameAddress, type Address } from '../../net/address.ts';
import { matchesInterface } from '../../net/interface-pattern.ts';
import { formatPrefix, maskedPrefix, prefixContains, type Prefix } from '../../net/prefix.ts';
import type { HostInterface } from '../../system/host.ts';
import { poolsOf } from '../allocation/pools/pools.ts';
import { coversPool } from '../announcement/advertisements.ts';
import { advertisedAt } from './advertised.ts';

interface Network {
  readonly interface: string;
  readonly own: Address;
  readonly prefix: Prefix;
}

/**
 * Finds pools whose addresses are announced by BGP only and lie in a network of this host. Machines of that network do not ask a router
 * for such an address but the link, by ARP or NDP, where Herald is silent without an L2Advertisement. Only pools with an assigned address
 * count.
 */
export function judgeLocalPools(snapshot: Snapshot, interfaces: readonly HostInterface[]): Reason[] {
  const networks = networksOf(snapshot, interfaces);
  const found = new Map<string, { readonly pool: IPAddressPool; readonly network: Network; readonly example: string }>();
  if (networks.length === 0 || snapshot.advertisements.size === 0) return [];
  for (const [key, service] of snapshot.services) {
    for (const address of assignedAddresses(service)) {
      const network = networks.find(({ prefix }) => prefixContains(prefix, address));
      if (network === undefined || networks.some(({ own }) => sameAddress(own, address))) continue;
      const pool = announcedPool(snapshot, address);
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

function announcedPool({ pools, advertisements }: Snapshot, address: Address): IPAddressPool | undefined {
  const announcing = [...advertisements.values()].filter(({ addressTypes }) => addressTypes.includes('LoadBalancer'));
  return poolsOf(pools, address).find((pool) => announcing.some((advertisement) => coversPool(advertisement, pool)));
}

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
