import type { HostLink } from '../../net/host-link.ts';

/** Bounds the way down: a bond of ports with VLANs has three steps. */
const maximumDepth = 8;

/**
 * Returns the ways by which packets come in by the interface, each with every interface whose own chains see them, the lowest first: of a bond
 * each port with a carrier, of a VLAN or macvlan the interface below it. Ports of a bridge that lead to pods are left out.
 */
export function entryDevices(links: readonly HostLink[], entry: string, depth = 0): string[][] {
  const ports = links.filter(({ master, carrier, leadsElsewhere }) => master === entry && carrier && !leadsElsewhere);
  const { kind, parent } = links.find(({ name }) => name === entry) ?? {};
  const below = ports.length > 0 ? ports.map(({ name }) => name) : parent !== undefined && kind !== 'veth' ? [parent] : [];
  if (below.length === 0 || depth === maximumDepth) return [[entry]];
  return below.flatMap((name) => entryDevices(links, name, depth + 1)).map((way) => [...way, entry]);
}
