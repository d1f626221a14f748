import type { NodeLink } from '../../model/objects/node-state.ts';
import { formatAddress, isLinkLocal } from '../../net/address.ts';
import type { HostLink } from '../../net/host-link.ts';
import { formatPrefix } from '../../net/prefix.ts';

/**
 * Returns the links on which this node can announce addresses by ARP and NDP, as its report lists them. A port of a bridge, bond or team is
 * none, because the interface above it receives its frames; nor is an interface that leads to a pod, unless an advertisement names it. Names
 * in `wanted` are those that advertisements name.
 */
export function eligibleLinks(links: readonly HostLink[], wanted: ReadonlySet<string>): NodeLink[] {
  return links.flatMap((link): NodeLink[] =>
    link.linkAddress === undefined || whyNotEligible(link, wanted) !== undefined
      ? []
      : [{ name: link.name, linkAddress: link.linkAddress, networks: networksOf(link), addresses: addressesOf(link) }],
  );
}

/** Says why nothing is announced on an interface, for the sentence "eth0 is ...". Undefined: it can be. */
export function whyNotEligible(link: HostLink, wanted: ReadonlySet<string>): string | undefined {
  if (link.loopback) return 'a loopback interface';
  if (link.linkAddress === undefined || link.noArp) return 'without ARP';
  if (!link.up) return 'down';
  if (!link.carrier) return 'without carrier';
  if (link.master !== undefined) return `a port of ${link.master}: name ${link.master} instead`;
  // An ipvlan device shares the link-layer address of its parent, which gets the frames.
  if (link.kind === 'ipvlan') return 'an ipvlan device, which has no link-layer address of its own';
  if (link.leadsElsewhere && !wanted.has(link.name) && networksOf(link).length === 0) return 'the cable to a pod';
  return undefined;
}

function networksOf({ addresses }: HostLink): NodeLink['networks'] {
  const networks = addresses.flatMap(({ address, network }) => (network === undefined || isLinkLocal(address) ? [] : [network]));
  return [...new Map(networks.map((network) => [formatPrefix(network), network])).values()];
}

function addressesOf({ addresses }: HostLink): NodeLink['addresses'] {
  const all = [...new Map(addresses.map(({ address }) => [formatAddress(address), address])).values()];
  return [...all.filter((address) => !isLinkLocal(address)), ...all.filter(isLinkLocal)];
}
