import { defined } from '../../lang/defined.ts';
import { anySelects } from '../../model/objects/label-selector.ts';
import { assignedAddresses, type Service } from '../../model/objects/service.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress, sameAddress, type Address } from '../../net/address.ts';
import { decideAllocationClaim } from '../allocation/claim.ts';
import { whyHeldTwice } from '../allocation/held-twice.ts';
import { nearestRange } from '../allocation/pools/nearest-range.ts';
import { whyInUse } from '../announcement/address-in-use.ts';
import { namesOf, coversPool } from '../announcement/advertisements.ts';
import { announcedPool, poolsOfAddress } from '../announcement/pool-of-address.ts';
import { whyNotForwarded } from '../forwarding/service-proxy-name.ts';
import { linkAdvertisements, type LinkAdvertisement } from './link-advertisements.ts';

/** The Services of an address that are announced by ARP and NDP, and the advertisements that do it, by name. */
export interface Advertised {
  readonly services: readonly Service[];
  /** Not empty. Those of all Services together: one address has one owner. */
  readonly advertisements: readonly LinkAdvertisement[];
}

/**
 * Returns which of the Services at an address are announced, or why the first of them is not. `isOnLink`: a network of a node contains the
 * address, so that `answerOnLocalLinks` applies to it.
 */
export function advertisedAt(snapshot: Snapshot, address: Address, isOnLink = false): Advertised | { readonly reason: Reason } {
  const holders = [...snapshot.holdersOf(address)].sort().flatMap((key) => snapshot.services.get(key) ?? []);
  const covering = coveringAdvertisements(snapshot, holders, address, isOnLink);
  if ('reason' in covering) return whyAddressInUse(snapshot, holders, address) ?? covering;
  const services: Service[] = [];
  const advertisements = new Set<LinkAdvertisement>();
  let refused: Reason | undefined;
  for (const service of holders) {
    const why = whyServiceIsNot(snapshot, service, address);
    const selecting = decisive(covering.advertisements.filter((one) => anySelects(one.serviceSelectors, service.metadata.labels)));
    if (why === undefined && selecting.length > 0) {
      services.push(service);
      for (const one of selecting) advertisements.add(one);
    } else {
      refused ??= why ?? reason('ServiceNotSelected', { advertisements: namesOf(covering.advertisements) });
    }
  }
  if (services.length > 0) return { services, advertisements: covering.advertisements.filter((one) => advertisements.has(one)) };
  return { reason: refused ?? reason('NoAddress', undefined) };
}

/** An L2Advertisement that selects the Service decides alone: its nodes and interfaces were chosen for it. */
function decisive(selecting: readonly LinkAdvertisement[]): readonly LinkAdvertisement[] {
  const written = selecting.filter(({ kind }) => kind === 'L2Advertisement');
  return written.length > 0 ? written : selecting;
}

/** An address that belongs to something else needs no pool and no advertisement, but another address in its place. */
function whyAddressInUse(snapshot: Snapshot, holders: readonly Service[], address: Address): { readonly reason: Reason } | undefined {
  const [because] = holders.flatMap((service) => whyInUse(snapshot, service, address, 'LoadBalancer') ?? []);
  return because === undefined ? undefined : { reason: because };
}

/** Of several pools of the address the first counts that is announced at all, as for BGP. */
function coveringAdvertisements(
  snapshot: Snapshot,
  services: readonly Service[],
  address: Address,
  isOnLink: boolean,
): { readonly advertisements: readonly LinkAdvertisement[] } | { readonly reason: Reason } {
  const { pools } = snapshot;
  const candidates = poolsOfAddress(snapshot, services, address);
  const all = linkAdvertisements(snapshot).filter(({ kind }) => isOnLink || kind === 'L2Advertisement');
  const announced = announcedPool(candidates, all, services);
  if (announced !== undefined) return { advertisements: all.filter((advertisement) => coversPool(advertisement, announced)) };
  const [first] = candidates;
  if (first === undefined)
    return { reason: reason('AddressNotFromPool', { address: formatAddress(address), ...nearestRange(pools.values(), address) }) };
  const former = first.isKept === true ? first.metadata.name : undefined;
  return { reason: reason('NoAdvertisement', { type: 'LoadBalancer', ...defined({ former }) }) };
}

function whyServiceIsNot(snapshot: Snapshot, service: Service, address: Address): Reason | undefined {
  const notServed = whyNotForwarded(service, snapshot.config.serviceProxyName);
  if (notServed !== undefined) return notServed;
  const claim = decideAllocationClaim(service, snapshot.config);
  if (!claim.mine) return claim.reason;
  if (service.type !== 'LoadBalancer' || !assignedAddresses(service).some((one) => sameAddress(one, address)))
    return reason('NoAddress', undefined);
  if (service.drain === true) return reason('ServiceDrained', undefined);
  return whyHeldTwice(snapshot, service, address) ?? whyInUse(snapshot, service, address, 'LoadBalancer');
}
