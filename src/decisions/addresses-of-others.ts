import type { ServiceKey } from '../model/objects/metadata.ts';
import type { InterfaceAddress, NodeState } from '../model/objects/node-state.ts';
import { reason, type Reason } from '../model/reasons.ts';
import type { Snapshot } from '../model/store/snapshot.ts';
import { BasisMemo, basisOf } from '../model/store/versioned-map.ts';
import { bitsOf, formatAddress, sameAddress, type Address } from '../net/address.ts';
import { formatPrefix, hostPrefix, lastAddress, maskedPrefix, type Prefix } from '../net/prefix.ts';
import { PrefixTable } from './prefix-table.ts';

/** What an address, or all addresses of a prefix, belong to. */
export interface AddressOwner {
  /** The kind and name of the object that says so. */
  readonly kind: 'Node' | 'BGPPeer' | 'Service' | 'ServiceCIDR' | 'HeraldConfig';
  readonly name: string;
  readonly prefix: Prefix;
  /** Completes "the address is ...": 'the InternalIP of node "n1"'. */
  readonly of: string;
  /** The network, broadcast or routers' anycast address of a link: a pool may contain it, and only leaves it out. */
  readonly isOfLink?: true;
  /** An address of an interface without a network around it. */
  readonly isAlone?: true;
}

/** An address that a Node or a router has itself. */
export type NetworkAddress = AddressOwner & { readonly kind: 'Node' | 'BGPPeer' };

/** A range that the cluster uses, and the object and field that say so. */
export interface UsedRange extends Pick<AddressOwner, 'kind' | 'name' | 'prefix'> {
  readonly from: string;
}

/** Addresses that belong to something else than a load balancer, by the objects of one moment. Immutable. */
export class AddressesOfOthers {
  /** Owners of single addresses, by the text of the address. Of several owners of one address, the first counts. */
  readonly hosts: ReadonlyMap<string, AddressOwner>;
  /** Owners of whole prefixes. */
  readonly ranges: readonly AddressOwner[];
  readonly #table = new PrefixTable<AddressOwner>();

  constructor(hosts: readonly AddressOwner[] = [], ranges: readonly AddressOwner[] = []) {
    // The last one wins in a map, and the first is to be reported.
    this.hosts = new Map(hosts.toReversed().map((owner) => [formatAddress(owner.prefix.address), owner]));
    this.ranges = ranges;
    for (const range of ranges) this.#table.add(range.prefix, range);
  }

  /** Returns what the address belongs to: itself, or the longest prefix around it. Costs the same for any number of owners. */
  ownerOf(address: Address): AddressOwner | undefined {
    return this.hosts.get(formatAddress(address)) ?? this.#table.around(address)[0];
  }

  /** Returns the same with further owners of single addresses, which count last. */
  with(hosts: readonly AddressOwner[]): AddressesOfOthers {
    return hosts.length === 0 ? this : new AddressesOfOthers([...this.hosts.values(), ...hosts], this.ranges);
  }
}

type Facts = Pick<Snapshot, 'nodes' | 'peers' | 'nodeStates' | 'serviceCIDRs' | 'services' | 'config' | 'endpointSlices'>;

const memo = new BasisMemo<AddressesOfOthers>();
const apiServer: ServiceKey = 'default/kubernetes';

/**
 * Returns the owners that objects other than Services state: Nodes, routers, interfaces of nodes, links, ranges of ClusterIPs, pods. Costs
 * nothing while none of these objects changes, if the snapshot is a `Store`.
 */
export function addressesOfOthers(snapshot: Facts): AddressesOfOthers {
  const { nodes, peers, nodeStates, serviceCIDRs, services, config } = snapshot;
  const bases = [nodes, peers, nodeStates, serviceCIDRs].flatMap(basisOf);
  const basis = [config, services.get(apiServer)?.clusterIPs, ...snapshot.endpointSlices(apiServer), ...bases];
  return memo.get(nodes, basis, () => {
    const reports = [...nodeStates].filter(([name]) => nodes.has(name)).sort(([a], [b]) => (a < b ? -1 : 1));
    const reported = withoutShared(reports.flatMap(([name, state]) => ownersOfReport(name, state)));
    const hosts = [...ofNodes(snapshot), ...ofPeers(snapshot), ...reported];
    const ranges = [...serviceRanges(snapshot), ...podRanges(snapshot)];
    return new AddressesOfOthers(
      hosts,
      ranges.map(({ from, ...range }) => ({ ...range, of: `in ${formatPrefix(range.prefix)}, ${from}` })),
    );
  });
}

