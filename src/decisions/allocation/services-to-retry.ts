import { sameAddress, type Address } from '../../net/address.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Allocator } from './allocator.ts';
import type { AllocationRequest } from './request.ts';

/** A Service that waits for an address. `since` is any number that grows, such as a clock reading or a counter. */
export interface Waiting {
  readonly request: AllocationRequest;
  readonly since: number;
}

/**
 * Returns the Services to reconcile after something became free on `freed`, the longest waiting first. Only those that would get what they
 * ask for: one freed address requeues one Service, not ten thousand. Services with a sharing key are all included, because several may fit
 * on one address, and so are those with a quota, because their room does not depend on the address.
 */
export function servicesToRetry(waiting: Iterable<Waiting>, freed: readonly Address[], allocator: Allocator): ServiceKey[] {
  if (freed.length === 0) return [];
  const pools = new Set(freed.map((address) => allocator.poolOf(address)));
  const couldUse = ({ requestedAddresses, requestedPool }: AllocationRequest): boolean => {
    if (requestedAddresses.length > 0) return requestedAddresses.some((wanted) => pools.has(allocator.poolOf(wanted)));
    return requestedPool === undefined || pools.has(requestedPool);
  };
  const inOrder = [...waiting]
    .filter(({ request }) => couldUse(request))
    .sort((a, b) => a.since - b.since || (a.request.service < b.request.service ? -1 : 1));
  const retry: ServiceKey[] = [];
  let left = freed.length;
  for (const { request } of inOrder) {
    if (left === 0 && request.sharingKey === undefined && !allocator.hasQuota(request)) continue;
    const { reason, addresses } = allocator.decide(request);
    if (reason !== undefined) continue;
    retry.push(request.service);
    if (request.sharingKey === undefined && addresses.some((address) => freed.some((other) => sameAddress(address, other)))) left--;
  }
  return retry;
}
