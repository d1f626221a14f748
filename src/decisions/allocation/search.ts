import { defined } from '../../lang/defined.ts';
import { compareAddresses, formatAddress, type Address, type Family } from '../../net/address.ts';
import { limits } from '../../model/limits.ts';
import type { IPAddressPool } from '../../model/kinds/types.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { holderToRelease } from './holder-to-release.ts';
import { addressesOf } from './ledger/holdings.ts';
import { keptForAnother, type Ledger } from './ledger/ledger.ts';
import { inOrderOfTrial, whyPoolGivesNoMore, whyPoolRefuses } from './pools/pool-eligibility.ts';
import { whyPoolUnavailable } from './pools/address-space.ts';
import type { PoolRefusal } from './pools/pools.ts';
import { whyOverQuota } from './ledger/quota.ts';
import type { AllocationRequest } from './request.ts';
import { summaryOf } from './pools/nearest-pool.ts';
import { whyInvalid, whyNotRequested } from './requested-addresses.ts';

type Found = { readonly addresses: readonly Address[] } | { readonly reason: Reason; readonly pools: readonly PoolRefusal[] };

/** Finds addresses for a request: those it names, otherwise all from one pool, the requested pool or any. */
export function findAddresses(ledger: Ledger, request: AllocationRequest): Found {
  const { requestedAddresses: named } = request;
  // A Service that is being deleted keeps its addresses, because clients may still use them, and gets no new ones.
  const no =
    (request.deleting === true ? reason('BeingDeleted', undefined) : undefined) ??
    whyInvalid(request) ??
    (named.length === 0 ? undefined : whyNotRequested(ledger, request));
  if (no !== undefined) return { reason: no, pools: [] };
  if (named.length > 0) return { addresses: named };
  const candidates = candidatePools(ledger, request);
  if (candidates.length === 0) {
    const { requestedPool } = request;
    const named = requestedPool === undefined ? undefined : whyPoolUnavailable(ledger.space, requestedPool);
    if (named !== undefined) return { reason: named, pools: [] };
    const refusals = refusedPools(ledger, request);
    return { reason: summaryOf(refusals), pools: refusals };
  }
  const refusals = new Map<string, Reason>();
  for (const pool of candidates) {
    const no = whyNotCandidate(ledger, pool, request);
    if (no !== undefined) refusals.set(pool.metadata.name, no);
  }
  const eligible = candidates.filter(({ metadata }) => !refusals.has(metadata.name));
  for (const group of inGroupsOfPreference(ledger, eligible, request)) {
    for (const families of familiesInOrder(request)) {
      for (const pool of group) {
        const picked = pick(ledger, pool, families, request);
        if ('addresses' in picked) return picked;
        const before = refusals.get(pool.metadata.name);
        // A pool of one family may still give that one to a Service that prefers two: then what keeps it from that is the reason.
        if (before === undefined || (before.code === 'PoolHasNoFamily' && picked.reason.code !== 'PoolHasNoFamily'))
          refusals.set(pool.metadata.name, picked.reason);
      }
    }
  }
  const refused = candidates.flatMap(({ metadata: { name } }): PoolRefusal[] => {
    const why = refusals.get(name);
    return why === undefined ? [] : [{ pool: name, reason: why }];
  });
  if (request.requestedPool === undefined) refused.push(...refusedPools(ledger, request));
  return { reason: summaryOf(refused), pools: refused };
}

/** Why each refused pool gives nothing: it is for others, or it would serve the Service if it were not refused. */
function refusedPools({ space }: Ledger, request: AllocationRequest): PoolRefusal[] {
  return space.refused.map(({ pool, reason: because }) => ({ pool: pool.metadata.name, reason: whyPoolRefuses(pool, request) ?? because }));
}

