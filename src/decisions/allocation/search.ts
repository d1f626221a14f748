import { formatAddress, sameAddress, type Address, type Family } from '../../net/address.ts';
import type { IPAddressPool } from '../../model/configuration.ts';
import { reason, says, type Reason } from '../../model/reasons.ts';
import { isBuggy, type AddressSpace } from './address-space.ts';
import type { Holdings } from './holdings.ts';
import { inOrderOfTrial, whyPoolRefuses } from './pool-eligibility.ts';
import { containsAddress, type RefusedPool } from './pools.ts';
import type { AllocationRequest } from './request.ts';

/** What the search looks at: the pools and who holds what. It changes neither. */
export interface Ledger {
  readonly space: AddressSpace;
  readonly holdings: Holdings;
}

export interface PoolRefusal {
  readonly pool: string;
  readonly reason: Reason;
}

export type Found = { readonly addresses: readonly Address[] } | { readonly reason: Reason; readonly pools: readonly PoolRefusal[] };

/** Finds addresses for a request: those it names, else all from one pool, the one it names or any. */
export function findAddresses(ledger: Ledger, request: AllocationRequest): Found {
  const invalid = whyInvalid(request);
  if (invalid !== undefined) return { reason: invalid, pools: [] };
  if (request.requestedAddresses.length > 0) return findRequested(ledger, request);
  const { pools } = ledger.space;
  const candidates = candidatePools(ledger, request);
  if (candidates.length === 0) {
    const { requestedPool } = request;
    const refusals = ledger.space.refused.map(refusalOf);
    const named = requestedPool === undefined ? undefined : whyNotThere(ledger.space, requestedPool);
    return { reason: named ?? refusals[0]?.reason ?? reason('NoPools', undefined), pools: named === undefined ? refusals : [] };
  }
  const refusals = new Map<string, Reason>();
  const eligible = candidates.filter((pool) => {
    const no = whyNotCandidate(pool, request);
    if (no !== undefined) refusals.set(pool.metadata.name, no);
    return no === undefined;
  });
  for (const families of familiesInOrder(request)) {
    for (const pool of eligible) {
      const picked = pick(ledger, pool, families, request);
      if ('addresses' in picked) return picked;
      if (!refusals.has(pool.metadata.name)) refusals.set(pool.metadata.name, picked.reason);
    }
  }
  const refused = candidates.flatMap(({ metadata: { name } }): PoolRefusal[] => {
    const why = refusals.get(name);
    return why === undefined ? [] : [{ pool: name, reason: why }];
  });
  if (request.requestedPool === undefined) refused.push(...ledger.space.refused.map(refusalOf));
  const [only, ...others] = refused;
  // With one pool in question its own reason says more than "no pool fits".
  const summary = only !== undefined && others.length === 0 ? only.reason : reason('NoPoolFits', { pools: pools.length });
  return { reason: summary, pools: refused };
}

/** Pool by pool in the order of trial, why it would not give; without a reason it would. */
export function surveyPools(ledger: Ledger, request: AllocationRequest): { readonly pool: string; readonly reason?: Reason }[] {
  const tried = inOrderOfTrial(ledger.space.pools).map((pool) => {
    const why = whyPoolWouldNotGive(ledger, pool, request);
    return why === undefined ? { pool: pool.metadata.name } : { pool: pool.metadata.name, reason: why };
  });
  return [...tried, ...ledger.space.refused.map(refusalOf)];
}

/** Why nothing can be had from the pool of this name whatever is asked: there is none, or it gives nothing; undefined: it gives. */
export function whyNotThere(space: AddressSpace, pool: string): Reason | undefined {
  if (space.pools.some(({ metadata }) => metadata.name === pool)) return undefined;
  const refused = space.refused.find(({ pool: { metadata } }) => metadata.name === pool);
  return refused === undefined ? reason('PoolNotFound', { pool }) : refusalOf(refused).reason;
}

function refusalOf({ pool, reason: because }: RefusedPool): PoolRefusal {
  const { name } = pool.metadata;
  return { pool: name, reason: reason('PoolRefused', { pool: name, because: says(because) }) };
}

