import type { L2Advertisement } from '../../model/kinds/types.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { isLinkLocal, type Address } from '../../net/address.ts';
import type { HostLink } from '../../net/host-link.ts';
import { formatPrefix, parsePrefix, prefixContains } from '../../net/prefix.ts';
import { whyNotEligible } from './eligible-links.ts';

/** BOND_MODE_ALB of linux/if_bonding.h. */
const balanceAlb = 6;

/** True if an L2Advertisement wants every frame of its interfaces. */
export function isPromiscuous(advertisements: Iterable<Pick<L2Advertisement, 'promiscuous'>>): boolean {
  return [...advertisements].some(({ promiscuous }) => promiscuous);
}

/** Returns why addresses that a node announces on an interface may not reach every client: it is Wi-Fi, or a bond that changes ARP replies. */
export function linkTroubles(node: string, name: string, links: readonly HostLink[], promiscuous: boolean): Reason[] {
  return carriersOf(name, links).flatMap(({ name: carrier, wireless = false, bondMode }) => [
    ...(wireless && !promiscuous ? [reason('L2Wireless', { node, interface: carrier })] : []),
    ...(bondMode === balanceAlb ? [reason('L2BondRewrites', { node, interface: carrier })] : []),
  ]);
}

/**
 * Returns the interfaces that would carry announcements and have no carrier: those with a network, and those in `needed`, which advertisements name or
 * which have an address of the Node. An interface that was switched off is left alone on purpose.
 */
export function linksWithoutCarrier(node: string, links: readonly HostLink[], needed: ReadonlySet<string>): Reason[] {
  return links.flatMap((link) => {
    const { name, linkAddress, carrier, addresses } = link;
    if (carrier || linkAddress === undefined || whyNotEligible({ ...link, carrier: true }, links, needed) !== undefined) return [];
    const networks = addresses.flatMap(({ network }) =>
      network === undefined || isLinkLocal(network.address) ? [] : [formatPrefix(network)],
    );
    if (networks.length === 0 && !needed.has(name)) return [];
    return [reason('L2NoCarrier', { node, interface: name, networks: [...new Set(networks)].slice(0, namedNetworks).join(', ') })];
  });
}

/** Networks that a reason names. */
const namedNetworks = 8;

/** Returns the report of a lost carrier on an interface on which the address would be announced. Undefined: there is none. */
export function lostCarrier(
  host: readonly Reason[] | undefined,
  advertisements: readonly Pick<L2Advertisement, 'interfaces'>[],
  address: Address,
): Reason | undefined {
  return host?.find(({ code, details }) => {
    if (code !== 'L2NoCarrier') return false;
    if (advertisements.some(({ interfaces }) => interfaces.includes(details.interface))) return true;
    const networks = details.networks.split(', ').flatMap((text) => {
      const read = parsePrefix(text);
      return read.ok ? [read.value] : [];
    });
    return advertisements.some(({ interfaces }) => interfaces.length === 0) && networks.some((network) => prefixContains(network, address));
  });
}

/** Returns the interfaces by which the frames of one leave the host: itself, the one below a VLAN or macvlan device, and its ports. */
function carriersOf(name: string, links: readonly HostLink[]): HostLink[] {
  const names = new Set([name]);
  // A set also visits what is added meanwhile.
  for (const above of names) {
    const one = links.find((link) => link.name === above);
    if (one?.parent !== undefined && one.kind !== 'veth') names.add(one.parent);
    for (const { master, name: port } of links) if (master === above) names.add(port);
  }
  return links.filter((link) => names.has(link.name));
}
