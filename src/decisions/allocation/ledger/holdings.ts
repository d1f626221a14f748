import { compareAddresses, formatAddress, sameAddress, type Address } from '../../../net/address.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import { canServeTogether } from '../../../model/objects/sharing-terms.ts';
import type { AllocationRequest } from '../request.ts';
import { admits, sharingGroup, whyNotShared } from './sharing.ts';

/** The addresses of one Service, with the request under which it got them. */
export interface Holding {
  readonly request: AllocationRequest;
  /** Empty only while `leaving` has addresses. */
  readonly addresses: readonly Address[];
  /** Released addresses that are still recorded for the Service. They become free when the new record is written. */
  readonly leaving?: readonly Address[];
  /** True when its owner asked for another address that could not be assigned yet. */
  readonly seeking: boolean;
  /** True when the record holds an address that another Service holds too, and the two may not share it. */
  readonly disputed: boolean;
  /** True when, moreover, nodes cannot serve both at that address, and the other Service is the one that keeps it. */
  readonly yields?: true;
}

/** Another Service has the address, and why they may not share it. */
export interface Conflict {
  readonly by: ServiceKey;
  readonly why: string;
  readonly remedy: string;
}

/** Indexes held addresses by Service, by address and by sharing group. */
export interface Holdings {
  holdingOf(service: ServiceKey): Holding | undefined;
  all(): Iterable<Holding>;
  /** Replaces the addresses of the Service. Undefined removes them. */
  setHolding(service: ServiceKey, holding: Holding | undefined): void;
  /** Notes the Service's latest request before it is decided, so that no other Service joins on terms that are about to change. */
  expect(request: AllocationRequest): void;
  holdersOf(address: Address): readonly ServiceKey[];
  /** Returns another Service that holds the address and may not share it with the request, and why. */
  conflict(request: AllocationRequest, address: Address): Conflict | undefined;
  /** True when a rightful holder beside which nodes cannot serve the request has the address and is not about to release it. */
  heldTwice(request: AllocationRequest, address: Address): boolean;
  /** True when another holder may share the address under `before` and may not under `after`, or nodes can no longer serve both there. */
  separates(before: AllocationRequest, after: AllocationRequest, address: Address): boolean;
  /** Returns the addresses that Services of the request's sharing group hold, in ascending order. */
  ofGroup(request: AllocationRequest): readonly Address[];
}

export function createHoldings(): Holdings {
  const byService = new Map<ServiceKey, Holding>();
  const byAddress = new Map<string, Set<ServiceKey>>();
  const expected = new Map<ServiceKey, AllocationRequest>();
  const byGroup = new Map<string, Set<ServiceKey>>();

  return {
    holdingOf: (service) => byService.get(service),
    all: () => byService.values(),
    setHolding(service, holding) {
      const old = byService.get(service);
      // A record may be older than the expected request.
      if (holding?.request !== old?.request) expected.delete(service);
      for (const address of addressesOf(old)) removeFrom(byAddress, formatAddress(address), service);
      const oldGroup = old === undefined ? undefined : sharingGroup(old.request);
      if (oldGroup !== undefined) removeFrom(byGroup, oldGroup, service);
      if (holding === undefined) {
        byService.delete(service);
        return;
      }
      byService.set(service, holding);
      for (const address of addressesOf(holding)) addTo(byAddress, formatAddress(address), service);
      const group = sharingGroup(holding.request);
      if (group !== undefined) addTo(byGroup, group, service);
    },
    expect: (request) => {
      if (byService.has(request.service)) expected.set(request.service, request);
    },
    holdersOf: (address) => [...(byAddress.get(formatAddress(address)) ?? [])].sort(),
    conflict(request, address) {
      const others = byAddress.get(formatAddress(address));
      if (others === undefined) return undefined;
      for (const by of [...others].sort()) {
        const other = byService.get(by);
        if (by === request.service || other === undefined) continue;
        // A holder that shares already is checked against the change when its own decision comes.
        const isThere = byService.get(request.service)?.addresses.some((own) => sameAddress(own, address)) === true;
        const latest = isThere ? other.request : (expected.get(by) ?? other.request);
        const why = whyNotShared(request, other.request) ?? whyNotShared(request, latest);
        if (why !== undefined) return { by, ...why };
      }
      return undefined;
    },
    heldTwice(request, address) {
      const others = [...(byAddress.get(formatAddress(address)) ?? [])].flatMap((by) => byService.get(by) ?? []);
      return others.some(
        (other) =>
          other.request.service !== request.service &&
          other.yields !== true &&
          other.addresses.some((own) => sameAddress(own, address)) &&
          !canServeTogether(request, other.request),
      );
    },
    separates(before, after, address) {
      const others = [...(byAddress.get(formatAddress(address)) ?? [])].flatMap((by) => byService.get(by)?.request ?? []);
      const ends = (may: (a: AllocationRequest, b: AllocationRequest) => boolean, other: AllocationRequest): boolean =>
        may(before, other) && !may(after, other);
      return others.some((other) => other.service !== after.service && (ends(mayShare, other) || ends(canServeTogether, other)));
    },
    ofGroup(request) {
      const group = sharingGroup(request);
      const members = group === undefined ? [] : [...(byGroup.get(group) ?? [])].flatMap((member) => byService.get(member) ?? []);
      const addresses = members.flatMap((other) =>
        other.request.service !== request.service && admits(request, other.request) && admits(other.request, request)
          ? other.addresses
          : [],
      );
      return [...new Map(addresses.map((address) => [formatAddress(address), address])).values()].sort(compareAddresses);
    },
  };
}

const mayShare = (a: AllocationRequest, b: AllocationRequest): boolean => whyNotShared(a, b) === undefined;

/** Returns held and leaving addresses. */
export function addressesOf(holding: Holding | undefined): readonly Address[] {
  return holding === undefined ? [] : [...holding.addresses, ...(holding.leaving ?? [])];
}

function addTo<V>(index: Map<string, Set<V>>, key: string, value: V): void {
  const values = index.get(key);
  if (values === undefined) index.set(key, new Set([value]));
  else values.add(value);
}

function removeFrom<V>(index: Map<string, Set<V>>, key: string, value: V): void {
  const values = index.get(key);
  values?.delete(value);
  if (values?.size === 0) index.delete(key);
}
