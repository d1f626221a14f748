import type { Family } from '../../net/address.ts';
import { fnv } from './classid.ts';

/** The names and shapes of everything in our two tables, `ip herald` and `ip6 herald`. */
export const tableName = 'herald';
export const families: readonly Family[] = [4, 6];
export const tableFamily = (family: Family): 'ip' | 'ip6' => (family === 4 ? 'ip' : 'ip6');

/** Raised with every change of the skeleton: a table of another version is replaced, one of this version adopted. */
const layoutVersion = 7;

/** Interfaces of pods; they are in rules, as a set cannot hold the beginning of a name. */
export interface PodInterfaces {
  /** Names, or with a "*" at the end how they begin. */
  readonly names: readonly string[];
  /** ClusterIP traffic that comes in by them is masqueraded nevertheless. */
  readonly masqueraded: boolean;
}

export const noPodInterfaces: PodInterfaces = { names: [], masqueraded: false };

/** An empty chain whose name says what the constant part was generated from. */
export function markerChain(masqueradeBit: number, { names, masqueraded }: PodInterfaces = noPodInterfaces): string {
  // A name of a chain has no characters like "*", and an end.
  const pods = names.length === 0 ? '' : `_pods_${fnv(`${masqueraded} ${names.join(' ')}`).toString(16)}`;
  return `layout_${layoutVersion}_bit_${masqueradeBit}${pods}`;
}

/** One part of a key or of a value. `address` is of the table's family, `source` is an address or prefix, `link` that of a network card. */
export type Field = 'address' | 'source' | 'protocol' | 'port' | 'class' | 'mark' | 'link';

/** Octets of a field in a key or value of several: a multiple of four. No set of ours has a protocol or a port by itself, or a link with others. */
export function fieldLength(family: Family, field: Field): number {
  if (field === 'link') return 6;
  return (field === 'address' || field === 'source') && family === 6 ? 16 : 4;
}

export function fieldsLength(family: Family, fields: readonly Field[]): number {
  return fields.reduce((sum, field) => sum + fieldLength(family, field), 0);
}

export interface SetShape {
  readonly key: readonly Field[];
  /** Present: a map. */
  readonly value?: readonly Field[];
  /** Keys may be prefixes. No two may overlap. */
  readonly interval?: true;
}

const frontend = ['address', 'protocol', 'port'] as const;
const nodePort = ['protocol', 'port'] as const;
const backend = ['address', 'port'] as const;

/**
 * Session affinity is kept for one of these numbers of seconds, the first that is not below what a frontend asks: rules
 * are constant, and a rule that remembers a client names its timeout. 64 of them, as an affinity id has six bits for it.
 */
export const affinityLadder = [
  1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 45, 50, 60, 75, 90, 100, 120, 125, 150, 180, 200, 240, 300, 360, 400, 450, 500, 600, 720,
  800, 900, 1_000, 1_200, 1_500, 1_800, 2_100, 2_400, 2_700, 3_000, 3_600, 4_500, 5_400, 6_000, 7_200, 9_000, 10_000, 10_800, 12_600,
  14_400, 18_000, 21_600, 25_200, 28_800, 32_400, 36_000, 43_200, 54_000, 64_800, 72_000, 86_400,
] as const;

