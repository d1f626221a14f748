import { formatAddress, type Address } from '../../../net/address.ts';

export type NamespaceUse = ReturnType<typeof createNamespaceUse>;

/** Counts how many addresses of each pool the Services of a namespace hold. An address that several of them share counts once. */
export function createNamespaceUse(poolOf: (address: Address) => string | undefined) {
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
    countHolder(namespace: string, address: Address): void {
      if (change(holders, held(namespace, address), 1) === 1) countIn(namespace, address, 1);
    },
    uncountHolder(namespace: string, address: Address): void {
      if (change(holders, held(namespace, address), -1) === 0) countIn(namespace, address, -1);
    },
    /** Returns how many Services of the namespace hold the address. */
    holders: (namespace: string, address: Address) => holders.get(held(namespace, address)) ?? 0,
    count: (namespace: string, pool: string) => counts.get(`${namespace}/${pool}`) ?? 0,
  };
}
