import { defined } from '../../lang/defined.ts';
import { formatAddress, type Address, type Family } from '../../net/address.ts';
import type { IPAddressPool } from '../../model/kinds/types.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { ReleasedAddress } from '../../model/parse/released-address.ts';
import type { Reason } from '../../model/reasons.ts';
import { createAddressSpace, type AddressSpace } from './pools/address-space.ts';
import { addressesOf, createHoldings, type Holding } from './ledger/holdings.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { KnownOwners } from './pools/owners-in-pools.ts';
import type { PoolRefusal, RefusedPool } from './pools/pools.ts';
import { createNamespaceUse } from './ledger/namespace-use.ts';
import { smallestQuota } from './ledger/quota.ts';
import { firstConflict, recheckHeld, termsDiffer, whyAddressNotInPool } from './recheck-held.ts';
import type { AllocationRequest } from './request.ts';
import { createReservations } from './ledger/reservations.ts';
import { createSoleHolders } from './ledger/sole-holders.ts';
import { soleAddresses } from './holder-to-release.ts';
import { findAddresses, surveyPools } from './search.ts';

/** The outcome of a decision: the addresses that a Service holds, and why they are not the ones it asks for. */
export interface Allocation {
  /** In the order of spec.ipFamilies. Empty when the Service holds nothing. */
  readonly addresses: readonly Address[];
  /** The pool that contains the addresses. Absent without addresses, or when no pool contains them (the pool was deleted). */
  readonly pool?: string;
  /** Why the Service does not have what it asks for; it may still keep earlier addresses. Absent when it has what it asks for. */
  readonly reason?: Reason;
  /** Why each pool gave nothing, in the order of trial. Empty when the reason is not about pools. */
  readonly pools: readonly PoolRefusal[];
  /** Addresses that other Services may now get or join: released ones, and those still held under terms that leave room for others. */
  readonly freed: readonly Address[];
}

export interface PoolUsage {
  readonly pool: string;
  readonly family: Family;
  /** Addresses that the pool can assign, without those that avoidBuggyIPs excludes and those that belong to something else. */
  readonly total: bigint;
  readonly free: bigint;
  /** Addresses that Services hold. A shared address counts once; addresses that the pool would no longer assign count too. */
  readonly assigned: number;
}

export interface KeptInPool extends ReleasedAddress {
  readonly pool: string;
}

interface Assignment {
  readonly service: ServiceKey;
  readonly addresses: readonly Address[];
}