/** Returns what an address belongs to that `service` has or asks for. ClusterIPs of other Services count as well. */
export function ownerOf(snapshot: Snapshot, address: Address, service?: ServiceKey): AddressOwner | undefined {
  const others = addressesOfOthers(snapshot);
  const host = others.hosts.get(formatAddress(address));
  return host ?? clusterIPOwner(snapshot, address, service) ?? others.ownerOf(address);
}

/** Returns the other Service that has the address as ClusterIP. */
function clusterIPOwner(snapshot: Snapshot, address: Address, service: ServiceKey | undefined): AddressOwner | undefined {
  const isClusterIP = (key: ServiceKey): boolean =>
    snapshot.services.get(key)?.clusterIPs.some((own) => sameAddress(own, address)) === true;
  const found = snapshot.declaredBy(address).find((key) => key !== service && isClusterIP(key));
  return found === undefined ? undefined : clusterIPOf(found, address);
}

export function clusterIPOf(service: ServiceKey, address: Address): AddressOwner {
  return { kind: 'Service', name: service, prefix: hostPrefix(address), of: `the ClusterIP of Service ${service}` };
}

/** Says that nodes neither announce the address nor answer for it, or that no pool gives it: `use` tells which fix applies. */
export function inUseBy(
  { kind, name, of }: AddressOwner,
  address: Address,
  use: 'requested' | 'held' | 'unpooled' | 'external',
  pool = '',
): Reason {
  return reason('AddressInUseBy', { address: formatAddress(address), kind, object: name, of, use, pool });
}

/** Where no object states the ranges of ClusterIPs, the address of the Service default/kubernetes shows one of each family. */
export function serviceRanges({ serviceCIDRs, config, services }: Pick<Facts, 'serviceCIDRs' | 'config' | 'services'>): UsedRange[] {
  const stated = [
    ...config.serviceCIDRs.map((prefix) => ({ ...ofConfig, prefix, from: 'serviceCIDRs of HeraldConfig/default' })),
    ...[...serviceCIDRs.values()].flatMap(({ metadata: { name }, cidrs }) =>
      cidrs.map((prefix) => ({ kind: 'ServiceCIDR' as const, name, prefix, from: `ServiceCIDR "${name}"` })),
    ),
  ];
  if (stated.length > 0) return sorted(stated);
  const { clusterIPs = [] } = services.get(apiServer) ?? {};
  const of = { kind: 'Service' as const, name: apiServer, from: `the ClusterIP of Service ${apiServer}` };
  return clusterIPs.map((address) => ({ ...of, prefix: hostPrefix(address) }));
}

export function podRanges({ nodes, config }: Pick<Facts, 'nodes' | 'config'>): UsedRange[] {
  return sorted([
    ...config.podCIDRs.map((prefix) => ({ ...ofConfig, prefix, from: 'podCIDRs of HeraldConfig/default' })),
    ...[...nodes.values()].flatMap(({ metadata: { name }, podCIDRs }) =>
      podCIDRs.map((prefix) => ({ kind: 'Node' as const, name, prefix, from: `spec.podCIDRs of node "${name}"` })),
    ),
  ]);
}

const ofConfig = { kind: 'HeraldConfig', name: 'default' } as const;

function sorted(ranges: readonly UsedRange[]): UsedRange[] {
  return ranges.toSorted((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0));
}

function host<Kind extends AddressOwner['kind']>(
  kind: Kind,
  name: string,
  address: Address,
  of: string,
): AddressOwner & { readonly kind: Kind } {
  return { kind, name, prefix: hostPrefix(address), of };
}

const byName = (a: AddressOwner, b: AddressOwner): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

/** Lists the addresses of Nodes and the peerAddresses of BGPPeers: by kind, then by name. */
export function networkAddresses(snapshot: Pick<Facts, 'nodes' | 'peers'>): readonly NetworkAddress[] {
  const ofRouters = ofPeers(snapshot).filter(({ name, prefix: { address } }) => {
    const { peerAddress } = snapshot.peers.get(name) ?? {};
    return peerAddress !== undefined && sameAddress(peerAddress, address);
  });
  return [...ofNodes(snapshot), ...ofRouters];
}

