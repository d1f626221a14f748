import type { Family } from '../../src/net/address.ts';
import type { Protocol } from '../../src/net/frontend.ts';
import { address, addressBytes, addressFromBytes, formatAddress } from '../../src/net/address.ts';
import { prefix, prefixContains } from '../../src/net/prefix.ts';
import type { Random } from '../fuzz/random.ts';
import type { ApiObject } from '../kube-fixture/object.ts';
import { clients, clusterIP, ingressOf, specOf, type Objects } from './objects.ts';
import { nodeAddresses, podRanges, type Entry } from './stand.ts';
import { familyOf, placeText } from './wire.ts';

/** A class of senders that must all be treated alike. Where the class has many sources, each try uses another one. */
export type SenderName =
  | 'pod'
  | 'pod of another node'
  | 'the endpoint itself'
  | 'node'
  | 'primary address of the node'
  | 'another node'
  | 'allowed client'
  | 'other client'
  | 'the address itself';

/** The kind of a destination. */
export type DestinationKind =
  | 'cluster IP'
  | 'load balancer IP'
  | 'external IP'
  | 'node port'
  | 'unused port'
  | 'unowned'
  | 'endpoint'
  | 'elsewhere';

/** Packets that must have the same fate, except for the choice among endpoints. */
export interface Flow {
  readonly sender: SenderName;
  readonly entry: Entry;
  /** The only source, or the first of many. */
  readonly source: string;
  readonly many: boolean;
  readonly destination: string;
  readonly kind: DestinationKind;
  readonly protocol: Protocol;
  readonly port: number;
  /** The Service that owns the frontend. */
  readonly service?: string;
  readonly affinity: boolean;
  /** Destination of the second packet of a client with affinity: the same frontend, or another one of the same Service port. */
  readonly again?: { readonly destination: string; readonly port: number };
}

export function flowText({ sender, source, many, destination, protocol, port, kind, service }: Flow): string {
  return `${sender} (${source}${many ? ' and on' : ''}) -> ${placeText(destination, port)} ${protocol}, ${kind}${service === undefined ? '' : ` of ${service}`}`;
}

/** Returns `count` random flows, to frontends of these objects and to other destinations. */
export function randomFlows(random: Random, objects: Objects, count: number): Flow[] {
  const destinations = objects.services.flatMap((service) => destinationsOf(service, objects));
  const all = [...destinations, ...unownedDestinations()];
  return Array.from({ length: count }, () => {
    // Frontends are chosen more often than other destinations.
    const destination = random.pick(destinations.length > 0 && !random.chance(5) ? destinations : all);
    const meant = random.chance(12) ? nearMiss(random, destination, destinations) : destination;
    const { servicePort, ...flow } = meant;
    const others = destinations.filter((other) => other.affinity && other.servicePort === servicePort && sameFamily(other, meant));
    const sender = randomSender(random, meant, objects);
    // Only for clients that have not been used yet.
    const again = meant.affinity && sender.many ? random.pick([...others, meant]) : undefined;
    return {
      ...flow,
      ...sender,
      ...(again === undefined ? {} : { again: { destination: again.destination, port: again.port } }),
    };
  });
}

/** Returns the address `offset` addresses after the given one. */
export function offsetAddress(text: string, offset: number): string {
  const bytes = addressBytes(address(text));
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const at = bytes.length - 4;
  view.setUint32(at, view.getUint32(at) + offset);
  return formatAddress(addressFromBytes(bytes));
}

interface Destination extends Pick<Flow, 'destination' | 'kind' | 'protocol' | 'port' | 'service' | 'affinity'> {
  /** Equal for all frontends of one Service port. */
  readonly servicePort?: string;
}

function sameFamily(a: Destination, b: Destination): boolean {
  return familyOf(a.destination) === familyOf(b.destination);
}

