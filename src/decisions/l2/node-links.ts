import type { L2Advertisement } from '../../model/kinds/types.ts';
import type { NodeLink } from '../../model/objects/node-state.ts';
import { formatAddress, type Address } from '../../net/address.ts';
import { formatPrefix, prefixContains } from '../../net/prefix.ts';

/**
 * Returns the links on which a node announces an address: those that the advertisements name, and the one whose network contains the
 * address if an advertisement names none. `advertisements` are those that select the node.
 */
export function linksFor(
  advertisements: readonly Pick<L2Advertisement, 'interfaces'>[],
  links: readonly NodeLink[],
  address: Address,
): readonly NodeLink[] {
  const named = new Set(advertisements.flatMap(({ interfaces }) => interfaces));
  const covering = advertisements.some(({ interfaces }) => interfaces.length === 0) ? coveringLink(links, address) : undefined;
  return links.filter((link) => link === covering || named.has(link.name));
}

/** Returns the link with the longest network that contains the address; of equal ones the first by name. */
function coveringLink(links: readonly NodeLink[], address: Address): NodeLink | undefined {
  const lengthOn = ({ networks }: NodeLink): number =>
    Math.max(-1, ...networks.filter((network) => prefixContains(network, address)).map(({ length }) => length));
  const [best] = links
    .map((link) => ({ link, length: lengthOn(link) }))
    .filter(({ length }) => length >= 0)
    .toSorted((a, b) => b.length - a.length || (a.link.name < b.link.name ? -1 : 1));
  return best?.link;
}

/** Says which interface an address needs, for a reason: "no interface eth7, and no network contains 192.0.2.9". */
export function wantedText(advertisements: readonly Pick<L2Advertisement, 'interfaces'>[], address: Address): string {
  const named = [...new Set(advertisements.flatMap(({ interfaces }) => interfaces))].toSorted();
  const parts = [
    ...(named.length === 0 ? [] : [`no interface ${named.join(', ')} is up`]),
    ...(advertisements.some(({ interfaces }) => interfaces.length === 0)
      ? [`no network of its interfaces contains ${formatAddress(address)}`]
      : []),
  ];
  return parts.join(', and ');
}

/** "eth0 (192.0.2.0/24), eth1 (2001:db8::/64)", or "none". */
export function linksText(links: readonly NodeLink[]): string {
  if (links.length === 0) return 'none';
  return links
    .map(({ name, networks }) => (networks.length === 0 ? name : `${name} (${networks.map(formatPrefix).join(', ')})`))
    .join(', ');
}