/** The sets and maps that change with services; all else in the table is constant. */
const setShapes = {
  /** Service address to class (classid.ts): any backend. */
  frontends: { key: frontend, value: ['class'] },
  /** The same for policy Local: absent means no local backend. */
  frontends_local: { key: frontend, value: ['class'] },
  nodeports: { key: nodePort, value: ['class'] },
  nodeports_local: { key: nodePort, value: ['class'] },
  /** Frontend and slot to backend; with session affinity also frontend and backend id to backend. */
  backends: { key: [...frontend, 'class'], value: backend },
  backends_local: { key: [...frontend, 'class'], value: backend },
  nodeport_backends: { key: [...nodePort, 'class'], value: backend },
  nodeport_backends_local: { key: [...nodePort, 'class'], value: backend },
  /** With session affinity: frontend to affinity id. */
  affinity_ids: { key: frontend, value: ['class'] },
  nodeport_affinity_ids: { key: nodePort, value: ['class'] },
  cluster_ips: { key: ['address'] },
  /** Who answers ICMP echo in the place of an address. */
  echo: { key: ['address'], value: ['address'] },
  /** Where NodePorts are answered, as far as it is an address of the node. */
  nodeport_ips: { key: ['source'], interval: true },
  service_prefixes: { key: ['source'], interval: true },
  pod_prefixes: { key: ['source'], interval: true },
  /** Sources whose ClusterIP traffic is not masqueraded. */
  unmasqueraded: { key: ['source'], interval: true },
  /** Direct server return: the addresses of its frontends. */
  direct_addresses: { key: ['address'] },
  /** Frontend and slot whose backend is on this node: it sees the client's address. */
  direct_local: { key: [...frontend, 'class'] },
  /** Frontend and slot whose backend is on another node, to the packet mark that leads there. */
  passed_on: { key: [...frontend, 'class'], value: ['mark'] },
  /** Other nodes: what comes from there was passed on already. */
  node_links: { key: ['link'] },
  /** A local backend as source and destination: a connection of a pod to itself. */
  hairpins: { key: ['address', 'address', 'protocol', 'port'] },
  /** Frontends with source ranges, and who may use them. */
  restricted: { key: frontend },
  allowed_sources: { key: [...frontend, 'source'], interval: true },
  nodeport_restricted: { key: nodePort },
  nodeport_allowed_sources: { key: [...nodePort, 'source'], interval: true },
} as const satisfies Record<string, SetShape>;

/**
 * TCP segments that fit into a tunnel: of an MTU, less the headers of VXLAN, of IP and of TCP. Rules are constant, so that a frontend has
 * the first of these that is not above what fits. 1410 and 1370 are those of Ethernet; 536 and 1220 fit everywhere (RFC 9293 3.7.1).
 */
export const segmentLadder = [8_910, 8_870, 1_410, 1_370, 1_360, 1_320, 1_310, 1_270, 1_220, 536] as const;
type SegmentSize = (typeof segmentLadder)[number];

/** Direct server return: the addresses whose clients are told to send segments of this size at most. */
type SegmentSet = `segment_${SegmentSize}`;
export type SetName = keyof typeof setShapes | SegmentSet;

/** Every churning set of one table with its shape. */
export const allSets: ReadonlyMap<SetName, SetShape> = new Map<SetName, SetShape>([
  ...(Object.entries(setShapes) as [SetName, SetShape][]),
  ...segmentLadder.map((size): [SetName, SetShape] => [`segment_${size}`, { key: ['address'] }]),
]);

/** Sets whose keys begin with the fields of a frontend, with the number of these fields: their elements are of that frontend alone. */
const frontendFields: ReadonlyMap<SetName, number> = new Map(
  [...allSets].flatMap(([set, { key }]) =>
    [frontend, nodePort].flatMap((fields) => (fields.every((field, index) => key[index] === field) ? [[set, fields.length] as const] : [])),
  ),
);

export const isOfOneFrontend = (set: SetName): boolean => frontendFields.has(set);

/** Octets with which the keys of a set name their frontend. */
export function frontendLength(family: Family, set: SetName): number {
  return fieldsLength(family, (allSets.get(set)?.key ?? []).slice(0, frontendFields.get(set)));
}

/** The map that the kernel itself fills: affinity id and client to backend id. */
export const affinityMap = 'affinity';

/** A set in the IPv4 table with one number: each transaction of ours writes another one, which tells it from foreign changes. */
export const revisionSet = 'revision';

/** A chain of our tables, as nft words it. */
export interface Chain {
  /** "type nat hook prerouting priority -100": a base chain. */
  readonly hook?: string;
  readonly rules: readonly string[];
}
