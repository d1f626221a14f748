import { defined } from '../../lang/defined.ts';
import { poolsOf } from '../../decisions/allocation/pools/pools.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { ReleasedAddress } from '../../model/parse/released-address.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { parseAddress } from '../../net/address.ts';
import { expectedAddresses, type AllocationExplanation } from './allocation.ts';

/**
 * Adds the addresses that a Service without an address would get if a controller started with exactly these objects, as `herald plan` does.
 * For manifests, which no controller serves yet.
 */
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
