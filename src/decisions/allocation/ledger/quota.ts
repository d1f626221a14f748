import { formatAddress, sameAddress, type Address } from '../../../net/address.ts';
import type { IPAddressPool } from '../../../model/kinds/types.ts';
import { reason, type Reason } from '../../../model/reasons.ts';
import { selects } from '../../../model/objects/label-selector.ts';
import { addressesOf } from './holdings.ts';
import type { Ledger } from './ledger.ts';
import type { AllocationRequest } from '../request.ts';

/** How many addresses of each pool the Services of a namespace hold. One that several of them share counts once. */
export interface NamespaceUse {
  add(namespace: string, address: Address): void;
  remove(namespace: string, address: Address): void;
  /** How many Services of the namespace hold the address. */
  holders(namespace: string, address: Address): number;
  count(namespace: string, pool: string): number;
}

export function createNamespaceUse(poolOf: (address: Address) => string | undefined): NamespaceUse {
  const holders = new Map<string, number>();
  const counts = new Map<string, number>();
  const change = (map: Map<string, number>, key: string, by: 1 | -1): number => {
    const after = (map.get(key) ?? 0) + by;
    if (after === 0) map.delete(key);
    else map.set(key, after);
    return after;
  };
  const held = (namespace: string, address: Address): string => `${namespace}/${formatAddress(address)}`;
  const countIn = (namespace: string, address: Address, by: 1 | -1): void => {
    const pool = poolOf(address);
    if (pool !== undefined) change(counts, `${namespace}/${pool}`, by);
  };
  return {
    add(namespace, address) {
      if (change(holders, held(namespace, address), 1) === 1) countIn(namespace, address, 1);
    },
    remove(namespace, address) {
      if (change(holders, held(namespace, address), -1) === 0) countIn(namespace, address, -1);
    },
    holders: (namespace, address) => holders.get(held(namespace, address)) ?? 0,
    count: (namespace, pool) => counts.get(`${namespace}/${pool}`) ?? 0,
  };
}

/** Why a Service that would hold `addresses`, and nothing else, would exceed what the pool allows its namespace; undefined: it would not. */
export function whyOverQuota(
  { space, holdings, use }: Ledger,
  pool: IPAddressPool,
  request: AllocationRequest,
  addresses: readonly Address[],
): Reason | undefined {
  const { namespace } = request;
  const { name } = pool.metadata;
  const allowed = quotaOf(pool, request);
  if (allowed === undefined) return undefined;
  const own = addressesOf(holdings.get(request.service));
  const inPool = (address: Address): boolean => space.poolOf(address)?.metadata.name === name;
  const more = addresses.filter((address) => inPool(address) && use.holders(namespace, address) === 0);
  const given = (address: Address): boolean => addresses.some((other) => sameAddress(address, other));
  const less = own.filter((address) => inPool(address) && !given(address) && use.holders(namespace, address) === 1);
  const used = use.count(namespace, name) - less.length;
  if (more.length === 0 || used + more.length <= allowed) return undefined;
  return reason('QuotaReached', { pool: name, namespace, used, allowed });
}

/** The least that a selector of the namespace's labels allows it; undefined: as many as there are. */
export function quotaOf({ quota }: IPAddressPool, { namespaceLabels }: AllocationRequest): number | undefined {
  const allowed = quota.filter(({ namespaceSelector }) => selects(namespaceSelector, namespaceLabels)).map(({ addresses }) => addresses);
  return allowed.length === 0 ? undefined : Math.min(...allowed);
}