/** Assigns addresses to Services. Pure: no I/O, no clock. The same calls in the same order give the same answers. */
export interface Allocator {
  /**
   * Restores recorded addresses after a restart, before any `allocate`. The Service keeps exactly these, whatever the pools say. When a
   * Service adopted earlier holds one of them and may not share it, the result says so (AddressTaken). When nodes cannot serve the two at
   * one address, the next decision takes it from this Service. Callers therefore adopt in `inOrderOfPrecedence`.
   */
  adopt(request: AllocationRequest, addresses: readonly Address[]): Allocation;
  /** True when each address is free, or its holder may share it with the Service. */
  isFree(request: AllocationRequest, addresses: readonly Address[]): boolean;
  /** Decides and records the decision: `stage` and `confirm` in one call. */
  allocate(request: AllocationRequest): Allocation;
  /**
   * Decides and records the decision. Released addresses go to no other Service until `confirm`: before the decision is written down,
   * agents still announce the address for its old owner, and a restart would restore it.
   */
  stage(request: AllocationRequest): Allocation;
  /** Notes a new request that `stage` has not decided yet. */
  expect(request: AllocationRequest): void;
  /** Confirms that the staged decision is written. Returns addresses with possible room for other Services since the last call. */
  confirm(service: ServiceKey): readonly Address[];
  /** Returns what `allocate` would decide and changes nothing. For explain and plan. */
  decide(request: AllocationRequest): Allocation;
  /** Returns for each pool, in the order of trial, why it would not give an address, or no reason when it would. Changes nothing. */
  survey(request: AllocationRequest): readonly { readonly pool: string; readonly reason?: Reason }[];
  /**
   * Marks the Service as deleted. Its addresses stay recorded until `release`, and no other Service gets them. A new Service under the same
   * name does not inherit them.
   */
  markDeleted(service: ServiceKey): void;
  /**
   * Releases all addresses of the Service and returns them. `now` is in milliseconds. Pools with keepReleasedSeconds reserve them for a
   * Service of the same name.
   */
  release(service: ServiceKey, now: number): readonly Address[];
  /** Restores the reservations of released addresses after a restart, after every `adopt`, for pools that still keep them. */
  restoreReleased(released: readonly ReleasedAddress[]): void;
  /** Returns the released addresses that pools keep, each with its pool. */
  releasedAddresses(): readonly KeptInPool[];
  /** Ends the reservations that expired by `now` (milliseconds) and returns their addresses. */
  expireReleased(now: number): readonly Address[];
  /**
   * Replaces the effective pools, which must be disjoint, the refused ones (see `effectivePools`) and the addresses that belong to something else.
   * Assigned addresses stay.
   */
  setPools(pools: readonly IPAddressPool[], refused?: readonly RefusedPool[], owners?: KnownOwners): void;
  assignmentOf(service: ServiceKey): Assignment | undefined;
  assignments(): Iterable<Assignment>;
  holdersOf(address: Address): readonly ServiceKey[];
  /** True when a pool limits how many addresses the request's namespace may hold. */
  hasQuota(request: AllocationRequest): boolean;
  /** Returns the namespaces and pools, as `placeOf` names them, where PoolFull may name another Service than before the last call. */
  takeChangedHolders(): ReadonlySet<string>;
  /** Returns the usage of each pool and family, refused pools included. The cost does not depend on how many addresses are assigned. */
  usage(): readonly PoolUsage[];
  poolOf(address: Address): string | undefined;
  /** Counts the intervals of free addresses that were searched since the pools were set. Measures work in tests and benchmarks. */
  steps(): number;
}

