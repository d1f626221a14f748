import { specialAddress } from '../../model/reading/special-address.ts';
import { inUseBy, type AddressOwner } from '../addresses-of-others.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { formatAddress, type Address, type Family } from '../../net/address.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { isBuggy, whyPoolUnavailable } from './pools/address-space.ts';
import { holds, keptForAnother, type Ledger } from './ledger/ledger.ts';
import { whyPoolGivesNoMore, whyPoolRefuses } from './pools/pool-eligibility.ts';
import { nearestRange } from './pools/nearest-range.ts';
import { containsAddress } from './pools/pools.ts';
import { whyOverQuota } from './ledger/quota.ts';
import type { AllocationRequest } from './request.ts';

/** Returns why a Service cannot have all the addresses that it names. Undefined when it can. */
export function whyNotRequested(ledger: Ledger, request: AllocationRequest): Reason | undefined {
  const { requestedAddresses: addresses } = request;
  for (const address of addresses) {
    const why = whyNotThisAddress(ledger, request, address);
    if (why !== undefined) return why;
  }
  for (const pool of new Set(addresses.flatMap((address) => ledger.space.poolOf(address) ?? []))) {
    const over = whyOverQuota(ledger, pool, request, addresses);
    if (over !== undefined) return over;
  }
  return undefined;
}

/** Returns why no pool could meet the request. Undefined when the request is valid. */
export function whyInvalid(request: AllocationRequest): Reason | undefined {
  const { invalidRequest, requestedAddresses, families, policy } = request;
  if (invalidRequest !== undefined) return reason('InvalidRequest', invalidRequest);
  if (requestedAddresses.length === 0) return undefined;
  const requested = [...new Set(requestedAddresses.map(({ family }) => family))];
  const lacking = policy === 'RequireDualStack' && requested.length < families.length;
  if (lacking || requested.some((family) => !families.includes(family))) {
    const list = (of: readonly Family[]): string => of.map((family) => `IPv${family}`).join(', ');
    return reason('RequestedFamilyMismatch', { requested: list(requested), families: list(families) });
  }
  return undefined;
}

function whyNotThisAddress(ledger: Ledger, request: AllocationRequest, address: Address): Reason | undefined {
  const { space, holdings, reservations } = ledger;
  const text = formatAddress(address);
  const conflict = holdings.conflict(request, address);
  const taken = conflict === undefined ? undefined : reason('AddressTaken', { address: text, ...conflict });
  // An address that the Service already holds needs no pool's consent.
  if (holds(ledger, request.service, address)) return taken;
  const pool = space.poolOf(address);
  const { requestedPool } = request;
  const gone = requestedPool === undefined ? undefined : whyPoolUnavailable(space, requestedPool);
  if (gone !== undefined) return gone;
  const refusedPool = space.refused.find((refused) => containsAddress(refused.pool, address));
  const owner = space.ownerOf(address) ?? otherService(space.ownerInPools(address), request.service);
  if (pool === undefined && owner !== undefined) return inUseBy(owner, address, 'requested');
  if (pool === undefined)
    return refusedPool === undefined
      ? reason('AddressNotInPools', { address: text, ...nearestRange(space.pools, address), ...unusable(address) })
      : refusedPool.reason;
  const { name } = pool.metadata;
  if (owner !== undefined) return inUseBy(owner, address, 'requested', name);
  if (requestedPool !== undefined && name !== requestedPool) {
    return reason('AddressInOtherPool', { address: text, pool: name, requested: requestedPool });
  }
  const refused = whyPoolRefuses(pool, request) ?? whyPoolGivesNoMore(pool);
  if (refused !== undefined) return refused;
  const keeper = keptForAnother(ledger, request, address);
  if (keeper !== undefined) return reason('AddressReserved', { pool: name, address: text, owner: keeper });
  if (pool.avoidBuggyIPs && isBuggy(address) && reservations.ownerOf(address) !== request.service)
    return reason('AddressAvoided', { pool: name, address: text });
  return taken;
}

const unusable = (address: Address): { isUnusable?: true } => (specialAddress(address) === undefined ? {} : { isUnusable: true });

/** A Service may ask for an address that it has in its own spec as well. */
function otherService(owner: AddressOwner | undefined, service: ServiceKey): AddressOwner | undefined {
  return owner?.kind === 'Service' && owner.name === service ? undefined : owner;
}
