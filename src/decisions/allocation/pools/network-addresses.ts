import type { Snapshot } from '../../../model/store/snapshot.ts';
import { formatAddress, type Address } from '../../../net/address.ts';
import { containsAddress } from './pools.ts';

/** Addresses of pools that Nodes and routers have themselves, by their text, each with the object and field that says so. */
export type NetworkAddresses = ReadonlyMap<string, { readonly address: Address; readonly of: string }>;

/**
 * Returns the InternalIPs of Nodes and the addresses of BGPPeers that a pool contains. With such an address a Service would take the Node or
 * the router off the network, so no pool gives it. Addresses outside all pools are left out: they change nothing.
 */
export function networkAddressesIn({ pools, nodes, peers }: Pick<Snapshot, 'pools' | 'nodes' | 'peers'>): NetworkAddresses {
  const ofNodes = [...nodes].flatMap(([node, { internalIPs }]) =>
    internalIPs.map((address) => ({ address, of: `the InternalIP of node "${node}"` })),
  );
  const ofPeers = [...peers].flatMap(([peer, { peerAddress }]) =>
    peerAddress === undefined ? [] : [{ address: peerAddress, of: `spec.peerAddress of BGPPeer "${peer}"` }],
  );
  const all = [...pools.values()];
  return new Map(
    [...ofNodes, ...ofPeers]
      .filter(({ address }) => all.some((pool) => containsAddress(pool, address)))
      .map((one) => [formatAddress(one.address), one] as const)
      // The last one wins in a map, and the first by name is to be reported.
      .toSorted(([, a], [, b]) => (a.of < b.of ? 1 : -1)),
  );
}

export const sameNetworkAddresses = (a: NetworkAddresses, b: NetworkAddresses): boolean =>
  a.size === b.size && [...a].every(([text, { of }]) => b.get(text)?.of === of);
