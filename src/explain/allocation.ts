import { createAllocator, type Allocator } from '../decisions/allocation/allocator.ts';
import { decideAllocationClaim } from '../decisions/allocation/claim.ts';
import { effectivePools } from '../decisions/allocation/pools.ts';
import { allocationRequest } from '../decisions/allocation/request.ts';
import { assignedAddresses, type Service } from '../model/service.ts';
import type { ServiceKey } from '../model/metadata.ts';
import type { Reason } from '../model/reasons.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { formatAddress } from '../net/address.ts';

export interface AllocationExplanation {
  readonly addresses: readonly { readonly address: string; readonly pool?: string }[];
  readonly reason?: Reason;
  /** Pool by pool in the order they are tried; only where there is a reason. */
  readonly pools: readonly { readonly pool: string; readonly reason?: Reason }[];
}

/** The allocator as it stands after reading the record: what the controller decides from. */
function allocatorOf(snapshot: Snapshot): Allocator {
  const allocator = createAllocator(effectivePools(snapshot.pools).pools);
  for (const service of ourServices(snapshot)) {
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
    return { address: formatAddress(address), ...(pool === undefined ? {} : { pool }) };
  });
  return { addresses, ...(reason === undefined ? { pools: [] } : { reason, pools: allocator.survey(request) }) };
}

export type ExpectedAddresses = ReadonlyMap<ServiceKey, { readonly addresses: readonly string[]; readonly reason?: Reason }>;

/** What every Service will hold after a controller that stands at `current` has worked through `proposed`. */
export function expectedAddresses(current: Snapshot, proposed: Snapshot): ExpectedAddresses {
  const allocator = allocatorOf(current);
  for (const { service } of allocator.assignments()) if (!proposed.services.has(service)) allocator.release(service);
  allocator.setPools(effectivePools(proposed.pools).pools);
  return new Map(
    ourServices(proposed).map((service) => {
      const request = allocationRequest(service, proposed);
      const { addresses, reason } = allocator.allocate(request);
      return [request.service, { addresses: addresses.map(formatAddress), ...(reason === undefined ? {} : { reason }) }];
    }),
  );
}

/** In the controller's order: those that hold an address first, then by key. */
function ourServices(snapshot: Snapshot): Service[] {
  return [...snapshot.services]
    .filter(([, service]) => decideAllocationClaim(service, snapshot.config).mine)
    .toSorted(([a, one], [b, other]) => Math.sign(other.ingress.length) - Math.sign(one.ingress.length) || (a < b ? -1 : 1))
    .map(([, service]) => service);
}
