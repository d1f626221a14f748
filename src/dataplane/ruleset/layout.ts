import type { Family } from '../../net/address.ts';
import { fnv } from './classid.ts';

/** The names and shapes of everything in our two tables, `ip herald` and `ip6 herald`. */
export const tableName = 'herald';
export const families: readonly Family[] = [4, 6];
export const tableFamily = (family: Family): 'ip' | 'ip6' => (family === 4 ? 'ip' : 'ip6');

/** Raised with every change of the skeleton. A table of another version is replaced, one of this version is adopted. */
const layoutVersion = 14;

/** Interfaces of pods. They are written into rules, because a set cannot hold the beginning of a name. */
export interface PodInterfaces {
  /** Names, or with a "*" at the end the beginning of names. */
  readonly names: readonly string[];
  /** True: ClusterIP traffic from these interfaces is masqueraded too. */
  readonly masqueraded: boolean;
}

export const noPodInterfaces: PodInterfaces = { names: [], masqueraded: false };

/** Returns the name of an empty chain that identifies the inputs of the constant part. */
export function markerChain(masqueradeBit: number, { names, masqueraded }: PodInterfaces = noPodInterfaces): string {
  // A chain name is limited in length and cannot contain characters like "*".
  const pods = names.length === 0 ? '' : `_pods_${fnv(`${masqueraded} ${names.join(' ')}`).toString(16)}`;
  return `layout_${layoutVersion}_bit_${masqueradeBit}${pods}`;
}

/**
 * One part of a key or value. `address` has the table's family, `source` is an address or prefix, `link` is a link-layer address, `chain` is
 * a jump to a chain, and always a whole value.
 */
export type Field = 'address' | 'source' | 'protocol' | 'port' | 'class' | 'mark' | 'link' | 'chain';

/**
 * Returns the octets of a field in a key or value of several fields: a multiple of four. None of our sets has a protocol or a port alone,
 * or a link with other fields.
 */
export function fieldLength(family: Family, field: Field): number {
  if (field === 'link') return 6;
  if (field === 'chain') return chainNameLength[family];
  return (field === 'address' || field === 'source') && family === 6 ? 16 : 4;
}

/** Octets of a chain's name in a value, with the zero at its end (turns.ts). */
export const chainNameLength: Readonly<Record<Family, number>> = { 4: 36, 6: 60 };

export function fieldsLength(family: Family, fields: readonly Field[]): number {
  return fields.reduce((sum, field) => sum + fieldLength(family, field), 0);
}

export interface SetShape {
  readonly key: readonly Field[];
  /** Present in a map. */
  readonly value?: readonly Field[];
  /** Keys may be prefixes, which must not overlap. */
  readonly interval?: true;
}

const frontend = ['address', 'protocol', 'port'] as const;
const nodePort = ['protocol', 'port'] as const;
const backend = ['address', 'port'] as const;

/**
 * Timeouts of session affinity, in seconds. A frontend gets the first that is not below what it asks for: rules are constant, and a rule
 * that remembers a client contains its timeout. There are 64, because an affinity id has six bits for the timeout.
 */
export const affinityLadder = [
  1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 45, 50, 60, 75, 90, 100, 120, 125, 150, 180, 200, 240, 300, 360, 400, 450, 500, 600, 720,
  800, 900, 1_000, 1_200, 1_500, 1_800, 2_100, 2_400, 2_700, 3_000, 3_600, 4_500, 5_400, 6_000, 7_200, 9_000, 10_000, 10_800, 12_600,
  14_400, 18_000, 21_600, 25_200, 28_800, 32_400, 36_000, 43_200, 54_000, 64_800, 72_000, 86_400,
] as const;

