import { defined } from '../../src/lang/defined.ts';
import { address, formatAddress, type Address, type Family } from '../../src/net/address.ts';
import type { Backend, Protocol, ServiceForwarding } from '../../src/net/frontend.ts';
import { nodeForwarding } from '../../src/decisions/forwarding/node.ts';
import { decideForwarding } from '../../src/decisions/forwarding/plan.ts';
import { cluster, type ClusterLiteral, type ServiceLiteral, type SliceLiteral } from '../unit/decisions/fixtures.ts';
import type { TracedNode } from './tracer.ts';

/**
 * A test scenario: packets and their fate, written once for both address families and every protocol. In all texts, `$name` stands for an
 * address of `places`, and `%` for the protocol (TCP, UDP or SCTP) with which the scenario is played.
 */
export interface Scenario {
  readonly name: string;
  readonly services: readonly ServiceLiteral[];
  readonly slices?: readonly SliceLiteral[];
  readonly cluster?: Omit<ClusterLiteral, 'services' | 'slices' | 'nodes' | 'config'>;
  readonly config?: NonNullable<ClusterLiteral['config']>;
  /** Labels of the node. */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * "from -> to port: fate". From and to are places. The fate is refused, dropped, untouched, or all places that may reply. "pod1*" sees
   * the node's address instead of the client's. "pod1:9090" replies on another port than 8080. "other" after the port: the packet uses the
   * other one of TCP and UDP.
   */
  readonly packets: readonly string[];
}

/**
 * Addresses by name, each with IPv4 and IPv6. The deciding node is "here", with pod1 and pod2; pod3 is on "there". The lab
 * (test/lab/dataplane/one-node.ts) has machines at all places except the Service addresses.
 */
export const places = {
  pod1: ['10.244.1.11', 'fd01::11'],
  pod2: ['10.244.1.12', 'fd01::12'],
  pod3: ['10.244.1.13', 'fd01::13'],
  /** The primary address of the node, and a second one. */
  node: ['10.99.0.1', 'fd99::1'],
  node2: ['10.99.0.8', 'fd99::8'],
  there: ['10.99.0.9', 'fd99::9'],
  client: ['10.99.0.2', 'fd99::2'],
  blocked: ['10.99.0.6', 'fd99::6'],
  cluster1: ['172.30.0.1', 'fd02::1'],
  cluster2: ['172.30.0.2', 'fd02::2'],
  cluster3: ['172.30.0.3', 'fd02::3'],
  /** In the Service range, but not used by any Service. */
  unowned: ['172.30.0.77', 'fd02::77'],
  external1: ['192.0.2.1', 'fd09::1'],
  external2: ['192.0.2.2', 'fd09::2'],
  external3: ['192.0.2.3', 'fd09::3'],
  /** Prefixes. */
  pods: ['10.244.0.0/16', 'fd01::/64'],
  services: ['172.30.0.0/24', 'fd02::/112'],
  onlyclient: ['10.99.0.2/32', 'fd99::2/128'],
  outside: ['10.99.0.0/24', 'fd99::/64'],
  onlynode2: ['10.99.0.8/32', 'fd99::8/128'],
  onlynode: ['10.99.0.1/32', 'fd99::1/128'],
  everyone: ['0.0.0.0/0', '::/0'],
  /** The client's address in the other family. */
  otherclient: ['fd99::2/128', '10.99.0.2/32'],
} as const satisfies Record<string, readonly [string, string]>;
export type Place = keyof typeof places;

export const podPort = 8080;

/** Returns the interface of the node at which packets of a place arrive. Undefined: the place is the node itself. */
export function interfaceOf(place: Place): string | undefined {
  if (place.startsWith('pod')) return place;
  return place === 'client' || place === 'blocked' ? 'outside' : undefined;
}

export function placeAddress(place: Place, family: Family): string {
  return places[place][family === 4 ? 0 : 1];
}

/** One line of a scenario. */
export interface PacketRow {
  readonly text: string;
  readonly from: Place;
  readonly to: Place;
  readonly port: number;
  readonly protocol: Protocol;
  /** In the form of `fateText`. */
  readonly fate: string;
}

export interface Played extends TracedNode {
  readonly services: ReadonlyMap<string, ServiceForwarding>;
  readonly packets: readonly PacketRow[];
}

/** Plans the scenario for one family and protocol. */
export function play(scenario: Scenario, family: Family, protocol: Protocol): Played {
  const literal = filled(scenario, family, protocol);
  const snapshot = cluster(literal);
  const services = new Map<string, ServiceForwarding>();
  for (const [key, service] of snapshot.services) {
    const { forwarding } = decideForwarding(snapshot, service, 'here');
    if (forwarding !== undefined) services.set(key, forwarding);
  }
  return {
    services,
    forwarding: nodeForwarding(snapshot, 'here'),
    frontends: [...services.values()].flatMap(({ frontends }) => frontends),
    addresses: (['node', 'node2'] as const).map((place) => address(placeAddress(place, family))),
    packets: scenario.packets.map((text) => packetRow(text, protocol)),
  };
}

/** Returns the place of a backend, with its port unless it is 8080. */
export function backendName({ address, port }: Backend): string {
  const name = placeOf(address) ?? formatAddress(address);
  return port === podPort ? name : `${name}:${port}`;
}

function placeOf(address: Address): string | undefined {
  return Object.keys(places).find((place) => places[place as Place].some((text) => text === formatAddress(address)));
}

function filled({ services, slices, cluster, config, labels }: Scenario, family: Family, protocol: Protocol): ClusterLiteral {
  const at = (place: Place): string => placeAddress(place, family);
  return {
    nodes: [
      { name: 'here', internalIPs: [at('node'), at('node2')], ...defined({ labels }) },
      { name: 'there', internalIPs: [at('there')] },
    ],
    ...fill(cluster ?? {}, family, protocol),
    services: services
      .map((service) => ({ clusterIPs: ['$cluster1'], ports: ['80/%'], ...service }))
      .map((each) => fill(each, family, protocol)),
    slices: (slices ?? []).map((slice) => ({ ports: ['8080/%'], family, ...slice })).map((each) => fill(each, family, protocol)),
    config: fill({ podCIDRs: ['$pods'], serviceCIDRs: ['$services'], ...config }, family, protocol),
  };
}

/** Returns a copy with every text filled in. Values other than texts, lists and plain objects are kept. */
function fill<T>(value: T, family: Family, protocol: Protocol): T {
  const walk = (part: unknown): unknown => {
    if (typeof part === 'string') {
      return part.replaceAll(/\$([a-z]+\d?)/g, (_, place: string) => placeAddress(place as Place, family)).replaceAll('%', protocol);
    }
    if (Array.isArray(part)) return part.map(walk);
    if (typeof part === 'object' && part !== null)
      return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, walk(inner)]));
    return part;
  };
  return walk(value) as T;
}

function packetRow(text: string, protocol: Protocol): PacketRow {
  const match = /^(?<from>\w+) -> (?<to>\w+) (?<port>\d+)(?<other> other)?: (?<fate>.+)$/.exec(text)?.groups;
  const [from, to] = [match?.['from'], match?.['to']];
  if (match === undefined || !isPlace(from) || !isPlace(to)) throw new RangeError(`not a packet: ${text}`);
  const other = protocol === 'TCP' ? 'UDP' : 'TCP';
  const fate = (match['fate'] ?? '').split(' ').toSorted().join(' ');
  return { text, from, to, port: Number(match['port']), protocol: match['other'] === undefined ? protocol : other, fate };
}

function isPlace(name: string | undefined): name is Place {
  return name !== undefined && name in places;
}
