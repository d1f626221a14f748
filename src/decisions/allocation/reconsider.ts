import { formatAddress, sameAddress, type Address } from '../../net/address.ts';
import { limits } from '../../model/limits.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { IPAddressPool } from '../../model/kinds/types.ts';
import { whyPoolUnavailable, type AddressSpace } from './pools/address-space.ts';
import type { Holding } from './ledger/holdings.ts';
import type { Ledger } from './ledger/ledger.ts';
import { whyPoolGivesNoMore, whyPoolRefuses } from './pools/pool-eligibility.ts';
import { type PoolRefusal } from './pools/pools.ts';
import type { AllocationRequest } from './request.ts';
import { whyInvalid } from './requested-addresses.ts';
import { findAddresses, pick } from './search.ts';

/** What a Service should hold: what it has, more, less, or something else, and why not what it asks for. */
interface Reconsidered {
  readonly holding: Holding;
  readonly reason?: Reason;
  readonly pools: readonly PoolRefusal[];
}

/**
 * Decides on a Service that holds addresses. It keeps them unless its owner asks for something else: other addresses,
 * another pool, other families, or terms under which it may not share what it holds. Then the replacement is found first;
 * where there is none, it keeps what it has and is told why. A pool that was deleted, shrunk or fenced off is no such ask.
 */
export function reconsider(ledger: Ledger, request: AllocationRequest, held: Holding): Reconsidered {
  const invalid = whyInvalid(request);
  const asked = held.seeking || differs(held.request, request);
  if (invalid !== undefined) return keep(held, request, held.addresses, invalid, { seeking: asked });
  if (asksForOthers(ledger, request, held, asked)) return replace(ledger, request, held);
  const { addresses: wanted, lacking } = inFamilies(ledger, request, held);
  if (wanted.length === 0) return replace(ledger, request, held);
  const addresses = withKept(request, wanted, held.addresses);
  const conflict = firstConflict(ledger, request, addresses);
  if (conflict !== undefined && mustGo(ledger, request, held, addresses)) {
    const replaced = giveWay(ledger, request, held) ?? replace(ledger, request, held);
    return replaced.reason === undefined ? replaced : { ...replaced, reason: conflict };
  }
  const disputed = held.disputed && conflict !== undefined;
  const why = lacking ?? (disputed ? conflict : undefined) ?? whyOutOfPlace(ledger, request, wanted);
  return keep(held, request, addresses, why, { seeking: false, disputed });
}

/** The first address that another Service holds and may not share with this one. */
export function firstConflict({ holdings }: Ledger, request: AllocationRequest, addresses: readonly Address[]): Reason | undefined {
  for (const address of addresses) {
    const conflict = holdings.conflict(request, address);
    if (conflict !== undefined) return reason('AddressTaken', { address: formatAddress(address), ...conflict });
  }
  return undefined;
}

