import type { DirectReturnMode } from '../../model/kinds/types.ts';
import type { DirectReturnReport } from '../../model/objects/node-state.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { bitsOf, formatAddress, parseAddressLeniently, sameAddress, type Address, type Family } from '../../net/address.ts';
import { pathKinds, tunnelOverhead, type PathKind } from '../../net/direct-return.ts';
import type { HostFilter } from '../../net/host-filter.ts';
import { formatPrefix, maskedPrefix, type Prefix } from '../../net/prefix.ts';
import type { HostInterface } from '../../system/host.ts';
import { dropsUntracked } from '../host/filters.ts';

/** The host facts that direct server return depends on. */
export interface DirectReturnFacts {
  /** The addresses by which others reach the node: the first InternalIP of each family. */
  readonly addresses: readonly Address[];
  readonly interfaces: readonly HostInterface[];
  /** Interfaces and tunnels whose reverse-path filter is effectively strict. */
  readonly strict: ReadonlySet<string>;
  /** MTU of each interface in octets. Absent when unknown. */
  readonly mtu: ReadonlyMap<string, number>;
  /** Other programs' filters for forwarded packets. */
  readonly filters: readonly HostFilter[];
  /** Why the kernel does not support a path kind. Absent when it does. */
  readonly lacks: Readonly<Partial<Record<PathKind, string>>>;
}

/** Names of the tunnels that the data plane makes, one for each family. */
export const tunnelNames: Readonly<Record<Family, string>> = { 4: 'herald-vx4', 6: 'herald-vx6' };

/** The MTU that every link must carry (RFC 791, RFC 8200 section 5). A tunnel with less is useless. */
const leastMtu = { 4: 576, 6: 1280 } as const;

export interface Preflight {
  readonly report: DirectReturnReport;
  /** Why the node does not support all that the mode could use. */
  readonly reasons: readonly Reason[];
}

/** Decides what a node supports of direct server return in this mode, and why not more. Pure. */
export function directReturnPreflight(mode: DirectReturnMode, facts: DirectReturnFacts): Preflight {
  const reasons: Reason[] = [];
  const wants = (way: PathKind): boolean => mode === 'auto' || mode === way;
  const links = linksOf(facts);
  const names = [...new Set(links.map(({ name }) => name))].toSorted();
  const onLink = links.length > 0;
  const mtus = [...new Set(ownInterfaces(facts).map(({ name }) => name))].flatMap((name) => facts.mtu.get(name) ?? []);
  const strict = names.filter((name) => facts.strict.has(name));
  if (!onLink && (mode === 'l2' || mode === 'route')) {
    reasons.push(reason('DirectReturnNotOnLink', { addresses: facts.addresses.map(formatAddress).join(', ') || 'the node', mode }));
  }
  if (mode !== 'vxlan') for (const name of strict) reasons.push(reason('DirectReturnStrictSource', { interface: name }));
  const filtered = facts.filters.filter(dropsUntracked).map(({ family, table, chain }) => `${chain} of table ${family} ${table}`);
  for (const chain of filtered) reasons.push(reason('DirectReturnFiltered', { chain }));
  for (const way of pathKinds) {
    const error = facts.lacks[way];
    if (error !== undefined && wants(way)) reasons.push(reason('DirectReturnUnsupported', { mode: way, error }));
  }
  const tunnel = wants('vxlan') && facts.lacks.vxlan === undefined && roomInTunnel(facts, reasons);
  const strictTunnel = Object.values(tunnelNames).filter((name) => facts.strict.has(name));
  if (tunnel) for (const name of strictTunnel) reasons.push(reason('DirectReturnStrictSource', { interface: name }));
  const can: Readonly<Record<PathKind, boolean>> = {
    l2: onLink && facts.lacks.l2 === undefined,
    route: onLink && filtered.length === 0 && facts.lacks.route === undefined,
    vxlan: tunnel && filtered.length === 0,
  };
  return {
    report: {
      receives: [
        ...(mode !== 'vxlan' && onLink && strict.length === 0 ? (['link'] as const) : []),
        ...(tunnel && strictTunnel.length === 0 ? (['vxlan'] as const) : []),
      ],
      // Mode l2 passes fragments on by route, where there is one.
      passes: pathKinds.filter((way) => (wants(way) || (mode === 'l2' && way === 'route')) && can[way]),
      networks: unique(links.map(({ network }) => network)),
      linkAddresses: [...new Set(facts.interfaces.flatMap(({ linkAddress }) => (isReal(linkAddress) ? [linkAddress] : [])))].toSorted(),
      interfaces: names,
      ...(mtus.length === 0 ? {} : { mtu: Math.min(...mtus) }),
    },
    reasons,
  };
}

/** Returns the interfaces with an address of the node, each with that address as `own`. */
function ownInterfaces({ addresses, interfaces }: DirectReturnFacts) {
  return interfaces.flatMap((each) => {
    const address = parseAddressLeniently(each.address);
    const own = address.ok ? addresses.find((candidate) => sameAddress(candidate, address.value)) : undefined;
    return own === undefined ? [] : [{ ...each, own }];
  });
}

/** Returns the interfaces with the node's own addresses whose network has room for others. */
function linksOf(facts: DirectReturnFacts) {
  return ownInterfaces(facts).flatMap(({ name, own, length }) =>
    length === bitsOf(own.family) ? [] : [{ name, network: maskedPrefix(own, length) }],
  );
}

/** True when packets of a useful size fit into the tunnels. Unknown sizes are accepted. */
function roomInTunnel(facts: DirectReturnFacts, reasons: Reason[]): boolean {
  let fits = true;
  for (const { name, own } of ownInterfaces(facts)) {
    const octets = facts.mtu.get(name);
    const needed = leastMtu[own.family] + tunnelOverhead[own.family];
    if (octets === undefined || octets >= needed) continue;
    reasons.push(reason('DirectReturnSmallPackets', { interface: name, mtu: octets, needed }));
    fits = false;
  }
  return fits;
}

function isReal(linkAddress: string | undefined): linkAddress is string {
  return linkAddress !== undefined && linkAddress !== '00:00:00:00:00:00';
}

function unique(prefixes: readonly Prefix[]): Prefix[] {
  return [...new Map(prefixes.map((prefix) => [formatPrefix(prefix), prefix])).values()];
}
