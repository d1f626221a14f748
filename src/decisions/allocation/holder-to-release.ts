import type { Address, Family } from '../../net/address.ts';
import type { IPAddressPool } from '../../model/kinds/types.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { holds, type Ledger } from './ledger/ledger.ts';
import type { Holding } from './ledger/holdings.ts';
import { whyOverQuota } from './ledger/quota.ts';
import type { SoleAddress } from './ledger/sole-holders.ts';
import { isBuggy } from './pools/address-space.ts';
import type { AllocationRequest } from './request.ts';

/**
 * Returns the first Service by name of the request's namespace whose release would let the request have what the pool lacks: addresses of
 * the families in `full`, or of one of them if the request accepts one. Undefined when there is none. `others`: addresses that the request
 * would hold as well. A Service of another namespace is never named: the answer stands in a condition that the owner of the waiting Service
 * reads.
 */
export function holderToRelease(
  ledger: Ledger,
  pool: IPAddressPool,
  request: AllocationRequest,
  full: readonly Family[],
  others: readonly Address[],
): ServiceKey | undefined {
  const choices = request.policy === 'RequireDualStack' ? [full] : full.map((family) => [family]);
  for (const families of choices) {
    const holder = holderOf(ledger, pool, request, families, others);
    if (holder !== undefined) return holder;
  }
  return undefined;
}

function holderOf(
  ledger: Ledger,
  pool: IPAddressPool,
  request: AllocationRequest,
  families: readonly Family[],
  others: readonly Address[],
): ServiceKey | undefined {
  const { name } = pool.metadata;
  const { namespace } = request;
  const holder = ledger.soles.first({ namespace, pool: name, families }, request.service);
  if (holder === undefined) return undefined;
  const released = (ledger.holdings.holdingOf(holder)?.addresses ?? []).filter((one) => ledger.space.poolOf(one)?.metadata.name === name);
  const gained = families.flatMap((family) => released.find((one) => one.family === family && isHeldAlone(ledger, one)) ?? []);
  return whyOverQuota(withoutHolder(ledger, holder, released), pool, request, [...others, ...gained]) === undefined ? holder : undefined;
}

/** Returns the addresses that the Service alone holds and that its pool would assign again after its release. */
export function soleAddresses(ledger: Ledger, holding: Holding | undefined): SoleAddress[] {
  // A Service that is being deleted releases its addresses without being told to.
  if (holding === undefined || holding.request.deleting === true) return [];
  return holding.addresses.flatMap((address) => {
    const pool = ledger.space.poolOf(address);
    return pool === undefined || !isHeldAlone(ledger, address) ? [] : [{ pool: pool.metadata.name, family: address.family }];
  });
}

function isHeldAlone({ space, holdings, reservations }: Ledger, address: Address): boolean {
  const isAvoided = space.poolOf(address)?.avoidBuggyIPs === true && isBuggy(address);
  return !isAvoided && reservations.ownerOf(address) === undefined && holdings.holdersOf(address).length === 1;
}

/** Returns the ledger as quotas see it after the release of addresses of one pool. */
function withoutHolder(ledger: Ledger, holder: ServiceKey, released: readonly Address[]): Ledger {
  const { use } = ledger;
  const holders = (namespace: string, address: Address): number =>
    use.holders(namespace, address) - (holds(ledger, holder, address) ? 1 : 0);
  const count = (namespace: string, pool: string): number =>
    use.count(namespace, pool) - released.filter((address) => use.holders(namespace, address) === 1).length;
  return { ...ledger, use: { ...use, holders, count } };
}