/** Why what a Service keeps is not where pools would have put it. */
export function whyOutOfPlace({ space }: Ledger, request: AllocationRequest, addresses: readonly Address[]): Reason | undefined {
  const { requestedPool } = request;
  const gone = requestedPool === undefined ? undefined : whyPoolUnavailable(space, requestedPool);
  if (gone?.code === 'PoolNotFound') return gone;
  for (const address of addresses) {
    const pools = space.poolsOf(address);
    const pool = pools.find(({ metadata }) => metadata.name === requestedPool) ?? pools[0];
    if (pool === undefined) return reason('HeldOutsidePools', { address: formatAddress(address) });
    const { name } = pool.metadata;
    if (requestedPool !== undefined && requestedPool !== name) {
      if (gone !== undefined) return gone;
      return reason('AddressInOtherPool', { address: formatAddress(address), pool: name, requested: requestedPool });
    }
    const refused = whyPoolRefuses(pool, request);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

/** The parts of a request that its owner writes to get another address, or that decide with whom it may share one. */
export function differs(a: AllocationRequest, b: AllocationRequest): boolean {
  return (
    a.requestedPool !== b.requestedPool ||
    a.policy !== b.policy ||
    a.keepsAddresses !== b.keepsAddresses ||
    a.families.join() !== b.families.join() ||
    !sameSet(a.requestedAddresses, b.requestedAddresses) ||
    termsDiffer(a, b)
  );
}

/** The part of a request that decides with whom it may share an address. */
export function termsDiffer(a: AllocationRequest, b: AllocationRequest): boolean {
  const ports = (request: AllocationRequest): string =>
    request.ports
      .map(({ protocol, port }) => `${protocol} ${port}`)
      .sort()
      .join();
  return (
    a.sharingKey !== b.sharingKey ||
    a.sharingNamespaces.join() !== b.sharingNamespaces.join() ||
    a.externalTrafficPolicy !== b.externalTrafficPolicy ||
    (a.externalTrafficPolicy === 'Local' && a.selectorText !== b.selectorText) ||
    ports(a) !== ports(b)
  );
}

/**
 * Whether it is for this Service to go, and not for the others: it may no longer share what it holds because of a change of its own; or the record gave
 * it what another one has, to which it was never meant to come.
 */
function mustGo(ledger: Ledger, request: AllocationRequest, held: Holding, addresses: readonly Address[]): boolean {
  if (held.seeking) return true;
  if (held.disputed) return differs(held.request, request) || addresses.some((address) => ledger.holdings.heldTwice(request, address));
  return addresses.some((address) => ledger.holdings.parts(held.request, request, address));
}

function asksForOthers({ space }: Ledger, request: AllocationRequest, held: Holding, asked: boolean): boolean {
  const { requestedAddresses, requestedPool, keepsAddresses } = request;
  if (requestedAddresses.length > 0) {
    const has = (address: Address): boolean => held.addresses.some((own) => sameAddress(own, address));
    return !requestedAddresses.every(has) || (!keepsAddresses && requestedAddresses.length < held.addresses.length);
  }
  // The record does not say which pool was asked for when the address was given. That it is in another one than the Service
  // names may be the work of whoever cut the pools anew, so only a request that was seen to change counts.
  if (!asked || requestedPool === undefined) return false;
  if (!space.pools.some(({ metadata }) => metadata.name === requestedPool)) return false;
  return held.addresses.some((address) => space.poolOf(address)?.metadata.name !== requestedPool);
}

/** What remains of the held addresses under spec.ipFamilies, completed from the same pool. Empty: none of them fits. */
function inFamilies(ledger: Ledger, request: AllocationRequest, held: Holding): { addresses: readonly Address[]; lacking?: Reason } {
  const { families, policy, requestedAddresses } = request;
  if (requestedAddresses.length > 0) return { addresses: requestedAddresses };
  const wanted = policy === 'SingleStack' ? families.slice(0, 1) : families;
  const kept = wanted.flatMap((family) => held.addresses.find((address) => address.family === family) ?? []);
  const [first] = kept;
  if (first === undefined || kept.length === wanted.length) return { addresses: kept };
  const missing = wanted.filter((family) => kept.every((address) => address.family !== family));
  const [pool] = ledger.space.poolsOf(first);
  const refused =
    pool === undefined ? reason('HeldOutsidePools', { address: formatAddress(first) }) : whyNotFrom(ledger.space, pool, request);
  const picked = pool === undefined || refused !== undefined ? undefined : pick(ledger, pool, missing, request, held.addresses);
  if (picked !== undefined && 'addresses' in picked) {
    const all = [...kept, ...picked.addresses];
    return { addresses: wanted.flatMap((family) => all.find((address) => address.family === family) ?? []) };
  }
  const lacking = policy === 'RequireDualStack' ? (refused ?? picked?.reason) : undefined;
  return lacking === undefined ? { addresses: kept } : { addresses: kept, lacking };
}

function whyNotFrom(space: AddressSpace, pool: IPAddressPool, request: AllocationRequest): Reason | undefined {
  return whyPoolUnavailable(space, pool.metadata.name) ?? whyPoolRefuses(pool, request) ?? whyPoolGivesNoMore(pool);
}

/** Those that it asks for come first: by them the others are known as soon as they need not be kept. */
function withKept({ keepsAddresses }: AllocationRequest, wanted: readonly Address[], held: readonly Address[]): readonly Address[] {
  if (!keepsAddresses) return wanted;
  return [...wanted, ...held.filter((own) => !wanted.some((address) => sameAddress(own, address)))];
}

/**
 * Of what a record has of two, only what the other one has must go: the rest stays, and what is lacking then comes from the same pool. Undefined: so it
 * cannot be.
 */
function giveWay(ledger: Ledger, request: AllocationRequest, held: Holding): Reconsidered | undefined {
  if (held.seeking || differs(held.request, request) || request.requestedAddresses.length > 0) return undefined;
  const own = held.addresses.filter((address) => ledger.holdings.conflict(request, address) === undefined);
  const { addresses, lacking } = inFamilies(ledger, request, { ...held, addresses: own });
  if (addresses.length === 0 || lacking !== undefined) return undefined;
  const why = whyOutOfPlace(ledger, request, addresses);
  return keep(held, request, withKept(request, addresses, own), why, { seeking: false, disputed: false });
}

function replace(ledger: Ledger, request: AllocationRequest, held: Holding): Reconsidered {
  const found = findAddresses(ledger, request);
  if ('addresses' in found) {
    // What it may share no longer by a change of its own cannot stay, whatever it would like to keep.
    const keepable = held.addresses.filter((address) => ledger.holdings.conflict(request, address) === undefined);
    const addresses = withKept(request, found.addresses, keepable);
    if (addresses.length > limits.ingress)
      return keep(held, request, held.addresses, reason('TooManyAddresses', { most: limits.ingress }), { seeking: true });
    return { holding: { request, addresses, seeking: false, disputed: false }, pools: [] };
  }
  return keep(held, request, held.addresses, found.reason, { seeking: true }, found.pools);
}

function keep(
  held: Holding,
  request: AllocationRequest,
  addresses: readonly Address[],
  reason: Reason | undefined,
  { seeking, disputed }: { readonly seeking: boolean; readonly disputed?: boolean },
  pools: readonly PoolRefusal[] = [],
): Reconsidered {
  const holding = { request, addresses, seeking, disputed: disputed ?? held.disputed };
  return reason === undefined ? { holding, pools } : { holding, reason, pools };
}

function sameSet(a: readonly Address[], b: readonly Address[]): boolean {
  return a.length === b.length && a.every((one) => b.some((other) => sameAddress(one, other)));
}
