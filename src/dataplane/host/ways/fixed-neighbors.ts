import { formatAddress, type Address } from '../../../net/address.ts';
import type { WrongNeighbor } from '../../../net/endpoint-way.ts';
import type { Answer, Request } from '../../../system/netlink/connection.ts';
import { readLink as readWholeLink, type KernelLink } from '../../../system/netlink/link-messages.ts';
import { linkQuestion, readLink } from '../path-messages.ts';

/** An entry of the table of neighbours that the kernel does not check: somebody has set its link-layer address, or the interface asks nobody. */
export interface FixedNeighbor {
  readonly index: number;
  readonly address: Address;
  readonly linkAddress: string;
}

/** Returns the answers in the order of the requests. */
type Ask = (requests: readonly Request[]) => Promise<readonly Answer[]>;

/**
 * Finds out which of these entries lead to no machine: by the other ends of virtual cables, which only a process with NET_ADMIN in their network
 * namespaces may see. Behind an interface of hardware, or a bridge with a port of hardware, nobody knows who has an address.
 */
export async function findWrongNeighbors(
  ask: Ask,
  links: readonly KernelLink[],
  neighbors: readonly FixedNeighbor[],
): Promise<ReadonlyMap<FixedNeighbor, WrongNeighbor>> {
  const wrong = new Map<FixedNeighbor, WrongNeighbor>();
  for (const [index, ofLink] of Map.groupBy(neighbors, (one) => one.index)) {
    const link = links.find((one) => one.index === index);
    const present = link === undefined ? undefined : await addressesBehind(ask, links, link);
    if (link === undefined || present === undefined) continue;
    for (const neighbor of ofLink) if (!present.has(neighbor.linkAddress)) wrong.set(neighbor, describe(link, neighbor, present));
  }
  return wrong;
}

function describe({ name, noArp }: KernelLink, { address, linkAddress }: FixedNeighbor, present: ReadonlySet<string>): WrongNeighbor {
  const text = formatAddress(address);
  const [only = ''] = present;
  const behind = present.size === 1 ? `what is behind ${name} has ${only}` : `no machine behind ${name} has it`;
  if (noArp)
    return {
      why: `ARP is off on ${name}, so frames for ${text} go to ${linkAddress}, and ${behind}`,
      remedy: `ip link set dev ${name} arp on`,
    };
  return {
    why: `the neighbour entry of ${text} on ${name} is set to ${linkAddress}, and ${behind}`,
    remedy: `ip neigh del ${text} dev ${name}`,
  };
}

/** Returns the link-layer addresses of all machines behind an interface. Undefined: they are not known. */
async function addressesBehind(ask: Ask, links: readonly KernelLink[], link: KernelLink): Promise<ReadonlySet<string> | undefined> {
  const ports = link.kind === 'bridge' ? links.filter(({ master }) => master === link.index) : [link];
  if (ports.length === 0 || ports.some(({ kind, leadsElsewhere }) => kind !== 'veth' || !leadsElsewhere)) return undefined;
  const near = (await ask(ports.map(({ index }) => linkQuestion({ index })))).map(({ payloads: [payload] }) =>
    payload === undefined ? undefined : readLink(payload)?.far,
  );
  const places = near.flatMap((far) => far ?? []);
  if (places.length < ports.length) return undefined;
  const far = (await ask(places.map(linkQuestion))).map(({ payloads: [payload] }) =>
    payload === undefined ? undefined : readWholeLink(payload),
  );
  // Behind a bridge in the other namespace there may be more machines.
  const known = far.flatMap((one) => (one?.linkAddress === undefined || one.master !== undefined ? [] : one.linkAddress));
  return known.length < ports.length ? undefined : new Set(known);
}
