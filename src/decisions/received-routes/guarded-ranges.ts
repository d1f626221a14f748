import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress, type Address } from '../../net/address.ts';
import { isHostPrefix, prefixContains, type Prefix } from '../../net/prefix.ts';
import { podRanges, serviceRanges, type UsedRange } from '../addresses-of-others.ts';
import { peersOfNode } from '../announcement/peers.ts';

/** Destinations whose traffic no received route may capture. */
export interface GuardedDestinations {
  /** Pods and ClusterIPs. No route inside one is taken; a route that contains one is. */
  readonly ranges: readonly Pick<UsedRange, 'prefix' | 'from'>[];
  /** The addresses of the node's BGP peers, as text, with the name of the BGPPeer. No received route is used for them. */
  readonly peers: ReadonlyMap<string, string>;
}

export function guardedDestinations(snapshot: Snapshot, node: string): GuardedDestinations {
  const peers = peersOfNode(snapshot, node).flatMap(({ peer }) => {
    const address = snapshot.peers.get(peer)?.peerAddress;
    return address === undefined ? [] : [[formatAddress(address), peer] as const];
  });
  return { ranges: [...podRanges(snapshot), ...serviceRanges(snapshot)], peers: new Map(peers) };
}

/** Returns the range that contains the whole prefix. */
export function guardedRangeOf(
  { ranges }: GuardedDestinations,
  { address, length }: Prefix,
): GuardedDestinations['ranges'][number] | undefined {
  return ranges.find(
    ({ prefix }) => prefix.address.family === address.family && prefix.length <= length && prefixContains(prefix, address),
  );
}

/** Returns the BGPPeer whose address the route is. */
export function guardedPeerOf({ peers }: GuardedDestinations, prefix: Prefix): string | undefined {
  return isHostPrefix(prefix) ? peers.get(formatAddress(prefix.address)) : undefined;
}

/** A network that an interface of the node is connected to. */
export interface ConnectedNetwork {
  readonly interface: string;
  readonly prefix: Prefix;
}

/** Returns the interface whose network contains the address. Of several networks the longest counts, as in the kernel. */
export function interfaceTo(networks: readonly ConnectedNetwork[], address: Address): string | undefined {
  let best: ConnectedNetwork | undefined;
  for (const network of networks) {
    if (network.prefix.address.family !== address.family || !prefixContains(network.prefix, address)) continue;
    if (best === undefined || network.prefix.length > best.prefix.length) best = network;
  }
  return best?.interface;
}
