import { defined } from '../../lang/defined.ts';
import { formatAddress, sameAddress, type Address, type Family } from '../../net/address.ts';
import type { IPAddressPool } from '../../model/kinds/types.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { ReleasedAddress } from '../../model/parse/released-address.ts';
import type { Reason } from '../../model/reasons.ts';
import { createAddressSpace, type AddressSpace } from './pools/address-space.ts';
import { addressesOf, createHoldings, type Holding } from './ledger/holdings.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { PoolRefusal, RefusedPool } from './pools/pools.ts';
import { createNamespaceUse } from './ledger/namespace-use.ts';
import { quotaOf } from './ledger/quota.ts';
import { firstConflict, reconsider, termsDiffer, whyOutOfPlace } from './reconsider.ts';
import type { AllocationRequest } from './request.ts';
import { createReservations } from './ledger/reservations.ts';
import { findAddresses, surveyPools } from './search.ts';

/** What a Service holds after a decision, and why that is not what it asks for. */
export interface Allocation {
  /** In the order of spec.ipFamilies. Empty: it holds nothing. */
  readonly addresses: readonly Address[];
  /** The pool that contains the addresses; absent without addresses, or where no pool contains them (kept after its pool was deleted). */
  readonly pool?: string;
  /** Why the Service does not have what it asks for (it may still keep what it had); absent when it has. */
  readonly reason?: Reason;
  /** Pool by pool, in the order they were tried: why it did not give. Empty where pools were not the question. */
  readonly pools: readonly PoolRefusal[];
  /** Addresses on which something becomes free: let go, or still held under terms that leave room for others. */
  readonly freed: readonly Address[];
}

export interface PoolUsage {
  readonly pool: string;
  readonly family: Family;
  /** Addresses the pool can give, without those that avoidBuggyIPs excludes. */
  readonly total: bigint;
  readonly free: bigint;
  /** Addresses that Services hold, each once however many share it, also where the pool would not give them. */
  readonly assigned: number;
}

export interface KeptInPool extends ReleasedAddress {
  readonly pool: string;
}

interface Assignment {
  readonly service: ServiceKey;
  readonly addresses: readonly Address[];
}

/** Who holds which address. Pure: no I/O, no clock; the same calls in the same order give the same answers. */
export interface Allocator {
  /**
   * After a restart, before any `allocate`: the Service has exactly these addresses on record, whatever the pools say, and keeps them. Where an
   * earlier one adopted holds one of them and may not share it, this one is told (AddressTaken); and where the two do not even have one sharing key, it
   * is given another address when it is decided upon, so that who is first in the right must be adopted first (`inOrderOfPrecedence`).
   */
  adopt(request: AllocationRequest, addresses: readonly Address[]): Allocation;
  /** Whether nobody else holds one of these, or may share it with the Service. */
  isFree(request: AllocationRequest, addresses: readonly Address[]): boolean;
  /** Decides and records the decision: `stage` and `confirm` in one. */
  allocate(request: AllocationRequest): Allocation;
  /**
   * Decides and records the decision. What the Service lets go is given to nobody until `confirm`: as long as the decision is not
   * written down, the address is announced for its old owner, and would be his again after a restart.
   */
  stage(request: AllocationRequest): Allocation;
  /** The Service asks for something else by now, on which `stage` is still to decide. */
  expect(request: AllocationRequest): void;
  /** What was staged for the Service is written down; returns the addresses on which others may find room since the last time. */
  confirm(service: ServiceKey): readonly Address[];
  /** What `allocate` would decide; changes nothing. For explain and plan. */
  decide(request: AllocationRequest): Allocation;
  /** Pool by pool in the order they would be tried, why each would not give an address, or that it would; changes nothing. */
  survey(request: AllocationRequest): readonly { readonly pool: string; readonly reason?: Reason }[];
  /**
   * The Service is gone, and what it holds is on record until `release`: that is given to nobody else. One that comes under its name
   * before then has no right to it, and gets it only as any new Service would.
   */
  leave(service: ServiceKey): void;
  /**
   * Lets go of everything the Service holds, at `now` in milliseconds; returns the addresses. Where their pool says so
   * (keepReleasedSeconds), they wait for a Service of its name.
   */
  release(service: ServiceKey, now: number): readonly Address[];
  /** After a restart, after everything was adopted: goes on keeping what was kept before, where its pool still says so. */
  keep(released: readonly ReleasedAddress[]): void;
  /** What is kept, with its pool. */
  kept(): readonly KeptInPool[];
  /** Ends the waiting of those that were kept until now; returns the addresses. */
  expire(now: number): readonly Address[];
  /** Replaces the pools that give, which must be disjoint, and those that do not (`effectivePools`); what is assigned stays. */
  setPools(pools: readonly IPAddressPool[], refused?: readonly RefusedPool[]): void;
  assignmentOf(service: ServiceKey): Assignment | undefined;
  assignments(): Iterable<Assignment>;
  holdersOf(address: Address): readonly ServiceKey[];
  /** Whether a pool limits how many addresses the namespace of the request may hold. */
  hasQuota(request: AllocationRequest): boolean;
  /** Of each pool and family, those that give nothing included; costs the same whatever is assigned. */
  usage(): readonly PoolUsage[];
  poolOf(address: Address): string | undefined;
  /** Intervals of free addresses looked at since the pools were set: the measure of work, for tests and benchmarks. */
  steps(): number;
}