/** The sets and maps that change with Services. Everything else in the table is constant. */
const setShapes = {
  /** Service address to class (classid.ts), for any backend. */
  frontends: { key: frontend, value: ['class'] },
  /** The same for policy Local. Absent: there is no local backend. */
  frontends_local: { key: frontend, value: ['class'] },
  nodeports: { key: nodePort, value: ['class'] },
  nodeports_local: { key: nodePort, value: ['class'] },
  /** Frontends that have no backend for some packets, to a class that says what becomes of these (classid.ts). */
  without_backends: { key: frontend, value: ['class'] },
  nodeports_without_backends: { key: nodePort, value: ['class'] },
  /** Frontend and slot to backend. With session affinity also frontend and backend id to backend. */
  backends: { key: [...frontend, 'class'], value: backend },
  backends_local: { key: [...frontend, 'class'], value: backend },
  nodeport_backends: { key: [...nodePort, 'class'], value: backend },
  nodeport_backends_local: { key: [...nodePort, 'class'], value: backend },
  /** With session affinity: frontend to affinity id. */
  affinity_ids: { key: frontend, value: ['class'] },
  nodeport_affinity_ids: { key: nodePort, value: ['class'] },
  /** Frontends whose backends take turns, to the chain that counts their connections. */
  turns: { key: frontend, value: ['chain'] },
  turns_local: { key: frontend, value: ['chain'] },
  nodeport_turns: { key: nodePort, value: ['chain'] },
  nodeport_turns_local: { key: nodePort, value: ['chain'] },
  /** Chains whose turns several frontends share, by their number (turns.ts). */
  shared_turns: { key: ['mark'] },
  cluster_ips: { key: ['address'] },
  /** External addresses that are Herald's, and the blocks of announced aggregates. What no frontend takes of their packets is refused. */
  own_addresses: { key: ['address'] },
  own_blocks: { key: ['source'], interval: true },
  /** The address that answers ICMP echo in place of a Service address. */
  echo: { key: ['address'], value: ['address'] },
  /** Prefixes in which NodePorts are answered on the node's own addresses. */
  nodeport_ips: { key: ['source'], interval: true },
  service_prefixes: { key: ['source'], interval: true },
  pod_prefixes: { key: ['source'], interval: true },
  /** Sources whose ClusterIP traffic is not masqueraded. */
  unmasqueraded: { key: ['source'], interval: true },
  /** The addresses of frontends with direct server return. */
  direct_addresses: { key: ['address'] },
  /** Frontend and slot of a backend on this node, which sees the client's address. */
  direct_local: { key: [...frontend, 'class'] },
  /** Frontend and slot of a backend on another node, to the packet mark that routes there. */
  passed_on: { key: [...frontend, 'class'], value: ['mark'] },
  /** Link addresses of other nodes. Packets from there were already sent on once. */
  node_links: { key: ['link'] },
  /** Number to the address of another node on the same link, which may have the connection that an ICMP error is about. */
  error_receivers: { key: ['class'], value: ['address'] },
  /** The same of a node that is reached through the tunnel: its next hop there. */
  error_tunnels: { key: ['class'], value: ['address'] },
  /** A local backend as source and destination: a connection of a pod to itself. */
  hairpins: { key: ['address', 'address', 'protocol', 'port'] },
  /** Frontends with source ranges, and the sources that may use them. */
  restricted: { key: frontend },
  allowed_sources: { key: [...frontend, 'source'], interval: true },
  nodeport_restricted: { key: nodePort },
  nodeport_allowed_sources: { key: [...nodePort, 'source'], interval: true },
  /** The optional parts of the table that are there (parts.ts). */
  parts: { key: ['mark'] },
} as const satisfies Record<string, SetShape>;

/** The maps from frontend and slot to backend, each with the map that gives the number of slots. */
export const slotMaps: ReadonlyMap<SetName, SetName> = new Map<SetName, SetName>([
  ['backends', 'frontends'],
  ['backends_local', 'frontends_local'],
  ['nodeport_backends', 'nodeports'],
  ['nodeport_backends_local', 'nodeports_local'],
]);

/**
 * TCP segment sizes that fit into a tunnel: an MTU minus the headers of VXLAN, IP and TCP. Rules are constant, so a frontend gets the first
 * of these that is not above what fits. 1410 and 1370 are those of Ethernet; 536 and 1220 always fit (RFC 9293 3.7.1).
 */
export const segmentLadder = [8_910, 8_870, 1_410, 1_370, 1_360, 1_320, 1_310, 1_270, 1_220, 536] as const;
type SegmentSize = (typeof segmentLadder)[number];

/** The sets of addresses with direct server return, by the segment size that their clients are told. */
type SegmentSet = `segment_${SegmentSize}`;
export type SetName = keyof typeof setShapes | SegmentSet;

/** Every set that changes with Services, with its shape. */
export const allSets: ReadonlyMap<SetName, SetShape> = new Map<SetName, SetShape>([
  ...(Object.entries(setShapes) as [SetName, SetShape][]),
  ...segmentLadder.map((size): [SetName, SetShape] => [`segment_${size}`, { key: ['address'] }]),
]);

/** Sets whose keys begin with the fields of a frontend, with the number of these fields. Their elements belong to that frontend alone. */
const frontendFields: ReadonlyMap<SetName, number> = new Map(
  [...allSets].flatMap(([set, { key }]) =>
    [frontend, nodePort].flatMap((fields) => (fields.every((field, index) => key[index] === field) ? [[set, fields.length] as const] : [])),
  ),
);

export const isOfOneFrontend = (set: SetName): boolean => frontendFields.has(set);

/** Returns the number of octets at the beginning of a set's keys that name the frontend. */
export function frontendLength(family: Family, set: SetName): number {
  return fieldsLength(family, (allSets.get(set)?.key ?? []).slice(0, frontendFields.get(set)));
}

/** The map that the kernel itself fills: affinity id and client to backend id. */
export const affinityMap = 'affinity';

/** A set in the IPv4 table with one number. Each of our transactions writes a new number, which distinguishes it from foreign changes. */
export const revisionSet = 'revision';

/** A chain of our tables in nft's text form. */
export interface Chain {
  /** True in a chain without a hook that is there while an element refers to it. */
  readonly passing?: true;
  /** "type nat hook prerouting priority -100". Present in a base chain. */
  readonly hook?: string;
  readonly rules: readonly string[];
}

export type NamedChain = [name: string, Chain];

export function chain(name: string, rules: readonly string[], hook?: string): NamedChain {
  return [name, hook === undefined ? { rules } : { hook, rules }];
}
