import { recordedPoolOf } from '../../model/objects/pool-record.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { BasisMemo, basisOf } from '../../model/store/versioned-map.ts';
import { formatAddress, sameAddress, type Address } from '../../net/address.ts';
import type { Frontend } from '../../net/frontend.ts';
import { formatPrefix, hostPrefix, prefixContains, withoutPrefix, type Prefix } from '../../net/prefix.ts';
import { poolsOf } from '../allocation/pools/pools.ts';

/**
 * Marks the external frontends whose address is Herald's: in a pool, or of one on record, or an external IP where a BGPAdvertisement announces
 * them. Routers send nodes every packet for such an address, and nodes would send back what no frontend takes. The address of a Node belongs
 * to that Node.
 */
export function withRestRefused(snapshot: Snapshot, service: Service, frontends: readonly Frontend[]): readonly Frontend[] {
  const announced = [...snapshot.advertisements.values()].some(({ addressTypes }) => addressTypes.includes('ExternalIP'))
    ? service.externalIPs
    : [];
  const isOwn = (address: Address): boolean =>
    (poolsOf(snapshot.pools, address).length > 0 ||
      recordedPoolOf(service, address) !== undefined ||
      announced.some((each) => sameAddress(each, address))) &&
    !nodeAddresses(snapshot).has(formatAddress(address));
  return frontends.map((frontend) => {
    const { match, scope } = frontend;
    return match.kind === 'address' && scope === 'external' && isOwn(match.address) ? { ...frontend, refusesRest: true } : frontend;
  });
}

/** Returns the prefixes that cover the same addresses without those of Nodes. */
export function withoutNodeAddresses({ nodes }: Pick<Snapshot, 'nodes'>, prefixes: readonly Prefix[]): readonly Prefix[] {
  if (prefixes.length === 0) return prefixes;
  return ofNobody.get(nodes, [...basisOf(nodes), prefixes.map(formatPrefix).join()], () => {
    const inside = [...nodeAddresses({ nodes }).values()].filter((address) => prefixes.some((prefix) => prefixContains(prefix, address)));
    return inside.map(hostPrefix).reduce((rest, hole) => rest.flatMap((one) => withoutPrefix(one, hole)), [...prefixes]);
  });
}

const ofNobody = new BasisMemo<readonly Prefix[]>();

const known = new BasisMemo<ReadonlyMap<string, Address>>();

/** Returns the addresses of all Nodes by their text. Costs nothing while no Node changes, if the snapshot is a `Store`. */
function nodeAddresses({ nodes }: Pick<Snapshot, 'nodes'>): ReadonlyMap<string, Address> {
  return known.get(nodes, basisOf(nodes), () => {
    const addresses = [...nodes.values()].flatMap(({ internalIPs }) => internalIPs);
    return new Map(addresses.map((address) => [formatAddress(address), address]));
  });
}
