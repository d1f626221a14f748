import { compareAddresses, formatAddress, sameAddress, type Address } from '../../../net/address.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import { haveSameSharingKey } from '../../../model/objects/service.ts';
import type { AllocationRequest } from '../request.ts';
import { admits, sharingGroup, whyNotShared } from './sharing.ts';

/** What one Service holds, and the request under which it holds it. */
export interface Holding {
  readonly request: AllocationRequest;
  /** Empty only where something is leaving. */
  readonly addresses: readonly Address[];
  /** What it let go, but is on record as its own until that is written anew: it is free for nobody else yet. */
  readonly leaving?: readonly Address[];
  /** Its owner asked for something else that could not be had yet. */
  readonly seeking: boolean;
  /** The record gave it an address that another Service has too, although the two may not share. */
  readonly disputed: boolean;
}

/** Who holds what, indexed by Service, by address and by sharing group. */
export interface Holdings {
  get(service: ServiceKey): Holding | undefined;
  all(): Iterable<Holding>;
  /** Replaces what the Service holds; undefined: nothing any more. */
  set(service: ServiceKey, holding: Holding | undefined): void;
  /** What the Service asks for now, where that was not decided upon yet: nobody joins it on terms that it gave up, or is about to. */
  expect(request: AllocationRequest): void;
  holdersOf(address: Address): readonly ServiceKey[];
  /** Another Service that holds the address and may not share it with the request, and why. */
  conflict(request: AllocationRequest, address: Address): { readonly by: ServiceKey; readonly why: string } | undefined;
  /** Whether one that is in the right about the address holds it without having the sharing key of the request, and is not about to leave it. */
  heldTwice(request: AllocationRequest, address: Address): boolean;
  /** Whether another Service that holds the address could share it with the one request, and may not with the other. */
  parts(before: AllocationRequest, after: AllocationRequest, address: Address): boolean;
  /** Addresses that Services of the request's sharing group hold, ascending. */
  ofGroup(request: AllocationRequest): readonly Address[];
}

export function createHoldings(): Holdings {
  const byService = new Map<ServiceKey, Holding>();
  const byAddress = new Map<string, Set<ServiceKey>>();
  const expected = new Map<ServiceKey, AllocationRequest>();
  const byGroup = new Map<string, Set<ServiceKey>>();

  return {
    get: (service) => byService.get(service),
    all: () => byService.values(),
    set(service, holding) {
      const old = byService.get(service);
      // What is written down now may be older than what is expected.
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
      const there = byService.get(request.service)?.addresses.some((own) => sameAddress(own, address)) === true;
      for (const by of [...others].sort()) {
        const other = byService.get(by);
        if (by === request.service || other === undefined) continue;
        // Who is there already is told of the change when it is decided upon.
        const latest = there ? other.request : (expected.get(by) ?? other.request);
        const why = whyNotShared(request, other.request) ?? whyNotShared(request, latest);
        if (why !== undefined) return { by, why };
      }
      return undefined;
    },
    heldTwice(request, address) {
      const others = [...(byAddress.get(formatAddress(address)) ?? [])].flatMap((by) => byService.get(by) ?? []);
      return others.some(
        (other) =>
          other.request.service !== request.service &&
          !other.disputed &&
          other.addresses.some((own) => sameAddress(own, address)) &&
          !haveSameSharingKey(request, other.request),
      );
    },
    parts(before, after, address) {
      const others = [...(byAddress.get(formatAddress(address)) ?? [])].flatMap((by) => byService.get(by)?.request ?? []);
      return others.some(
        (other) => other.service !== after.service && whyNotShared(before, other) === undefined && whyNotShared(after, other) !== undefined,
      );
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

/** Those that it holds, and those that are leaving. */
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
