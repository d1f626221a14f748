import { formatAddress, type Address, type Family } from './address.ts';
import type { HashInput } from './connection-hash.ts';
import type { DirectReturnNode, ForwardingPath } from './direct-return.ts';
import type { Prefix } from './prefix.ts';

/**
 * The vocabulary of forwarding: what a node does with packets to a service address. The planner (decisions/forwarding)
 * produces it, every data plane backend and the packet tracer consume it; it knows nothing of Kubernetes objects.
 * Semantics follow kube-proxy's nftables mode, Kubernetes 1.36.
 */
export type Protocol = 'TCP' | 'UDP' | 'SCTP';

/** A backend: the address and port that a packet is rewritten to. */
export interface Backend {
  readonly address: Address;
  readonly port: number;
  /** It runs on this node: a packet that comes from it and returns to it (hairpin) needs masquerade. */
  readonly local: boolean;
  /**
   * The address, of the same family, by which other nodes reach the node that it runs on. Known for the backends of
   * a frontend with `slots`; absent there too where it runs on no node of the cluster.
   */
  readonly node?: Address;
  /** Packets for it are passed on to its node, unchanged. Only beside `directReturn` of its frontend, and with `node`. */
  readonly path?: ForwardingPath;
}

/** The numbers of slots that a table may have: primes, each a quarter of the next. */
export const slotTableSizes = [251, 1021, 4093, 16_381] as const;
export type SlotTableSize = (typeof slotTableSizes)[number];

/**
 * Consistent hashing: the hash of a packet's source (`slotOf`) chooses a slot, and the slot a backend. Every node has the same
 * table for the same objects, so that whichever node a connection comes to, it gets the same backend.
 */
export interface SlotTable {
  readonly hashed: HashInput;
  /** For each slot its backend, as an index into `Frontend.backends`. As long as one of `slotTableSizes`. */
  readonly backendOf: Uint16Array;
}

/** Where a frontend listens: one service address, or every NodePort address of the node. */
export type FrontendMatch =
  | { readonly kind: 'address'; readonly address: Address; readonly protocol: Protocol; readonly port: number }
  | { readonly kind: 'nodePort'; readonly family: Family; readonly protocol: Protocol; readonly port: number };

/**
 * internal: a ClusterIP. Masqueraded only when the source is no pod.
 * external: a LoadBalancer IP, external IP or NodePort. Masqueraded under policy Cluster.
 */
export type FrontendScope = 'internal' | 'external';

export interface Frontend {
  readonly match: FrontendMatch;
  readonly scope: FrontendScope;
  /**
   * Cluster: any of `backends`. Local: `localBackends` for traffic from outside (external scope) or for all traffic
   * (internal scope); no local backend drops, so that a load balancer fails over. Under an external Local policy, pods
   * and the node itself still use `backends`.
   */
  readonly policy: 'Cluster' | 'Local';
  /** Sorted, without duplicates. Empty: new connections are rejected (TCP reset, ICMP port unreachable). */
  readonly backends: readonly Backend[];
  /** How one of `backends` is chosen. Absent: at random. Only with external scope, policy Cluster and a backend. */
  readonly slots?: SlotTable;
  /** Backends on this node see the client's address. Only with `slots`, and never of a NodePort. */
  readonly directReturn?: {
    /** Octets of a TCP segment (RFC 9293 3.7.1) that clients are told to send at most, as their packets take a tunnel. */
    readonly segmentSize?: number;
  };
  /** The backends on this node that policy Local may use. Sorted; empty under policy Cluster. */
  readonly localBackends: readonly Backend[];
  /** TCP connections to a backend that is in no list any more are ended. Absent: they go on. */
  readonly resetRemoved?: true;
  /**
   * UDP and SCTP, and TCP with `resetRemoved`: serving, but not for new connections, because others are nearer or it terminates. The kernel keeps the
   * flows they have, and forgets those of backends that are in no list any more. Absent: none.
   */
  readonly retained?: readonly Backend[];
  /** A client stays with its backend (sessionAffinity: ClientIP). Never beside `slots`. */
  readonly affinity?: Affinity;
  /**
   * ICMP echo requests to the address are answered by this address of the node, of the same family. Only of an external address
   * that has a backend to be used; the same for all frontends of an address.
   */
  readonly echoFrom?: Address;
  /** loadBalancerSourceRanges, on addresses and NodePorts: sources outside are dropped before translation. Absent: everyone may. */
  readonly sourceRanges?: readonly Prefix[];
}

/** How long a client is remembered, and together with whom. */
interface Affinity {
  /** After its last new connection, 1..86400. */
  readonly seconds: number;
  /** Names a port of a service: frontends of one family with the same name remember clients together. */
  readonly servicePort: string;
}

/** What one node does for one service, the unit in which a data plane takes changes. */
export interface ServiceForwarding {
  /** Sorted by `frontendKey`, no two with the same key. */
  readonly frontends: readonly Frontend[];
}

/** What a node's forwarding needs to know beside the services. */
export interface NodeForwarding {
  /** Those of the node's own addresses that are inside take NodePort traffic; never a loopback address. */
  readonly nodePortAddresses: readonly Prefix[];
  /** NodePorts of TCP are answered on 127.0.0.1 and ::1 as well, for programs of the node itself. */
  readonly localhostNodePorts?: boolean;
  /**
   * Sources inside are pods (the local detector): their ClusterIP traffic is not masqueraded. Of a family without any, and without
   * `podInterfaces`, nothing is a pod, and no ClusterIP traffic is masqueraded.
   */
  readonly podPrefixes: readonly Prefix[];
  /** What comes in by one of these is from a pod as well. Names of interfaces, or with a "*" at the end how they begin. Absent: none. */
  readonly podInterfaces?: readonly string[];
  /** ClusterIP traffic is masqueraded whoever sent it. */
  readonly masqueradeAll?: boolean;
  /** Service CIDRs: packets to addresses inside that no service owns are dropped. */
  readonly servicePrefixes: readonly Prefix[];
  /** Bit of the packet mark that requests masquerade, 0..31; kube-proxy's and our default is 14 (0x4000). */
  readonly masqueradeBit: number;
  /** Frontends of these scopes are another program's: when one of ours goes it is handed over, with its flows. Absent: none. */
  readonly foreignScopes?: readonly FrontendScope[];
  /** Absent: no service uses direct server return, or this node can neither pass on nor receive. */
  readonly directReturn?: DirectReturnNode;
}

/** Text that identifies a frontend on a node: "192.0.2.1 TCP 80", "NodePort IPv4 UDP 30053". */
export function frontendKey(match: FrontendMatch): string {
  const where = match.kind === 'address' ? formatAddress(match.address) : `NodePort IPv${match.family}`;
  return `${where} ${match.protocol} ${match.port}`;
}

export function frontendFamily(match: FrontendMatch): Family {
  return match.kind === 'address' ? match.address.family : match.family;
}
