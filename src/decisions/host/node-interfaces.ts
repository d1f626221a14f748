import type { InterfaceAddress, NodeInterface } from '../../model/objects/node-state.ts';
import { bitsOf, isLinkLocal } from '../../net/address.ts';
import type { HostLink } from '../../net/host-link.ts';
import { prefix, prefixContains } from '../../net/prefix.ts';

/**
 * Interfaces that hold ClusterIPs and addresses of Services, which belong to these: of kube-proxy in mode ipvs, NodeLocal DNSCache, kube-router
 * and PureLB.
 */
export const servedElsewhere: ReadonlySet<string> = new Set(['kube-ipvs0', 'nodelocaldns', 'kube-dummy-if', 'kube-lb0']);

/** The same on every host (RFC 1122 3.2.1.3, RFC 3927, RFC 4291 2.5.3). */
const ofEveryHost = [prefix('127.0.0.0/8'), prefix('169.254.0.0/16'), prefix('::1/128')];

/** Returns the interfaces with the addresses that are this host's own, in the order given. */
export function nodeInterfaces(links: readonly HostLink[]): NodeInterface[] {
  return links.flatMap(({ name, addresses }): NodeInterface[] => {
    const own = servedElsewhere.has(name) ? [] : addresses.flatMap(ownAddress);
    // Programs of a node serve addresses of Services on its loopback interface. Those by which others know the node are in the Node.
    const counted = name === 'lo' ? own.filter(({ address, length }) => length < bitsOf(address.family)) : own;
    return counted.length === 0 ? [] : [{ name, addresses: counted }];
  });
}

function ownAddress({ address, network }: HostLink['addresses'][number]): InterfaceAddress[] {
  if (isLinkLocal(address) || ofEveryHost.some((range) => prefixContains(range, address))) return [];
  return [{ address, length: network?.length ?? bitsOf(address.family) }];
}
