import { sameAddress, type Address } from '../../../net/address.ts';
import type { IPAddressPool } from '../../../model/kinds/types.ts';
import { reason, type Reason } from '../../../model/reasons.ts';
import { selects } from '../../../model/objects/label-selector.ts';
import { addressesOf } from './holdings.ts';
import type { Ledger } from './ledger.ts';
import type { AllocationRequest } from '../request.ts';

/** Returns why holding exactly `addresses` would exceed the namespace's quota in the pool. Undefined when it would not. */
export function whyOverQuota(
  { space, holdings, use }: Ledger,
  pool: IPAddressPool,
  request: AllocationRequest,
  addresses: readonly Address[],
): Reason | undefined {
  const { namespace } = request;
  const { name } = pool.metadata;
  const quota = smallestQuota(pool, request);
  if (quota === undefined) return undefined;
  const { allowed, entry } = quota;
  const own = addressesOf(holdings.holdingOf(request.service));
  const inPool = (address: Address): boolean => space.poolOf(address)?.metadata.name === name;
  const more = addresses.filter((address) => inPool(address) && use.holders(namespace, address) === 0);
  const given = (address: Address): boolean => addresses.some((other) => sameAddress(address, other));
  const less = own.filter((address) => inPool(address) && !given(address) && use.holders(namespace, address) === 1);
  const used = use.count(namespace, name) - less.length;
  if (more.length === 0 || used + more.length <= allowed) return undefined;
  return reason('QuotaReached', { pool: name, namespace, used, allowed, more: more.length, entry });
}

/** Returns the smallest quota whose selector matches the namespace's labels. Undefined means no limit. */
export function smallestQuota({ quota }: IPAddressPool, { namespaceLabels }: AllocationRequest) {
  const entries = quota.flatMap(({ namespaceSelector, addresses: allowed }, entry) =>
    selects(namespaceSelector, namespaceLabels) ? [{ allowed, entry }] : [],
  );
  return entries.toSorted((a, b) => a.allowed - b.allowed)[0];
}