function destinationsOf(service: ApiObject, { slices }: Objects): Destination[] {
  const spec = specOf(service);
  const named = { service: service.metadata.name, affinity: spec.sessionAffinity === 'ClientIP' };
  const { answered, proxied } = ingressOf(service);
  const externalIPs = (spec.externalIPs ?? []).filter((address) => !answered.includes(address));
  const endpoints = slices.filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === service.metadata.name);
  return spec.ports.flatMap(({ name, protocol, port, nodePort }): Destination[] => {
    const servicePort = `${service.metadata.name} ${name}`;
    const to =
      (kind: DestinationKind) =>
      (destination: string): Destination => ({ destination, kind, protocol, port, servicePort, ...named });
    const nodePorts = ([4, 6] as const).flatMap((family) => [...nodeAddresses[family].slice(0, 3), family === 4 ? '10.99.0.9' : 'fd99::9']);
    return [
      ...spec.clusterIPs.map(to('cluster IP')),
      ...answered.map(to('load balancer IP')),
      ...externalIPs.map(to('external IP')),
      ...proxied.filter((address) => !externalIPs.includes(address)).map(to('elsewhere')),
      ...(nodePort === undefined ? [] : nodePorts.map((destination) => ({ ...to('node port')(destination), port: nodePort }))),
      ...endpoints.flatMap((slice) => {
        const listed = slice['endpoints'] as { addresses: string[] }[];
        return listed
          .slice(0, 1)
          .map(({ addresses: [destination = ''] }) => ({ ...to('endpoint')(destination), port: 8_080, affinity: false }));
      }),
    ];
  });
}

/** Destinations that belong to no Service. */
function unownedDestinations(): Destination[] {
  const of = (destination: string, kind: DestinationKind, port: number): Destination => ({
    destination,
    kind,
    port,
    protocol: 'TCP',
    affinity: false,
  });
  return ([4, 6] as const).flatMap((family) => [
    of(family === 4 ? '172.30.0.250' : 'fd02::250', 'unowned', 1_000),
    of(clusterIP(family, 9), 'unowned', 1_000),
    of(family === 4 ? '172.30.1.1' : 'fd02::1:1', 'elsewhere', 1_000),
    of(nodeAddresses[family][0], 'elsewhere', 30_099),
    of(family === 4 ? '203.0.113.99' : 'fd0b::99', 'elsewhere', 80),
  ]);
}

/** Changes the port or protocol to one that the Service most likely does not have. */
function nearMiss(random: Random, destination: Destination, all: readonly Destination[]): Destination {
  const port = destination.port + random.pick([-1, 1, 5, 10, 1_000]);
  const protocol = random.pick<Protocol>(['TCP', 'UDP', 'SCTP']);
  const meant: Destination = { ...destination, ...random.pick([{ port }, { protocol }]) };
  const same = (other: Destination): boolean =>
    (['destination', 'port', 'protocol'] as const).every((field) => other[field] === meant[field]);
  return all.find(same) ?? { ...meant, kind: 'unused port', affinity: false };
}

function randomSender(
  random: Random,
  { destination, service }: Destination,
  { slices }: Objects,
): Pick<Flow, 'sender' | 'entry' | 'source' | 'many'> {
  const family = familyOf(destination);
  const at = (four: string, six: string): string => (family === 4 ? four : six);
  const senders: Readonly<Record<SenderName, Pick<Flow, 'entry' | 'source' | 'many'> | undefined>> = {
    pod: { entry: 'pods', source: at('10.161.0.0', 'fd01:0:0:1::1:0'), many: true },
    'pod of another node': { entry: 'outside', source: at('10.193.0.0', 'fd01:0:0:2::1:0'), many: true },
    'the endpoint itself': ownEndpoint(random, family, service, slices),
    node: { entry: 'node', source: random.pick(nodeAddresses[family].slice(1)), many: false },
    'primary address of the node': { entry: 'node', source: nodeAddresses[family][0], many: false },
    'another node': { entry: 'outside', source: at('10.99.0.9', 'fd99::9'), many: false },
    'allowed client': { entry: 'outside', source: prefixStart(clients.allowed[family]), many: true },
    'other client': { entry: 'outside', source: prefixStart(clients.other[family]), many: true },
    'the address itself': { entry: 'node', source: destination, many: false },
  };
  for (;;) {
    const sender = random.pick(Object.keys(senders) as SenderName[]);
    const found = senders[sender];
    if (found !== undefined) return { sender, ...found };
  }
}

function ownEndpoint(
  random: Random,
  family: Family,
  service: string | undefined,
  slices: readonly ApiObject[],
): Pick<Flow, 'entry' | 'source' | 'many'> | undefined {
  const local = slices
    .filter(({ metadata }) => service !== undefined && metadata.labels?.['kubernetes.io/service-name'] === service)
    .flatMap((slice) => slice['endpoints'] as { addresses: string[] }[])
    .flatMap(({ addresses: [text = ''] }) =>
      familyOf(text) === family && prefixContains(prefix(podRanges[family]), address(text)) ? [text] : [],
    );
  return local.length === 0 ? undefined : { entry: 'pods', source: random.pick(local), many: false };
}

function prefixStart(prefix: string): string {
  return prefix.slice(0, prefix.indexOf('/'));
}
