import { defined } from '../../lang/defined.ts';
import { createAllocator, type Allocator } from '../../decisions/allocation/allocator.ts';
import { decideAllocationClaim, keepsHolding } from '../../decisions/allocation/claim.ts';
import { inOrderOfPrecedence } from '../../decisions/allocation/held-twice.ts';
import { inOrderOfService } from '../../decisions/allocation/order.ts';
import { effectivePools } from '../../decisions/allocation/pools/pools.ts';
import { allocationRequest } from '../../decisions/allocation/request.ts';
import { assignedAddresses, type Service } from '../../model/objects/service.ts';
import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';

export interface AllocationExplanation {
  readonly addresses: readonly { readonly address: string; readonly pool?: string }[];
  readonly reason?: Reason;
  /** Pool by pool in the order they are tried; only where there is a reason. */
  readonly pools: readonly { readonly pool: string; readonly reason?: Reason }[];
}

/** The allocator as it stands after reading the record: what the controller decides from. */
export function allocatorOf(snapshot: Snapshot): Allocator {
  const { pools, refused } = effectivePools(snapshot.pools);
  const allocator = createAllocator(pools, [...refused.values()]);
  for (const service of inOrderOfPrecedence(snapshot)) {
    if (!decideAllocationClaim(service, snapshot.config).mine) continue;
    const addresses = assignedAddresses(service);
    if (addresses.length > 0) allocator.adopt(allocationRequest(service, snapshot), addresses);
  }
  return allocator;
}

export function explainAllocation(snapshot: Snapshot, service: Service): AllocationExplanation {
  const claim = decideAllocationClaim(service, snapshot.config);
  if (!claim.mine) return { addresses: [], reason: claim.reason, pools: [] };
  const allocator = allocatorOf(snapshot);
  const request = allocationRequest(service, snapshot);
  const { reason } = allocator.decide(request);
  const addresses = assignedAddresses(service).map((address) => {
    const pool = allocator.poolOf(address);
    return { address: formatAddress(address), ...defined({ pool }) };
  });
  return { addresses, ...(reason === undefined ? { pools: [] } : { reason, pools: allocator.survey(request) }) };
}

export type ExpectedAddresses = ReadonlyMap<ServiceKey, { readonly addresses: readonly string[]; readonly reason?: Reason }>;

/**
 * What every Service will hold after a controller that stands at `current` has worked through `proposed`. Services that
 * cease to be ours are there without an address; those that never were are not there.
 */
export function expectedAddresses(current: Snapshot, proposed: Snapshot): ExpectedAddresses {
  const allocator = allocatorOf(current);
  const wanted = ourServices(proposed).map((service) => allocationRequest(service, proposed));
  const expected = new Map<ServiceKey, { readonly addresses: readonly string[]; readonly reason?: Reason }>();
  for (const service of ourServices(current)) expected.set(serviceKey(service.metadata), { addresses: [] });
  const kept = new Set(wanted.map(({ service }) => service));
  for (const service of ourServices(current)) {
    const key = serviceKey(service.metadata);
    const after = proposed.services.get(key);
    const claim = after === undefined ? undefined : decideAllocationClaim(after, proposed.config);
    if (after === undefined || claim === undefined || claim.mine || !keepsHolding(service, after, claim)) continue;
    expected.set(key, { addresses: assignedAddresses(service).map(formatAddress), reason: claim.reason });
    kept.add(key);
  }
  for (const service of expected.keys()) if (!kept.has(service)) allocator.release(service, 0);
  const { pools, refused } = effectivePools(proposed.pools);
  allocator.setPools(pools, [...refused.values()]);
  for (const request of wanted) {
    const { addresses, reason } = allocator.allocate(request);
    expected.set(request.service, { addresses: addresses.map(formatAddress), ...defined({ reason }) });
  }
  return expected;
}

/** In the order of a controller that starts. */
function ourServices(snapshot: Snapshot): Service[] {
  return inOrderOfService(snapshot, new Map())
    .flatMap((key) => snapshot.services.get(key) ?? [])
    .filter((service) => decideAllocationClaim(service, snapshot.config).mine);
}
