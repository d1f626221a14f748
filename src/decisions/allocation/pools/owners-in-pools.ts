import type { IPAddressPool } from '../../../model/kinds/types.ts';
import { serviceKey } from '../../../model/objects/metadata.ts';
import { assignedAddresses, type Service } from '../../../model/objects/service.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import { formatAddress, type Address } from '../../../net/address.ts';
import { formatPrefix, hostPrefix } from '../../../net/prefix.ts';
import { rangeOfPrefix, rangesOverlap } from '../../../net/range.ts';
import { AddressesOfOthers, addressesOfOthers, clusterIPOf, ofApiServer, ownerOf, type AddressOwner } from '../../addresses-of-others.ts';
import { allowedExternalPrefixes } from '../../external-ip-policy.ts';
import { decideAllocationClaim } from '../claim.ts';
import { containsAddress } from './pools.ts';

/** What the addresses that pools might give belong to already. */
export interface KnownOwners {
  /** Those in pools, as of the moment at which this was built. No pool gives them. */
  readonly inPools: AddressesOfOthers;
  /** Returns the owner of any address, in pools or not, by the objects of now. */
  readonly ownerOf: (address: Address) => AddressOwner | undefined;
}

export const noOwners: KnownOwners = { inPools: new AddressesOfOthers(), ownerOf: () => undefined };

/**
 * Returns the owners of addresses in pools: the fixed ones, the API server, and Services. Costs as much as there are Services. `isHeld`: Services of the
 * allocator hold the address, which then belongs to none of another controller.
 */
export function knownOwners(snapshot: Snapshot, isHeld: (address: Address) => boolean = () => false): KnownOwners {
  const pools = [...snapshot.pools.values()];
  const inPool = ({ prefix: { address } }: AddressOwner): boolean => pools.some((pool) => containsAddress(pool, address));
  const fixed = addressesOfOthers(snapshot);
  const hosts = [...fixed.hosts.values()].filter(inPool);
  const ranges = fixed.ranges.filter((range) => overlapsPool(range, pools));
  const ofServices = [...snapshot.services.values()].flatMap((service) => ownedBy(snapshot, service, isHeld));
  const apiServers = ofApiServer(snapshot).filter(({ prefix: { address } }) => !isHeld(address));
  const further = [...apiServers, ...ofServices].filter(inPool);
  return { inPools: new AddressesOfOthers(hosts, ranges).with(further), ownerOf: (address) => ownerOf(snapshot, address) };
}

function overlapsPool({ prefix }: AddressOwner, pools: readonly IPAddressPool[]): boolean {
  return pools.some(({ addresses }) => addresses.some((range) => rangesOverlap(range, rangeOfPrefix(prefix))));
}

/** Returns the addresses of a Service that no pool may give: ClusterIPs, external IPs in force, and those of another controller. */
export function ownedBy(snapshot: Snapshot, service: Service, isHeld: (address: Address) => boolean = () => false): AddressOwner[] {
  const name = serviceKey(service.metadata);
  const { namespace } = service.metadata;
  // An external IP that no policy allows means nothing: a tenant could take any address of a pool by it.
  const external = service.externalIPs.filter((address) => allowedExternalPrefixes(snapshot, namespace, address).length > 0);
  const isForeign = service.ingress.length > 0 && service.type === 'LoadBalancer' && !decideAllocationClaim(service, snapshot.config).mine;
  const foreign = isForeign ? assignedAddresses(service).filter((address) => !isHeld(address)) : [];
  const own = (address: Address, of: string): AddressOwner => ({ kind: 'Service', name, prefix: hostPrefix(address), of });
  return [
    ...service.clusterIPs.map((address) => clusterIPOf(name, address)),
    ...external.map((address) => own(address, `an external IP of Service ${name}`)),
    ...foreign.map((address) => own(address, `an address of Service ${name}, which another controller serves`)),
  ];
}

export function sameOwners({ inPools: a }: KnownOwners, { inPools: b }: KnownOwners): boolean {
  const texts = ({ hosts, ranges }: AddressesOfOthers): string =>
    [
      ...[...hosts.values()].map(({ prefix, of }) => `${formatAddress(prefix.address)} ${of}`).toSorted(),
      ...ranges.map(({ prefix, of }) => `${formatPrefix(prefix)} ${of}`),
    ].join('\n');
  return a === b || texts(a) === texts(b);
}