/** Returns for each pool, in the order of trial, why it would not give an address; no reason when it would. */
export function surveyPools(ledger: Ledger, request: AllocationRequest): { readonly pool: string; readonly reason?: Reason }[] {
  const tried = inOrderOfTrial(ledger.space.pools).map((pool) => {
    const why = whyPoolWouldNotGive(ledger, pool, request);
    return why === undefined ? { pool: pool.metadata.name } : { pool: pool.metadata.name, reason: why };
  });
  return [...tried, ...refusedPools(ledger, request)];
}

/**
 * Picks addresses of each family from one pool: one that the Service has there already, at least on record; else one kept for it; else
 * one it may share, with the others of its holders; else the lowest free one. `beside` are addresses that the Service holds and keeps as well.
 */
export function pick(
  ledger: Ledger,
  pool: IPAddressPool,
  families: readonly Family[],
  request: AllocationRequest,
  beside: readonly Address[] = [],
): { readonly addresses: readonly Address[] } | { readonly reason: Reason } {
  const { space, holdings } = ledger;
  const { name } = pool.metadata;
  const absent = families.filter((family) => !space.hasFamily(name, family));
  if (absent.length > 0)
    return { reason: reason('PoolHasNoFamily', { pool: name, families: absent.map((family) => `IPv${family}`).join(' and ') }) };
  const found = families.map((family) => {
    const fits = (address: Address): boolean =>
      address.family === family &&
      space.poolOf(address)?.metadata.name === name &&
      space.ownerOf(address) === undefined &&
      holdings.conflict(request, address) === undefined &&
      keptForAnother(ledger, request, address) === undefined;
    const own = addressesOf(holdings.holdingOf(request.service)).find(fits) ?? ledger.reservations.addressesFor(request.service).find(fits);
    const shared = own === undefined ? holdings.ofGroup(request).find(fits) : undefined;
    if (shared !== undefined) return { family, addresses: heldWith(ledger, shared).filter(fits) };
    const address = own ?? space.lowestFree(name, family);
    return { family, addresses: address === undefined ? [] : [address] };
  });
  const addresses = found.flatMap(({ addresses }) => addresses);
  const full = found.flatMap(({ family, addresses }) => (addresses.length === 0 ? [family] : []));
  if (full.length > 0) return { reason: whyFull(ledger, pool, request, full, [...beside, ...addresses]) };
  const over = whyOverQuota(ledger, pool, request, [...beside, ...addresses]);
  return over === undefined ? { addresses } : { reason: over };
}

/** Returns a held address and those that the same Services hold as well, so that a Service that joins them is where they are. */
function heldWith({ holdings }: Ledger, address: Address): readonly Address[] {
  const all = holdings.holdersOf(address).flatMap((holder) => addressesOf(holdings.holdingOf(holder)));
  const byText = new Map([address, ...all.toSorted(compareAddresses)].map((one) => [formatAddress(one), one]));
  return [...byText.values()].slice(0, limits.ingress / 2);
}

/** `full`: the families of which the pool has no address. `others`: addresses that the Service would hold beside one of these families. */
function whyFull(
  ledger: Ledger,
  pool: IPAddressPool,
  request: AllocationRequest,
  full: readonly Family[],
  others: readonly Address[],
): Reason {
  const { name } = pool.metadata;
  const [family = 4] = full;
  const { total } = ledger.space.usage(name, family);
  const holder = holderToRelease(ledger, pool, request, full, others);
  const kept = holder === undefined || pool.keepReleasedSeconds === 0 ? undefined : pool.keepReleasedSeconds;
  const shared = whyNotJoined(ledger, name, family, request);
  return reason('PoolFull', { pool: name, family: `IPv${family}`, total: String(total), ...defined({ shared, holder, kept }) });
}

/** Returns why the Service cannot join an address of the pool that Services hold under its own sharing key. Undefined: they hold none. */
function whyNotJoined({ space, holdings }: Ledger, pool: string, family: Family, request: AllocationRequest): string | undefined {
  for (const address of holdings.ofGroup(request)) {
    if (address.family !== family || space.poolOf(address)?.metadata.name !== pool) continue;
    const conflict = holdings.conflict(request, address);
    if (conflict !== undefined) return `${formatAddress(address)} of the same sharing key is held by ${conflict.by}: ${conflict.why}`;
  }
  return undefined;
}

