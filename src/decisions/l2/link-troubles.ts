import type { L2Advertisement } from '../../model/kinds/types.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { HostLink } from '../../net/host-link.ts';

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
 * Returns the interfaces that would carry announcements and have no carrier: those with a network, and those that an advertisement names. An
 * interface that was switched off, or never had an address, is left alone on purpose.
 */
export function linksWithoutCarrier(node: string, links: readonly HostLink[], wanted: ReadonlySet<string>): Reason[] {
  const cut = links.filter(
    (link) =>
      link.up &&
      !link.carrier &&
      !link.loopback &&
      !link.noArp &&
      link.linkAddress !== undefined &&
      link.master === undefined &&
      !link.leadsElsewhere,
  );
  return cut
    .filter(({ name, addresses }) => wanted.has(name) || addresses.some(({ network }) => network !== undefined))
    .map(({ name }) => reason('L2NoCarrier', { node, interface: name }));
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