function ofNodes({ nodes }: Pick<Facts, 'nodes'>): NetworkAddress[] {
  const found = [...nodes].flatMap(([name, { internalIPs, externalIPs = [] }]) => [
    ...internalIPs.map((address) => host('Node', name, address, `the InternalIP of node "${name}"`)),
    ...externalIPs.map((address) => host('Node', name, address, `the ExternalIP of node "${name}"`)),
  ]);
  return found.sort(byName);
}

function ofPeers({ peers }: Pick<Facts, 'peers'>): NetworkAddress[] {
  const fields = ['peerAddress', 'sourceAddress'] as const;
  const found = [...peers].flatMap(([name, peer]) =>
    fields.flatMap((field) => {
      const address = peer[field];
      return address === undefined ? [] : [host('BGPPeer', name, address, `spec.${field} of BGPPeer "${name}"`)];
    }),
  );
  return found.sort(byName);
}

/** A load balancer may stand before the API server, so a Service that has such an address keeps it, and no other gets it. */
export function ofApiServer(snapshot: Pick<Facts, 'endpointSlices'>): AddressOwner[] {
  return snapshot
    .endpointSlices(apiServer)
    .flatMap(({ endpoints }) =>
      endpoints.map(({ address }) =>
        host('Service', apiServer, address, `an address of the API server (endpoint of Service ${apiServer})`),
      ),
    );
}

/** Returns the addresses that belong to something else by the report of one node. */
export function ownersOfReport(node: string, state: NodeState): AddressOwner[] {
  return [...ofInterfaces(node, state), ...ofRouters(node, state), ...ofLinks(node, state)];
}

/** Leaves out addresses without a network that several nodes have: all of them serve it, as with direct return or anycast. */
function withoutShared(reported: readonly AddressOwner[]): AddressOwner[] {
  const alone = reported.filter(({ isAlone }) => isAlone === true);
  const nodesOf = Map.groupBy(alone, ({ prefix: { address } }) => formatAddress(address));
  const isShared = ({ isAlone, prefix: { address } }: AddressOwner): boolean =>
    isAlone === true && new Set(nodesOf.get(formatAddress(address))?.map(({ name }) => name)).size > 1;
  return reported.filter((owner) => !isShared(owner));
}

/** Addresses of virtual routers, of keepalived and kube-vip are among them while a node has them. */
function ofInterfaces(node: string, { interfaces = [] }: NodeState): AddressOwner[] {
  return interfaces.flatMap(({ name, addresses }) =>
    addresses.map(({ address, length }) => ({
      ...host('Node', node, address, `an address of ${name} on node "${node}"`),
      ...(length === bitsOf(address.family) ? { isAlone: true as const } : {}),
    })),
  );
}

function ofRouters(node: string, { routers = [] }: NodeState): AddressOwner[] {
  return routers.map((address) => host('Node', node, address, `a router of node "${node}"`));
}

/**
 * The first and the last address of an IPv4 network mean the network itself (RFC 919); a link of two hosts has neither (RFC 3021). The first
 * address of an IPv6 prefix is that of all routers on the link (RFC 4291 2.6.1), except on a link of two routers (RFC 6164).
 */
function ofLinks(node: string, { interfaces = [] }: NodeState): AddressOwner[] {
  return interfaces.flatMap(({ name, addresses }) =>
    addresses.flatMap((own) => {
      const network = networkOf(own);
      if (network === undefined) return [];
      const place = `${formatPrefix(network)} (${name} of node "${node}")`;
      const ofLink = (address: Address, what: string): AddressOwner => {
        return { ...host('Node', node, address, `${what} of ${place}`), isOfLink: true };
      };
      if (own.address.family === 6) return [ofLink(network.address, "the routers' anycast address")];
      return [ofLink(network.address, 'the network address'), ofLink(lastAddress(network), 'the broadcast address')];
    }),
  );
}

/** Returns the network of an address, if more than two hosts fit in. */
function networkOf({ address, length }: InterfaceAddress): Prefix | undefined {
  return length > 0 && length < bitsOf(address.family) - 1 ? maskedPrefix(address, length) : undefined;
}