/** One address of each family from one pool: what the Service has there, else one it may share, else a free one. */
export function pick(
  { space, holdings }: Ledger,
  pool: IPAddressPool,
  families: readonly Family[],
  request: AllocationRequest,
): { readonly addresses: readonly Address[] } | { readonly reason: Reason } {
  const { name } = pool.metadata;
  const fits = (family: Family) => (address: Address) =>
    address.family === family && space.poolOf(address)?.metadata.name === name && holdings.conflict(request, address) === undefined;
  const addresses: Address[] = [];
  const absent = families.filter((family) => !space.hasFamily(name, family));
  if (absent.length > 0)
    return { reason: reason('PoolHasNoFamily', { pool: name, families: absent.map((family) => `IPv${family}`).join(' and ') }) };
  for (const family of families) {
    const address =
      holdings.get(request.service)?.addresses.find(fits(family)) ??
      holdings.ofGroup(request).find(fits(family)) ??
      space.lowestFree(name, family);
    if (address === undefined) {
      const { total } = space.usage(name, family);
      return { reason: reason('PoolFull', { pool: name, family: `IPv${family}`, total: String(total) }) };
    }
    addresses.push(address);
  }
  return { addresses };
}

/** Why the request cannot be met by any pools at all; undefined where it can be understood. */
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

function findRequested(ledger: Ledger, request: AllocationRequest): Found {
  const { requestedAddresses: addresses } = request;
  for (const address of addresses) {
    const why = whyNotThisAddress(ledger, request, address);
    if (why !== undefined) return { reason: why, pools: [] };
  }
  return { addresses };
}

function whyNotThisAddress({ space, holdings }: Ledger, request: AllocationRequest, address: Address): Reason | undefined {
  const text = formatAddress(address);
  const conflict = holdings.conflict(request, address);
  const taken = conflict === undefined ? undefined : reason('AddressTaken', { address: text, ...conflict });
  // To keep what it holds beside something new is no question to the pools.
  if (holdings.get(request.service)?.addresses.some((own) => sameAddress(own, address)) === true) return taken;
  const pool = space.poolOf(address);
  const { requestedPool } = request;
  const gone = requestedPool === undefined ? undefined : whyNotThere(space, requestedPool);
  if (gone !== undefined) return gone;
  const refusedPool = space.refused.find((refused) => containsAddress(refused.pool, address));
  if (pool === undefined) return refusedPool === undefined ? reason('AddressNotInPools', { address: text }) : refusalOf(refusedPool).reason;
  const { name } = pool.metadata;
  if (requestedPool !== undefined && name !== requestedPool) {
    return reason('AddressInOtherPool', { address: text, pool: name, requested: requestedPool });
  }
  const refused = whyPoolRefuses(pool, request);
  if (refused !== undefined) return refused;
  if (pool.avoidBuggyIPs && isBuggy(address)) return reason('AddressAvoided', { pool: name, address: text });
  return taken;
}

/** The pools in question in the order of trial, the one that the Service is in first, so that it moves as little as can be. */
function candidatePools({ space, holdings }: Ledger, request: AllocationRequest): IPAddressPool[] {
  const ordered = inOrderOfTrial(space.pools);
  if (request.requestedPool !== undefined) return ordered.filter(({ metadata }) => metadata.name === request.requestedPool);
  const [held] = holdings.get(request.service)?.addresses ?? [];
  const current = held === undefined ? undefined : space.poolOf(held);
  return current === undefined ? ordered : [current, ...ordered.filter((pool) => pool !== current)];
}

function whyNotCandidate(pool: IPAddressPool, request: AllocationRequest): Reason | undefined {
  const { name } = pool.metadata;
  const { requestedPool } = request;
  if (requestedPool !== undefined && requestedPool !== name) return reason('PoolNotRequested', { pool: name, requested: requestedPool });
  if (requestedPool === undefined && !pool.autoAssign) return reason('PoolNotAutoAssigned', { pool: name });
  return whyPoolRefuses(pool, request);
}

/** What to look for, best first. PreferDualStack takes one family where no pool has both: the primary, else the other. */
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
    const found = findRequested(ledger, request);
    return 'reason' in found ? found.reason : undefined;
  }
  const no = whyNotCandidate(pool, request);
  if (no !== undefined) return no;
  let why: Reason | undefined;
  for (const families of familiesInOrder(request)) {
    const picked = pick(ledger, pool, families, request);
    if ('addresses' in picked) return undefined;
    why ??= picked.reason;
  }
  return why;
}
