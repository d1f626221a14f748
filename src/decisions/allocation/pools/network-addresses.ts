import type { Snapshot } from '../../../model/store/snapshot.ts';
import { formatAddress, type Address } from '../../../net/address.ts';
import { containsAddress } from './pools.ts';

/** An address that a Node or a router has itself, and so no Service can have. */
export interface NetworkAddress {
  readonly kind: 'Node' | 'BGPPeer';
  readonly name: string;
  readonly address: Address;
}

/** Lists the InternalIPs of Nodes and the addresses of BGPPeers: by kind, then by name. */
export function networkAddresses({ nodes, peers }: Pick<Snapshot, 'nodes' | 'peers'>): NetworkAddress[] {
  const ofNodes = [...nodes].flatMap(([name, { internalIPs }]) => internalIPs.map((address) => ({ kind: 'Node' as const, name, address })));
  const ofPeers = [...peers].flatMap(([name, { peerAddress }]) =>
    peerAddress === undefined ? [] : [{ kind: 'BGPPeer' as const, name, address: peerAddress }],
  );
  const byName = (a: NetworkAddress, b: NetworkAddress): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
  return [...ofNodes.toSorted(byName), ...ofPeers.toSorted(byName)];
}

/** Addresses of pools that Nodes and routers have themselves, by their text, each with the object and field that says so. */
export type NetworkAddresses = ReadonlyMap<string, { readonly address: Address; readonly of: string }>;

/**
 * Returns the network addresses that a pool contains. With such an address a Service would take the Node or the router off the network, so
 * no pool gives it. Addresses outside all pools are left out: they change nothing.
 */
export function networkAddressesIn(snapshot: Pick<Snapshot, 'pools' | 'nodes' | 'peers'>): NetworkAddresses {
  const pools = [...snapshot.pools.values()];
  const held = networkAddresses(snapshot).filter(({ address }) => pools.some((pool) => containsAddress(pool, address)));
  // The last one wins in a map, and the first is to be reported.
  return new Map(held.toReversed().map(({ kind, name, address }) => [formatAddress(address), { address, of: fieldOf[kind](name) }]));
}

const fieldOf = {
  Node: (name: string) => `the InternalIP of node "${name}"`,
  BGPPeer: (name: string) => `spec.peerAddress of BGPPeer "${name}"`,
};

export const sameNetworkAddresses = (a: NetworkAddresses, b: NetworkAddresses): boolean =>
  a.size === b.size && [...a].every(([text, { of }]) => b.get(text)?.of === of);
