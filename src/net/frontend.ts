import { formatAddress, type Address, type Family } from './address.ts';
import type { HashInput } from './connection-hash.ts';
import type { DirectReturnNode, ForwardingPath } from './direct-return.ts';
import type { Prefix } from './prefix.ts';

/**
 * The types of forwarding: what a node does with packets to a service address. The planner (decisions/forwarding) produces them; the data
 * plane backends and the packet tracer consume them. They do not refer to Kubernetes objects. Semantics follow kube-proxy's nftables mode,
 * Kubernetes 1.36.
 */
export type Protocol = 'TCP' | 'UDP' | 'SCTP';

/** The address and port that a packet is translated to. */
export interface Backend {
  readonly address: Address;
  readonly port: number;
  /** The backend runs on this node. A packet from it that returns to it (hairpin) needs masquerade. */
  readonly local: boolean;
  /**
   * Address of the backend's node, in the same family, at which other nodes reach it. Set for the backends of a frontend with `slots`,
   * unless the backend runs on no node of the cluster.
   */
  readonly node?: Address;
  /** How packets for this backend are passed to its node, unchanged. Set only with `directReturn` of the frontend and with `node`. */
  readonly path?: ForwardingPath;
}

/** The allowed sizes of a slot table: primes, each about a quarter of the next. */
export const slotTableSizes = [251, 1021, 4093, 16_381] as const;
export type SlotTableSize = (typeof slotTableSizes)[number];

/** The most turns of a frontend's backends. */
export const maximumTurns = 1024;

/** The numbers of turns of a frontend whose backends take them by their connections. */
export const countedTurns = [256, maximumTurns] as const;

/** Returns how many turns backends have that take them by their connections: four each, where that is possible. */
export function countedTurnsFor(backends: number): number {
  return countedTurns.find((turns) => turns >= 4 * backends) ?? countedTurns[1];
}

/**
 * By which number of a backend the next connection is placed; the lowest one gets it. With n for its active connections and w for its weight:
 * `connections`: n. `weighted`: n / w. `delay`: (n + 1) / w. `idle`: the same, after backends without a connection.
 */
export type CountedBy = 'connections' | 'weighted' | 'delay' | 'idle';

/** Backends whose turns follow their active connections through this node. */
export interface Counting {
  readonly by: CountedBy;
  /** Names a port of a Service. Frontends of one family with the same name share connections and turns. */
  readonly servicePort: string;
  /** By backend: its weight, a whole number above 0. */
  readonly weights: readonly number[];
  /** The same for `localBackends`. */
  readonly localWeights: readonly number[];
  /** Backends with equal numbers take turns from this one on, so that nodes begin with different ones. */
  readonly first: number;
}

/**
 * A table of hashing. The hash of a packet (`slotOf`) selects a slot, and the slot selects a backend. Every node computes the same table
 * from the same objects, so a connection gets the same backend on every node.
 */
export interface SlotTable {
  readonly hashed: HashInput;
  /** The backend of each slot, as an index into the list of backends. Its length is one of `slotTableSizes`. */
  readonly backendOf: Uint16Array;
}

/** Where a frontend listens: one service address, or every NodePort address of the node. */
export type FrontendMatch =
  | { readonly kind: 'address'; readonly address: Address; readonly protocol: Protocol; readonly port: number }
  | { readonly kind: 'nodePort'; readonly family: Family; readonly protocol: Protocol; readonly port: number };

/**
 * internal: a ClusterIP. Masqueraded only when the source is not a pod. external: a LoadBalancer address, external IP or NodePort.
 * Masqueraded under policy Cluster.
 */
export type FrontendScope = 'internal' | 'external';

