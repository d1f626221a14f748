import { defined } from '../../lang/defined.ts';
import { recordedPoolOf } from '../../model/objects/pool-record.ts';
import { inUseBy } from '../addresses-of-others.ts';
import { nearestRange } from './pools/nearest-range.ts';
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

/** The addresses that a Service should hold now, and why they are not the ones it asks for. */
interface RecheckResult {
  readonly holding: Holding;
  readonly reason?: Reason;
  readonly pools: readonly PoolRefusal[];
}

/**
 * Decides on a Service that holds addresses. It keeps them unless its owner asks for something else: other addresses, another pool, other
 * families, or terms under which it may not share what it holds. A replacement is found before anything is released; without one, the
 * Service keeps what it has and gets the reason. Deleting or shrinking a pool, or changing its selectors, is no such request.
 *
 * Only an address at which nodes cannot serve the Service is lost without a replacement, as in MetalLB: its owner took a port of the other
 * holder or left the common sharing key, the record gave it an address of another Service (docs/adr/0028), or the Service no longer has the
 * address's family, and so no endpoint there.
 */
export function recheckHeld(ledger: Ledger, request: AllocationRequest, held: Holding): RecheckResult {
  const result = keepOrReplace(ledger, request, held);
  if (result.reason === undefined) return result;
  const { addresses, seeking, disputed } = result.holding;
  const kept = addresses.filter((address) => hasFamilyOf(request, address) && !ledger.holdings.heldTwice(request, address));
  if (kept.length === addresses.length) return result;
  if (kept.length > 0) return keepOrReplace(ledger, request, { request, addresses: kept, seeking, disputed });
  const found = findAddresses(ledger, request);
  const none = { request, seeking: false, disputed: false };
  if ('addresses' in found) return { holding: { ...none, addresses: found.addresses }, pools: [] };
  return { holding: { ...none, addresses: [] }, reason: found.reason, pools: found.pools };
}

/** An owner who asks by annotation to keep the present addresses keeps them also without their family, as while a replacement exists. */
const hasFamilyOf = ({ families, keepsAddresses }: AllocationRequest, { family }: Address): boolean =>
  keepsAddresses || families.includes(family);

function keepOrReplace(ledger: Ledger, request: AllocationRequest, held: Holding): RecheckResult {
  const invalid = whyInvalid(request);
  const asked = held.seeking || differs(held.request, request);
  if (invalid !== undefined) return keep(held, request, { addresses: held.addresses, reason: invalid, seeking: asked });
  if (asksForOthers(ledger, request, held, asked)) return replace(ledger, request, held);
  const { addresses: wanted, lacking } = inFamilies(ledger, request, held);
  if (wanted.length === 0) return replace(ledger, request, held);
  const addresses = withKept(request, wanted, held.addresses);
  const conflict = firstConflict(ledger, request, addresses);
  if (conflict !== undefined && mustMove(ledger, request, held, addresses)) {
    const replaced = releaseDisputed(ledger, request, held) ?? replace(ledger, request, held);
    return replaced.reason === undefined ? replaced : { ...replaced, reason: conflict };
  }
  const disputed = held.disputed && conflict !== undefined;
  const why = lacking ?? (disputed ? conflict : undefined) ?? whyAddressNotInPool(ledger, request, wanted);
  return keep(held, request, { addresses, reason: why, seeking: false, disputed });
}

/** Returns a reason for the first address that another Service holds and may not share with this one. */
export function firstConflict({ holdings }: Ledger, request: AllocationRequest, addresses: readonly Address[]): Reason | undefined {
  for (const address of addresses) {
    const conflict = holdings.conflict(request, address);
    if (conflict !== undefined) return reason('AddressTaken', { address: formatAddress(address), ...conflict });
  }
  return undefined;
}