export function createAllocator(pools: readonly IPAddressPool[], refused: readonly RefusedPool[] = []): Allocator {
  const holdings = createHoldings();
  const reservations = createReservations();
  let space = createAddressSpace([], []);
  let use = createNamespaceUse(() => undefined);
  /** The same whatever the namespace, by pool and family. */
  let held = createNamespaceUse(() => undefined);
  const ledger = (): Ledger => ({ space, holdings, reservations, use });

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
    const old = holdings.get(service);
    holdings.set(service, holding);
    for (const address of addressesOf(old)) {
      use.remove(old?.request.namespace ?? '', address);
      held.remove('', address);
      giveBack(address);
    }
    for (const address of addressesOf(holding)) {
      use.add(holding?.request.namespace ?? '', address);
      held.add('', address);
      space.take(address);
      reservations.endKeeping(address);
    }
  };
  /** Unless somebody holds it, or it waits for somebody. */
  const giveBack = (address: Address): void => {
    if (holdings.holdersOf(address).length === 0 && reservations.ownerOf(address) === undefined) space.give(address);
  };
  const setPools = (pools: readonly IPAddressPool[], refused: readonly RefusedPool[]): void => {
    space = createAddressSpace(pools, refused);
    reservations.setPools(pools);
    use = createNamespaceUse((address) => space.poolOf(address)?.metadata.name);
    held = createNamespaceUse((address) => usageKey(space.poolsOf(address)[0]?.metadata.name ?? '', address.family));
    for (const address of reservations.all()) space.take(address);
    for (const holding of holdings.all()) {
      for (const address of addressesOf(holding)) {
        space.take(address);
        use.add(holding.request.namespace, address);
        held.add('', address);
      }
    }
  };
  setPools(pools, refused);
  const consider = (request: AllocationRequest): { holding?: Holding; allocation: Allocation } => {
    const held = holdings.get(request.service);
    if (held === undefined || held.addresses.length === 0) {
      const found = findAddresses(ledger(), request);
      if ('reason' in found) return { allocation: answer([], found.reason, found.pools, []) };
      const holding = { request, addresses: found.addresses, seeking: false, disputed: false };
      return { holding, allocation: answer(found.addresses, undefined, [], []) };
    }
    const { holding, reason, pools } = reconsider(ledger(), request, held);
    return { holding, allocation: answer(holding.addresses, reason, pools, freedBetween(held, holding)) };
  };

  const leave = (service: ServiceKey): void => {
    const holding = holdings.get(service);
    if (holding === undefined) return;
    freed.set(service, [...(freed.get(service) ?? []), ...holding.addresses]);
    record(service, { ...holding, addresses: [], leaving: addressesOf(holding) });
  };
  const stage = (request: AllocationRequest): Allocation => {
    const { service, uid } = request;
    const holder = holdings.get(service)?.request.uid;
    // It was gone before we heard of it, and this one is new.
    if (holder !== undefined && uid !== undefined && holder !== uid) leave(service);
    const before = addressesOf(holdings.get(service));
    const { holding, allocation } = consider(request);
    if (holding === undefined) return allocation;
    const leaving = before.filter((address) => !holding.addresses.some((kept) => sameAddress(kept, address)));
    record(service, { ...holding, leaving });
    // Others of its sharing key may join it there, which they could not before.
    const joinable = request.sharingKey === undefined ? [] : holding.addresses;
    freed.set(service, [...(freed.get(service) ?? []), ...allocation.freed, ...joinable.filter((address) => !before.includes(address))]);
    return allocation;
  };
  const confirm = (service: ServiceKey): readonly Address[] => {
    const holding = holdings.get(service);
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
      const holding = { request, addresses, seeking: false, disputed: conflict !== undefined };
      record(request.service, addresses.length === 0 ? undefined : holding);
      return answer(addresses, conflict ?? whyOutOfPlace(ledger(), request, addresses), [], []);
    },
    isFree: (request, addresses) => firstConflict(ledger(), request, addresses) === undefined,
    allocate(request) {
      const allocation = stage(request);
      confirm(request.service);
      return allocation;
    },
    decide: (request) => consider(request).allocation,
    survey: (request) => surveyPools(ledger(), request),
    leave,
    release(service, now) {
      const addresses = addressesOf(holdings.get(service));
      for (const address of addresses) {
        const { draining, keepReleasedSeconds } = space.poolOf(address) ?? { draining: false, keepReleasedSeconds: 0 };
        if (draining || keepReleasedSeconds === 0 || holdings.holdersOf(address).length > 1) continue;
        for (const other of reservations.keep(service, address, now + keepReleasedSeconds * 1000)) giveBack(other);
      }
      record(service, undefined);
      freed.delete(service);
      return addresses;
    },
    keep(released) {
      for (const { service, address, until } of released) {
        const { draining, keepReleasedSeconds } = space.poolOf(address) ?? { draining: false, keepReleasedSeconds: 0 };
        if (draining || keepReleasedSeconds === 0 || holdings.holdersOf(address).length > 0) continue;
        for (const other of reservations.keep(service, address, until)) giveBack(other);
        space.take(address);
      }
    },
    kept: () => [...reservations.kept()].map((one) => ({ ...one, pool: space.poolOf(one.address)?.metadata.name ?? '' })),
    expire(now) {
      const ended = reservations.expire(now);
      for (const address of ended) giveBack(address);
      return ended;
    },
    setPools: (pools, refused = []) => setPools(pools, refused),
    assignmentOf(service) {
      const held = holdings.get(service);
      return held === undefined || held.addresses.length === 0 ? undefined : { service, addresses: held.addresses };
    },
    assignments: () =>
      [...holdings.all()].flatMap(({ request: { service }, addresses }) => (addresses.length === 0 ? [] : [{ service, addresses }])),
    holdersOf: (address) => holdings.holdersOf(address),
    hasQuota: (request) => space.pools.some((pool) => quotaOf(pool, request) !== undefined),
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

/** What the Service let go; and what it keeps under other terms, because a port or a key may have become free there. */
function freedBetween(before: Holding, after: Holding): Address[] {
  const terms = termsDiffer(before.request, after.request);
  return before.addresses.filter((address) => terms || !after.addresses.some((kept) => sameAddress(kept, address)));
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
