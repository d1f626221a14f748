import type { NodeLink } from '../../model/objects/node-state.ts';
import { formatAddress, isLinkLocal, sameAddress, type Address } from '../../net/address.ts';
import type { HostLink } from '../../net/host-link.ts';
import { formatPrefix } from '../../net/prefix.ts';
import { tunnelNames } from '../direct-return/preflight.ts';

/**
 * Returns the links on which this node can announce addresses by ARP and NDP, as its report lists them. A port of a bridge, bond or team is
 * none, because the interface above it receives its frames. Nor is an interface that leads only to pods or virtual machines of this host,
 * unless an advertisement names it or the Node has an address on it. Names in `wanted` are those that advertisements name.
 */
export function eligibleLinks(links: readonly HostLink[], wanted: ReadonlySet<string>, nodeAddresses: readonly Address[]): NodeLink[] {
  const needed = wanted.union(new Set(uplinksWith(links, nodeAddresses)));
  return links.flatMap((link): NodeLink[] =>
    link.linkAddress === undefined || whyNotEligible(link, links, needed) !== undefined
      ? []
      : [{ name: link.name, linkAddress: link.linkAddress, networks: networksOf(link), addresses: addressesOf(link) }],
  );
}

/** Returns the names of the interfaces that have an address of the Node. */
export function uplinksWith(links: readonly HostLink[], nodeAddresses: readonly Address[]): string[] {
  const uplinks = links.filter(({ addresses }) => addresses.some(({ address }) => nodeAddresses.some((own) => sameAddress(own, address))));
  return uplinks.map(({ name }) => name);
}

/** Says why nothing is announced on an interface, for the sentence "eth0 is ...". Undefined: it can be. Those in `needed` may lead to pods. */
export function whyNotEligible(link: HostLink, links: readonly HostLink[], needed: ReadonlySet<string>): string | undefined {
  if (link.loopback) return 'a loopback interface';
  if (link.linkAddress === undefined || link.noArp) return 'without ARP';
  if (!link.up) return 'down';
  if (!link.carrier) return 'without carrier';
  if (link.master !== undefined) return `a port of ${link.master}: name ${link.master} instead`;
  // An ipvlan device shares the link-layer address of its parent, which gets the frames.
  if (link.kind === 'ipvlan') return 'an ipvlan device, which has no link-layer address of its own';
  if (Object.values(tunnelNames).includes(link.name)) return "Herald's own tunnel between nodes";
  if (needed.has(link.name)) return undefined;
  if (link.leadsElsewhere && networksOf(link).length === 0) return 'the cable to a pod';
  if (link.kind === 'bridge' && !links.some((port) => port.master === link.name && leadsOut(port)))
    return 'a bridge that connects only pods or virtual machines of this host';
  return undefined;
}

/** False for the cable to a pod, and for the interface of a virtual machine. */
function leadsOut({ leadsElsewhere, kind }: HostLink): boolean {
  return !leadsElsewhere && kind !== 'tun';
}

function networksOf({ addresses }: HostLink): NodeLink['networks'] {
  const networks = addresses.flatMap(({ address, network }) => (network === undefined || isLinkLocal(address) ? [] : [network]));
  return [...new Map(networks.map((network) => [formatPrefix(network), network])).values()];
}

function addressesOf({ addresses }: HostLink): NodeLink['addresses'] {
  const all = [...new Map(addresses.map(({ address }) => [formatAddress(address), address])).values()];
  return [...all.filter((address) => !isLinkLocal(address)), ...all.filter(isLinkLocal)];
}