export interface Frontend {
  readonly match: FrontendMatch;
  readonly scope: FrontendScope;
  /**
   * Cluster: any of `backends`. Local: `localBackends` for traffic from outside (external scope) or for all traffic (internal scope).
   * Without a local backend the packet is dropped, so that a load balancer fails over. Under an external Local policy, pods and the node
   * itself still use `backends`.
   */
  readonly policy: 'Cluster' | 'Local';
  /** Sorted, without duplicates. When empty, new connections are rejected (TCP reset, ICMP port unreachable). */
  readonly backends: readonly Backend[];
  /** The table by which a hash chooses among `backends`. Absent: they take turns (`turns`) or are drawn at random. */
  readonly slots?: SlotTable;
  /** The same for `localBackends`. Present with `slots` when there is a local backend. */
  readonly localSlots?: SlotTable;
  /**
   * The order in which `backends` take turns, as indexes, at most `maximumTurns`; after the last one the first follows. Connections to this frontend
   * alone advance it, or with `counting` those to its Service port. Never together with `slots`.
   */
  readonly turns?: Uint16Array;
  /** The same for `localBackends`. Present with `turns` when there is a local backend. */
  readonly localTurns?: Uint16Array;
  /**
   * The turns follow the connections: the data plane sets their order anew while connections come and go. Only with `turns` of one of the numbers in
   * `countedTurns`. Absent: the order stays.
   */
  readonly counting?: Counting;
  /** Backends on this node see the client's address. Only with `slots` of an external address under policy Cluster. */
  readonly directReturn?: {
    /** Largest TCP segment (RFC 9293 3.7.1) in octets that clients may send, because their packets pass a tunnel. Absent: not limited. */
    readonly segmentSize?: number;
  };
  /** The backends on this node that policy Local may use, sorted. Empty under policy Cluster. */
  readonly localBackends: readonly Backend[];
  /** TCP connections to a backend that is in none of the lists are reset. Absent: they continue. */
  readonly resetRemoved?: true;
  /**
   * Backends that still serve but get no new connections, because others are nearer or they terminate. Only for UDP and SCTP, and for TCP
   * with `resetRemoved`. The kernel keeps their flows and deletes the flows of backends that are in no list. Absent: none.
   */
  readonly retained?: readonly Backend[];
  /** A client keeps its backend (sessionAffinity: ClientIP). Never together with `slots`. */
  readonly affinity?: Affinity;
  /**
   * The node answers ICMP echo requests to the frontend's address from this address of its own, of the same family. Only for an external
   * address with a usable backend. All frontends of an address have the same value.
   */
  readonly echoFrom?: Address;
  /**
   * The address is Herald's: a packet to a port or protocol of it that no frontend has is refused, because a route would lead it back to
   * the router that sent it. Only for an external address. All frontends of an address have the same value.
   */
  readonly refusesRest?: true;
  /**
   * loadBalancerSourceRanges, for addresses and NodePorts. Packets from other sources are dropped before translation. Absent: all are
   * allowed.
   */
  readonly sourceRanges?: readonly Prefix[];
}

/** How long a client is remembered, and which frontends share that memory. */
interface Affinity {
  /** Seconds after its last new connection, 1..86400. */
  readonly seconds: number;
  /** Names a port of a Service. Frontends of one family with the same name share the remembered clients. */
  readonly servicePort: string;
}

/** The forwarding of one Service on one node. A data plane accepts changes in this unit. */
export interface ServiceForwarding {
  /** Sorted by `frontendKey`, which is unique. */
  readonly frontends: readonly Frontend[];
}

/** Settings of a node's forwarding that do not belong to a Service. */
export interface NodeForwarding {
  /** The node's own addresses inside these prefixes accept NodePort traffic. Loopback addresses never do. */
  readonly nodePortAddresses: readonly Prefix[];
  /** TCP NodePorts are also served on 127.0.0.1 and ::1, for programs on the node itself. */
  readonly localhostNodePorts?: boolean;
  /**
   * Sources inside these prefixes are pods (the local detector), and their ClusterIP traffic is not masqueraded. When a family has no
   * prefix and there are no `podInterfaces`, no source counts as a pod and no ClusterIP traffic is masqueraded.
   */
  readonly podPrefixes: readonly Prefix[];
  /** Packets that enter by one of these interfaces also come from a pod. An entry is a name, or a prefix followed by "*". Absent: none. */
  readonly podInterfaces?: readonly string[];
  /** ClusterIP traffic is masqueraded from every source. */
  readonly masqueradeAll?: boolean;
  /** Service CIDRs. Packets to addresses inside that belong to no Service are dropped. */
  readonly servicePrefixes: readonly Prefix[];
  /** Bit of the packet mark that requests masquerade, 0..31. The default of kube-proxy and Herald is 14 (0x4000). */
  readonly masqueradeBit: number;
  /**
   * Another program forwards frontends of these scopes. When a frontend of ours in such a scope goes, it is handed over with its flows.
   * Absent: none.
   */
  readonly foreignScopes?: readonly FrontendScope[];
  /** True: the destination and endpoint of each connection that begins are noted for a while, for those who look what becomes of them. */
  readonly notesBegun?: boolean;
  /** Absent: no Service uses direct server return, or this node can neither pass packets on nor receive them. */
  readonly directReturn?: DirectReturnNode;
}

/** True when packets of the frontend may be passed on untranslated: every node must choose the same backend for a packet. */
export function mayReturnDirectly({ match, scope, policy, slots }: Frontend): boolean {
  return match.kind === 'address' && scope === 'external' && policy === 'Cluster' && slots !== undefined && slots.hashed !== 'destination';
}

/** Returns the text that identifies a frontend on a node: "192.0.2.1 TCP 80", "NodePort IPv4 UDP 30053". */
export function frontendKey(match: FrontendMatch): string {
  const where = match.kind === 'address' ? formatAddress(match.address) : `NodePort IPv${match.family}`;
  return `${where} ${match.protocol} ${match.port}`;
}

export function frontendFamily(match: FrontendMatch): Family {
  return match.kind === 'address' ? match.address.family : match.family;
}