export function createAllocator(pools: readonly IPAddressPool[], refused: readonly RefusedPool[] = [], owners?: KnownOwners): Allocator {
  const holdings = createHoldings();
  const reservations = createReservations();
  let space = createAddressSpace([], []);
  let use = createNamespaceUse(() => undefined);
  /** Counts by pool and family, over all namespaces. */
  let held = createNamespaceUse(() => undefined);
  let soles = createSoleHolders();
  const ledger = (): Ledger => ({ space, holdings, reservations, use, soles });

  const answer = (
    addresses: readonly Address[],
    reason: Reason | undefined,
    pools: readonly PoolRefusal[],
    freed: readonly Address[],
  ): Allocation => {
    const pool = commonPool(space, addresses);
    return { addresses, ...defined({ pool, reason }), pools, freed };
  };
  const freed = new Map<ServiceKey, readonly Address[]>();
  const record = (service: ServiceKey, holding: Holding | undefined): void => {
    const old = holdings.holdingOf(service);
    holdings.setHolding(service, holding);
    for (const address of addressesOf(old)) {
      use.uncountHolder(old?.request.namespace ?? '', address);
      held.uncountHolder('', address);
      returnAddress(address);
    }
    for (const address of addressesOf(holding)) {
      use.countHolder(holding?.request.namespace ?? '', address);
      held.countHolder('', address);
      space.markHeld(address);
      reservations.endKeeping(address);
    }
    indexSoles(service);
    for (const address of [...addressesOf(old), ...addressesOf(holding)]) {
      const holders = holdings.holdersOf(address);
      // A change adds or removes one holder. With three or more now, there were two or more before, so no other Service became the only holder.
      if (holders.length <= 2) for (const other of holders) if (other !== service) indexSoles(other);
    }
  };
  const indexSoles = (service: ServiceKey): void => {
    const holding = holdings.holdingOf(service);
    soles.setAddresses(service, soleAddresses(ledger(), holding));
  };
  /** Frees the address unless another Service holds it or it is kept for one. */
  const returnAddress = (address: Address): void => {
    if (holdings.holdersOf(address).length === 0 && reservations.ownerOf(address) === undefined) space.markFree(address);
  };
  const setPools = (pools: readonly IPAddressPool[], refused: readonly RefusedPool[], owners?: KnownOwners): void => {
    space = createAddressSpace(pools, refused, owners);
    reservations.setPools(pools);
    use = createNamespaceUse((address) => space.poolOf(address)?.metadata.name);
    held = createNamespaceUse((address) => usageKey(space.poolsOf(address)[0]?.metadata.name ?? '', address.family));
    for (const address of reservations.all()) space.markHeld(address);
    for (const holding of holdings.all()) {
      for (const address of addressesOf(holding)) {
        space.markHeld(address);
        use.countHolder(holding.request.namespace, address);
        held.countHolder('', address);
      }
    }
    soles = createSoleHolders();
    for (const { request } of holdings.all()) indexSoles(request.service);
  };
  setPools(pools, refused, owners);
  const consider = (request: AllocationRequest): { holding?: Holding; allocation: Allocation } => {
    const held = holdings.holdingOf(request.service);
    if (held === undefined || held.addresses.length === 0) {
      const found = findAddresses(ledger(), request);
      if ('reason' in found) return { allocation: answer([], found.reason, found.pools, []) };
      const holding = { request, addresses: found.addresses, seeking: false, disputed: false };
      return { holding, allocation: answer(found.addresses, undefined, [], []) };
    }
    const { holding, reason, pools } = recheckHeld(ledger(), request, held);
    return { holding, allocation: answer(holding.addresses, reason, pools, freedBetween(held, holding)) };
  };

  const leave = (service: ServiceKey): void => {
    const holding = holdings.holdingOf(service);
    if (holding === undefined) return;
    freed.set(service, [...(freed.get(service) ?? []), ...holding.addresses]);
    record(service, { ...holding, addresses: [], leaving: addressesOf(holding) });
  };
  const stage = (request: AllocationRequest): Allocation => {
    const { service, uid } = request;
    const holder = holdings.holdingOf(service)?.request.uid;
    // The old Service vanished without a deletion event; this one has the same name and another UID.
    if (holder !== undefined && uid !== undefined && holder !== uid) leave(service);
    const before = addressesOf(holdings.holdingOf(service));
    const { holding, allocation } = consider(request);
    if (holding === undefined) return allocation;
    const leaving = without(before, holding.addresses);
    record(service, { ...holding, leaving });
    // Services with the same sharing key could not join these addresses before, and can now.
    const joinable = request.sharingKey === undefined ? [] : holding.addresses;
    freed.set(service, [...(freed.get(service) ?? []), ...allocation.freed, ...joinable.filter((address) => !before.includes(address))]);
    return allocation;
  };
  const confirm = (service: ServiceKey): readonly Address[] => {
    const holding = holdings.holdingOf(service);
    const kept = holding === undefined || holding.addresses.length === 0 ? undefined : { ...holding, leaving: [] };
    if (holding?.leaving !== undefined && holding.leaving.length > 0) record(service, kept);
    const addresses = freed.get(service) ?? [];
    freed.delete(service);
    return addresses;
  };

  return {
    stage,
    confirm,
    expect: (request) => holdings.expect(request),
    adopt(request, recorded) {
      const addresses = [...new Map(recorded.map((address) => [formatAddress(address), address])).values()];
      const conflict = firstConflict(ledger(), request, addresses);
      const yields = addresses.some((address) => holdings.heldTwice(request, address));
      const holding = {
        request,
        addresses,
        seeking: false,
        disputed: conflict !== undefined,
        ...(yields ? { yields: true as const } : {}),
      };
      record(request.service, addresses.length === 0 ? undefined : holding);
      return answer(addresses, conflict ?? whyAddressNotInPool(ledger(), request, addresses), [], []);
    },
    isFree: (request, addresses) => firstConflict(ledger(), request, addresses) === undefined,
    allocate(request) {
      const allocation = stage(request);
      confirm(request.service);
      return allocation;
    },
    decide: (request) => consider(request).allocation,
    survey: (request) => surveyPools(ledger(), request),
    markDeleted: leave,
    release(service, now) {
      const addresses = addressesOf(holdings.holdingOf(service));
      for (const address of addresses) {
        const { draining, keepReleasedSeconds } = space.poolOf(address) ?? { draining: false, keepReleasedSeconds: 0 };
        if (draining || keepReleasedSeconds === 0 || holdings.holdersOf(address).length > 1) continue;
        for (const other of reservations.keep(service, address, now + keepReleasedSeconds * 1000)) returnAddress(other);
      }
      record(service, undefined);
      freed.delete(service);
      return addresses;
    },
    restoreReleased(released) {
      for (const { service, address, until } of released) {
        const { draining, keepReleasedSeconds } = space.poolOf(address) ?? { draining: false, keepReleasedSeconds: 0 };
        if (draining || keepReleasedSeconds === 0 || holdings.holdersOf(address).length > 0) continue;
        for (const other of reservations.keep(service, address, until)) returnAddress(other);
        space.markHeld(address);
      }
    },
    releasedAddresses: () => [...reservations.kept()].map((one) => ({ ...one, pool: space.poolOf(one.address)?.metadata.name ?? '' })),
    expireReleased(now) {
      const ended = reservations.expire(now);
      for (const address of ended) returnAddress(address);
      return ended;
    },
    setPools: (pools, refused = [], owners) => setPools(pools, refused, owners),
    assignmentOf(service) {
      const held = holdings.holdingOf(service);
      return held === undefined || held.addresses.length === 0 ? undefined : { service, addresses: held.addresses };
    },
    assignments: () =>
      [...holdings.all()].flatMap(({ request: { service }, addresses }) => (addresses.length === 0 ? [] : [{ service, addresses }])),
    holdersOf: (address) => holdings.holdersOf(address),
    hasQuota: (request) => space.pools.some((pool) => smallestQuota(pool, request) !== undefined),
    takeChangedHolders: () => soles.takeChanged(),
    usage: () => usageOf(space, (pool, family) => held.count('', usageKey(pool, family))),
    poolOf: (address) => space.poolsOf(address)[0]?.metadata.name,
    steps: () => space.steps(),
  };
}

