import type { Family } from '../../net/address.ts';
import type { NodeForwarding } from '../../net/frontend.ts';
import { comparePrefixes, formatPrefix, type Prefix } from '../../net/prefix.ts';
import type { Snapshot } from '../../model/snapshot.ts';

/** What a node's forwarding needs to know beside the Services. Without a Node object it takes no NodePort traffic. */
export function nodeForwarding(snapshot: Snapshot, nodeName: string): NodeForwarding {
  const { podCIDRs, serviceCIDRs, masqueradeBit } = snapshot.config;
  const internalIPs = snapshot.nodes.get(nodeName)?.internalIPs ?? [];
  const families: readonly Family[] = [4, 6];
  return {
    // kube-proxy's --nodeport-addresses=primary, the default of its nftables mode.
    nodePortAddresses: families.flatMap((family) => internalIPs.find((address) => address.family === family) ?? []),
    podPrefixes: sortedSet(podCIDRs.length > 0 ? podCIDRs : [...snapshot.nodes.values()].flatMap((node) => node.podCIDRs)),
    servicePrefixes: sortedSet(serviceCIDRs),
    masqueradeBit,
  };
}

function sortedSet(prefixes: readonly Prefix[]): Prefix[] {
  const unique = new Map(prefixes.map((prefix) => [formatPrefix(prefix), prefix]));
  return [...unique.values()].sort(comparePrefixes);
}