/** Returns the candidate pools in the order of trial, the current pool first, so that the Service moves as little as possible. */
function candidatePools({ space, holdings }: Ledger, request: AllocationRequest): IPAddressPool[] {
  const ordered = inOrderOfTrial(space.pools);
  if (request.requestedPool !== undefined) return ordered.filter(({ metadata }) => metadata.name === request.requestedPool);
  const [held] = addressesOf(holdings.holdingOf(request.service));
  const current = held === undefined ? undefined : space.poolOf(held);
  return current === undefined ? ordered : [current, ...ordered.filter((pool) => pool !== current)];
}

/**
 * Splits eligible pools into groups. A later group gives only what no pool of an earlier one can give, not even with fewer families:
 * addresses kept for the Service first, then pools with serviceAllocation, then the others. So a Service whose own pool lacks a family does
 * not get its addresses from a pool for everybody, which may be public. MetalLB decides the same (docs/adr/0028).
 */
function inGroupsOfPreference(ledger: Ledger, eligible: readonly IPAddressPool[], request: AllocationRequest): IPAddressPool[][] {
  const groups: [IPAddressPool[], IPAddressPool[], IPAddressPool[]] = [[], [], []];
  for (const pool of eligible) {
    const keeps = reservedIn(ledger, pool, request).length > 0;
    groups[keeps ? 0 : pool.serviceAllocation !== undefined ? 1 : 2].push(pool);
  }
  return groups;
}

/** A reservation counts as a request for the pool. */
function whyNotCandidate(ledger: Ledger, pool: IPAddressPool, request: AllocationRequest): Reason | undefined {
  const { name } = pool.metadata;
  const { requestedPool } = request;
  if (requestedPool !== undefined && requestedPool !== name) return reason('PoolNotRequested', { pool: name, requested: requestedPool });
  const refusal = whyPoolRefuses(pool, request);
  if (refusal !== undefined) return refusal;
  const automatic = pool.autoAssign || reservedIn(ledger, pool, request).length > 0;
  if (requestedPool === undefined && !automatic) return reason('PoolNotAutoAssigned', { pool: name });
  return whyPoolGivesNoMore(pool);
}

function reservedIn({ space, reservations }: Ledger, pool: IPAddressPool, { service, families }: AllocationRequest): Address[] {
  return reservations.addressesFor(service).filter((address) => families.includes(address.family) && space.poolOf(address) === pool);
}

/** Returns the family sets to look for, best first. PreferDualStack accepts one, the primary first, if no pool has both. */
function familiesInOrder({ families, policy }: AllocationRequest): (readonly Family[])[] {
  if (families.length < 2 || policy === 'RequireDualStack') return [families];
  if (policy === 'SingleStack') return [families.slice(0, 1)];
  return [families, ...families.map((family) => [family])];
}

function whyPoolWouldNotGive(ledger: Ledger, pool: IPAddressPool, request: AllocationRequest): Reason | undefined {
  const { name } = pool.metadata;
  const invalid = whyInvalid(request);
  if (invalid !== undefined) return invalid;
  if (request.requestedAddresses.length > 0) {
    const pools = request.requestedAddresses.map((address) => ledger.space.poolOf(address)?.metadata.name);
    const elsewhere = pools.find((other) => other !== undefined && other !== name);
    if (elsewhere !== undefined && !pools.includes(name)) return reason('PoolNotRequested', { pool: name, requested: elsewhere });
    return whyNotRequested(ledger, request);
  }
  const no = whyNotCandidate(ledger, pool, request);
  if (no !== undefined) return no;
  let why: Reason | undefined;
  for (const families of familiesInOrder(request)) {
    const picked = pick(ledger, pool, families, request);
    if ('addresses' in picked) return undefined;
    why ??= picked.reason;
  }
  return why;
}