function commonPool(space: AddressSpace, addresses: readonly Address[]): string | undefined {
  const names = new Set(addresses.map((address) => space.poolsOf(address)[0]?.metadata.name));
  const [only] = names;
  return names.size === 1 ? only : undefined;
}

/** Returns released addresses, and kept ones whose terms changed so that a port or sharing key may have become free. */
function freedBetween(before: Holding, after: Holding): Address[] {
  const terms = termsDiffer(before.request, after.request);
  return terms ? [...before.addresses] : without(before.addresses, after.addresses);
}

function without(addresses: readonly Address[], others: readonly Address[]): Address[] {
  const left = new Set(others.map(formatAddress));
  return addresses.filter((address) => !left.has(formatAddress(address)));
}

function usageOf(space: AddressSpace, assigned: (pool: string, family: Family) => number): PoolUsage[] {
  const families: readonly Family[] = [4, 6];
  const giving = space.pools.flatMap(({ metadata: { name } }) =>
    families
      .filter((family) => space.hasFamily(name, family))
      .map((family): PoolUsage => ({ pool: name, family, ...space.usage(name, family), assigned: assigned(name, family) })),
  );
  const refused = space.refused.flatMap(({ pool: { metadata, addresses } }) =>
    families
      .filter((family) => addresses.some(({ first }) => first.family === family))
      .map((family): PoolUsage => ({ pool: metadata.name, family, total: 0n, free: 0n, assigned: assigned(metadata.name, family) })),
  );
  return [...giving, ...refused];
}

function usageKey(pool: string, family: Family): string {
  return `${pool}/${family}`;
}
