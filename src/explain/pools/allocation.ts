import { defined } from '../../lang/defined.ts';
import { createAllocator, type Allocator } from '../../decisions/allocation/allocator.ts';
import { decideAllocationClaim, keepsAddress } from '../../decisions/allocation/claim.ts';
import { inOrderOfPrecedence } from '../../decisions/allocation/held-twice.ts';
import { inOrderOfService } from '../../decisions/allocation/order.ts';
import { knownOwners } from '../../decisions/allocation/pools/owners-in-pools.ts';
import { effectivePools, poolsOf } from '../../decisions/allocation/pools/pools.ts';
import { allocationRequest } from '../../decisions/allocation/request.ts';
import { assignedAddresses, type Service } from '../../model/objects/service.ts';
import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import type { ReleasedAddress } from '../../model/parse/released-address.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { TimeSlice } from '../../system/time-slice.ts';
import { formatAddress, parseAddress } from '../../net/address.ts';

export interface AllocationExplanation {
  readonly addresses: readonly { readonly address: string; readonly pool?: string }[];
  /** The addresses that the Service would get. Absent: it has an address, it would get none, or a controller decides. */
  readonly expected?: readonly { readonly address: string; readonly pool?: string }[];
  readonly reason?: Reason;
  /** Annotations of another program by which the Service names addresses or a pool. Absent: there are none. */
  readonly requestedBy?: readonly string[];
  /** Pool by pool, in the order in which the pools are tried. Empty when there is no reason. */
  readonly pools: readonly { readonly pool: string; readonly reason?: Reason }[];
}

/** The allocator as in the controller, from the recorded addresses. `released`: addresses kept for Services that gave them up. */
export function allocatorOf(snapshot: Snapshot, released: readonly ReleasedAddress[] = []): Allocator {
  const steps = adopting(snapshot, released);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** As `allocatorOf`. Other work of the process goes on meanwhile. */
export async function allocatorInSlices(
  { snapshot, released = [] }: { readonly snapshot: Snapshot; readonly released?: readonly ReleasedAddress[] },
  slice: Pick<TimeSlice, 'isUsedUp' | 'yield'>,
): Promise<Allocator> {
  const steps = adopting(snapshot, released);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (slice.isUsedUp) await slice.yield();
  }
}

/** Yields after each Service. */
function* adopting(snapshot: Snapshot, released: readonly ReleasedAddress[]): Generator<undefined, Allocator> {
  const { pools, refused } = effectivePools(snapshot.pools);
  const allocator = createAllocator(pools, [...refused.values()], knownOwners(snapshot));
  for (const service of inOrderOfPrecedence(snapshot)) {
    if (!decideAllocationClaim(service, snapshot.config).mine) continue;
    const addresses = assignedAddresses(service);
    if (addresses.length > 0) allocator.adopt(allocationRequest(service, snapshot), addresses);
    yield;
  }
  allocator.restoreReleased(released);
  return allocator;
}

/** `released`: as of `allocatorOf`. */
export function explainAllocation(snapshot: Snapshot, service: Service, released: readonly ReleasedAddress[] = []): AllocationExplanation {
  const claim = decideAllocationClaim(service, snapshot.config);
  if (!claim.mine) return { addresses: [], reason: claim.reason, pools: [] };
  const allocator = allocatorOf(snapshot, released);
  const request = allocationRequest(service, snapshot);
  const { reason } = allocator.decide(request);
  const addresses = assignedAddresses(service).map((address) => {
    const pool = allocator.poolOf(address);
    return { address: formatAddress(address), ...defined({ pool }) };
  });
  const facts = { addresses, ...defined({ requestedBy: service.requestedBy }) };
  return { ...facts, ...(reason === undefined ? { pools: [] } : { reason, pools: allocator.survey(request) }) };
}

export type ExpectedAddresses = ReadonlyMap<ServiceKey, { readonly addresses: readonly string[]; readonly reason?: Reason }>;

/**
 * Returns the addresses of every Service after a controller whose state is `current` has reconciled `proposed`. A Service that is no longer
 * Herald's is listed without addresses. A Service that never was is not listed. `released`: as of `allocatorOf`.
 */
export function expectedAddresses(current: Snapshot, proposed: Snapshot, released: readonly ReleasedAddress[] = []): ExpectedAddresses {
  const allocator = allocatorOf(current, released);
  const wanted = ourServices(proposed).map((service) => allocationRequest(service, proposed));
  const expected = new Map<ServiceKey, { readonly addresses: readonly string[]; readonly reason?: Reason }>();
  for (const service of ourServices(current)) expected.set(serviceKey(service.metadata), { addresses: [] });
  const kept = new Set(wanted.map(({ service }) => service));
  for (const service of ourServices(current)) {
    const key = serviceKey(service.metadata);
    const after = proposed.services.get(key);
    const claim = after === undefined ? undefined : decideAllocationClaim(after, proposed.config);
    if (after === undefined || claim === undefined || claim.mine || !keepsAddress(service, after, claim)) continue;
    expected.set(key, { addresses: assignedAddresses(service).map(formatAddress), reason: claim.reason });
    kept.add(key);
  }
  for (const service of expected.keys()) if (!kept.has(service)) allocator.release(service, 0);
  const { pools, refused } = effectivePools(proposed.pools);
  allocator.setPools(pools, [...refused.values()], knownOwners(proposed));
  for (const request of wanted) {
    const { addresses, reason } = allocator.allocate(request);
    expected.set(request.service, { addresses: addresses.map(formatAddress), ...defined({ reason }) });
  }
  return expected;
}

/** In the order in which a starting controller reconciles them. */
function ourServices(snapshot: Snapshot): Service[] {
  return inOrderOfService(snapshot, new Map())
    .flatMap((key) => snapshot.services.get(key) ?? [])
    .filter((service) => decideAllocationClaim(service, snapshot.config).mine);
}

/** Adds the addresses that a controller would give if it started with these objects: for manifests, which none serves yet. */
export function withExpectedAddresses(
  allocation: AllocationExplanation,
  snapshot: Snapshot,
  service: ServiceKey,
  released: readonly ReleasedAddress[] = [],
): AllocationExplanation {
  if (allocation.addresses.length > 0 || allocation.reason !== undefined) return allocation;
  const { addresses = [], reason } = expectedAddresses(snapshot, snapshot, released).get(service) ?? {};
  if (addresses.length === 0) return { ...allocation, ...defined({ reason }) };
  const expected = addresses.map((text) => {
    const parsed = parseAddress(text);
    const pool = parsed.ok ? poolsOf(snapshot.pools, parsed.value)[0]?.metadata.name : undefined;
    return { address: text, ...defined({ pool }) };
  });
  return { ...allocation, expected };
}
