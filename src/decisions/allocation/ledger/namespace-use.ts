import { formatAddress, type Address } from '../../../net/address.ts';

/** Counts how many addresses of each pool the Services of a namespace hold. An address that several of them share counts once. */
export interface NamespaceUse {
  countHolder(namespace: string, address: Address): void;
  uncountHolder(namespace: string, address: Address): void;
  /** Returns how many Services of the namespace hold the address. */
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
    countHolder(namespace, address) {
      if (change(holders, held(namespace, address), 1) === 1) countIn(namespace, address, 1);
    },
    uncountHolder(namespace, address) {
      if (change(holders, held(namespace, address), -1) === 0) countIn(namespace, address, -1);
    },
    holders: (namespace, address) => holders.get(held(namespace, address)) ?? 0,
    count: (namespace, pool) => counts.get(`${namespace}/${pool}`) ?? 0,
  };
}