/** Returns why a kept address is not where the pools would put it now. */
export function whyAddressNotInPool({ space }: Ledger, request: AllocationRequest, addresses: readonly Address[]): Reason | undefined {
  const { requestedPool } = request;
  const gone = requestedPool === undefined ? undefined : whyPoolUnavailable(space, requestedPool);
  if (gone?.code === 'PoolNotFound') return gone;
  for (const address of addresses) {
    const pools = space.poolsOf(address);
    const pool = pools.find(({ metadata }) => metadata.name === requestedPool) ?? pools[0];
    const owner = space.ownerOf(address);
    if (owner !== undefined) {
      const isUnpooled = pool === undefined && recordedPoolOf(request, address) === undefined;
      return inUseBy(owner, address, isUnpooled ? 'unpooled' : 'held', pool?.metadata.name);
    }
    if (pool === undefined) return heldOutsidePools(space, request, address);
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

function heldOutsidePools({ pools }: AddressSpace, request: AllocationRequest, address: Address): Reason {
  const former = recordedPoolOf(request, address)?.pool;
  return reason('HeldOutsidePools', { address: formatAddress(address), ...nearestRange(pools, address), ...defined({ former }) });
}

/** Compares the parts of a request by which its owner asks for another address or decides on sharing. */
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

/** Compares the parts of a request that decide with whom the Service may share an address. */
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

/** True when this Service must move, not the other holders: it ended the sharing, or the record gave it what is not its own. */
function mustMove(ledger: Ledger, request: AllocationRequest, held: Holding, addresses: readonly Address[]): boolean {
  if (held.seeking) return true;
  if (held.disputed) return differs(held.request, request) || addresses.some((address) => ledger.holdings.heldTwice(request, address));
  return addresses.some((address) => ledger.holdings.separates(held.request, request, address));
}

function asksForOthers({ space }: Ledger, request: AllocationRequest, held: Holding, asked: boolean): boolean {
  const { requestedAddresses, requestedPool, keepsAddresses } = request;
  if (requestedAddresses.length > 0) {
    const has = (address: Address): boolean => held.addresses.some((own) => sameAddress(own, address));
    return !requestedAddresses.every(has) || (!keepsAddresses && requestedAddresses.length < held.addresses.length);
  }
  // The record does not say which pool the Service asked for. An address in another pool than the requested one may result from changed
  // pools, so only an observed change of the request counts.
  if (!asked || requestedPool === undefined) return false;
  if (!space.pools.some(({ metadata }) => metadata.name === requestedPool)) return false;
  return held.addresses.some((address) => space.poolOf(address)?.metadata.name !== requestedPool);
}

/**
 * Returns the held addresses that fit spec.ipFamilies, completed from the same pool. Empty when none fits. Another load balancer may have
 * given several of one family: they stay while the owner asks for nothing else.
 */
function inFamilies(ledger: Ledger, request: AllocationRequest, held: Holding): { addresses: readonly Address[]; lacking?: Reason } {
  const { families, policy, requestedAddresses } = request;
  if (requestedAddresses.length > 0) return { addresses: requestedAddresses };
  const wanted = policy === 'SingleStack' ? families.slice(0, 1) : families;
  const kept = wanted.flatMap((family) => {
    const [first, ...others] = held.addresses.filter((address) => address.family === family);
    return first === undefined ? [] : [first, ...others.filter((address) => staysBeside(ledger, request, held, address))];
  });
  const [first] = kept;
  const missing = wanted.filter((family) => kept.every((address) => address.family !== family));
  if (first === undefined || missing.length === 0) return { addresses: kept };
  const [pool] = ledger.space.poolsOf(first);
  const refused = pool === undefined ? heldOutsidePools(ledger.space, request, first) : whyNotFrom(ledger.space, pool, request);
  const picked = pool === undefined || refused !== undefined ? undefined : pick(ledger, pool, missing, request, held.addresses);
  if (picked !== undefined && 'addresses' in picked) {
    const all = [...kept, ...picked.addresses];
    return { addresses: wanted.flatMap((family) => all.filter((address) => address.family === family)) };
  }
  const lacking = policy === 'RequireDualStack' ? (refused ?? picked?.reason) : undefined;
  return lacking === undefined ? { addresses: kept } : { addresses: kept, lacking };
}

/** True when a further address of a family stays without a request: nothing that the owner asks for replaces it. */
function staysBeside({ space }: Ledger, request: AllocationRequest, held: Holding, address: Address): boolean {
  const { requestedPool, keepsAddresses, requestedAddresses } = held.request;
  const asksAnew =
    requestedPool !== request.requestedPool ||
    keepsAddresses !== request.keepsAddresses ||
    !sameSet(requestedAddresses, request.requestedAddresses);
  if (request.keepsAddresses || held.seeking || asksAnew) return false;
  return request.requestedPool === undefined || space.poolOf(address)?.metadata.name === request.requestedPool;
}

function whyNotFrom(space: AddressSpace, pool: IPAddressPool, request: AllocationRequest): Reason | undefined {
  return whyPoolUnavailable(space, pool.metadata.name) ?? whyPoolRefuses(pool, request) ?? whyPoolGivesNoMore(pool);
}

/** Puts requested addresses first, so that the others are known when they need not be kept any longer. */
function withKept({ keepsAddresses }: AllocationRequest, wanted: readonly Address[], held: readonly Address[]): readonly Address[] {
  if (!keepsAddresses) return wanted;
  return [...wanted, ...held.filter((own) => !wanted.some((address) => sameAddress(own, address)))];
}

/** Releases only the disputed addresses, and replaces them from the same pool. Undefined when that is not possible. */
function releaseDisputed(ledger: Ledger, request: AllocationRequest, held: Holding): RecheckResult | undefined {
  if (held.seeking || differs(held.request, request) || request.requestedAddresses.length > 0) return undefined;
  const own = held.addresses.filter((address) => ledger.holdings.conflict(request, address) === undefined);
  const { addresses, lacking } = inFamilies(ledger, request, { ...held, addresses: own });
  if (addresses.length === 0 || lacking !== undefined) return undefined;
  const why = whyAddressNotInPool(ledger, request, addresses);
  return keep(held, request, { addresses: withKept(request, addresses, own), reason: why, seeking: false, disputed: false });
}

function replace(ledger: Ledger, request: AllocationRequest, held: Holding): RecheckResult {
  const found = findAddresses(ledger, request);
  if ('addresses' in found) {
    // An address that the Service may no longer share, after a change of its own, cannot be kept.
    const keepable = held.addresses.filter((address) => ledger.holdings.conflict(request, address) === undefined);
    const addresses = withKept(request, found.addresses, keepable);
    if (addresses.length > limits.ingress)
      return keep(held, request, {
        addresses: held.addresses,
        reason: reason('TooManyAddresses', { most: limits.ingress }),
        seeking: true,
      });
    return { holding: { request, addresses, seeking: false, disputed: false }, pools: [] };
  }
  return keep(held, request, { addresses: held.addresses, reason: found.reason, seeking: true, pools: found.pools });
}

interface Kept {
  readonly addresses: readonly Address[];
  readonly reason: Reason | undefined;
  readonly seeking: boolean;
  /** Default: as the Service holds them. */
  readonly disputed?: boolean;
  readonly pools?: readonly PoolRefusal[];
}

function keep(held: Holding, request: AllocationRequest, { addresses, reason, seeking, disputed, pools = [] }: Kept): RecheckResult {
  const isDisputed = disputed ?? held.disputed;
  const holding = {
    request,
    addresses,
    seeking,
    disputed: isDisputed,
    ...(isDisputed && held.yields === true ? { yields: true as const } : {}),
  };
  return reason === undefined ? { holding, pools } : { holding, reason, pools };
}

function sameSet(a: readonly Address[], b: readonly Address[]): boolean {
  return a.length === b.length && a.every((one) => b.some((other) => sameAddress(one, other)));
}
