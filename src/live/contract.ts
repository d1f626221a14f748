/**
 * The live API: what a running agent, controller or `herald run` reports about itself, read-only, as JSON over HTTP. The Unix socket of the
 * process on its host serves all of it. The metrics port serves `/live/...` too, where the API server's pod proxy reaches it, unless that
 * is switched off.
 *
 *     GET /live                 LiveIndex: which process it is, and its paths
 *     GET /live/v1/sessions     Page of LiveSession                     agents   ?peer=
 *     GET /live/v1/routes       Page of LiveRoute                       agents   ?peer= &family=IPv4|IPv6 &service=NS/NAME
 *     GET /live/v1/received     Page of LiveReceivedRoute               agents   ?peer= &family=IPv4|IPv6
 *     GET /live/v1/links        Page of LiveLink                        agents
 *     GET /live/v1/addresses    Page of LiveAddress                     agents   ?service=NS/NAME
 *     GET /live/v1/checks       Page of LiveCheck                       agents   ?service=NS/NAME
 *     GET /live/v1/endpoints    Page of LiveEndpointConnections         agents   ?service=NS/NAME
 *     GET /live/v1/history      Page of HistoryEntry, oldest first      all      ?kind=Service|BGPPeer|Node &namespace= &name= &since=RFC 3339
 *     GET /live/v1/kept         Page of LiveKept                        all
 *
 * Every list takes `limit` (1 to 5000; default 1000; a page at the port has up to 500) and `after`: the `next` of the previous page. A page
 * shows one moment; entries that change between two pages may be missing or appear twice. Errors are LiveProblem: 400 for a wrong
 * parameter or for a list that the kernel does not give, 404 for a path that the process does not have, 429 at the port while it answers another client. The port closes the connection
 * after each answer. Later versions may add fields under `v1` but do not change the meaning of a field; clients must ignore unknown fields.
 *
 * Data that must not leave the host (BGP messages) is only on the socket, under `/debug/...`.
 */
import type { SessionStatus } from '../model/objects/node-state.ts';

export const livePaths = {
  index: '/live',
  sessions: '/live/v1/sessions',
  routes: '/live/v1/routes',
  received: '/live/v1/received',
  links: '/live/v1/links',
  addresses: '/live/v1/addresses',
  checks: '/live/v1/checks',
  endpoints: '/live/v1/endpoints',
  history: '/live/v1/history',
  kept: '/live/v1/kept',
} as const;

/**
 * Paths that only the Unix socket serves, to its owner; no port ever does.
 *
 *     GET /debug/bgp/trace?peer=NAME    the messages of the sessions with a BGPPeer as they pass: a line of JSON each (src/bgp/trace/trace-lines.ts), without end.
 *                                       404: LiveProblem, with the names of the existing peers
 *     GET /debug/check?service=NS/NAME  opens connections from the node to the endpoints and addresses of a Service: a CheckLine each, as their fates are
 *                                       known, and last a CheckEnd. 404: LiveProblem, the agent does not know the Service. 429: another check runs
 */
export const debugPaths = { bgpTrace: '/debug/bgp/trace', check: '/debug/check' } as const;

/** A line of `/debug/check`. */
export type CheckLine = NodeProbe | NodeUnprobed | CheckEnd;

/** The fate of one attempt of a node to reach an address. */
export interface NodeProbe {
  readonly type: 'probe';
  /** endpoint: directly. address: an address of the Service, through the node's rules. size: large packets to the address of an endpoint. */
  readonly what: 'endpoint' | 'address' | 'size';
  readonly protocol: 'TCP' | 'UDP' | 'SCTP' | 'ICMP';
  /** "10.244.1.10:8080", "[2001:db8::1]:80"; for `size` without a port. */
  readonly to: string;
  /** The node of an endpoint, if it is known. */
  readonly on?: string;
  /**
   * `refused`: TCP reset or ICMP "port unreachable". `unreachable`: no way there, or ICMP said so. `silent`: no packet came back. Only for
   * `size`: `tooBig`: a hop does not pass the size. `lost`: large packets get no answer, small ones do. `unknown`: no echo was answered.
   */
  readonly result: 'answered' | 'refused' | 'unreachable' | 'silent' | 'tooBig' | 'lost' | 'unknown';
  readonly milliseconds?: number;
  /** The system's code of an error. */
  readonly error?: string;
  /** The address that refused or reported by ICMP. Absent: a reset, the node itself, or not known. */
  readonly by?: string;
  /** Routers that answered when the TTL of a packet for a silent endpoint ended there, the nearest first. Absent: not tried. */
  readonly hops?: readonly { readonly ttl: number; readonly from: string }[];
  /** Of `size`: the length of the packets, and what the next hop passes if it said so. */
  readonly size?: number;
  readonly mtu?: number;
}

/** An attempt that was not made. */
export interface NodeUnprobed {
  readonly type: 'unprobed';
  /** What was not probed: "SCTP 10.244.1.10:5000", "3 more endpoints". */
  readonly what: string;
  readonly why: string;
}

/** The last line. Without it the check is not complete. */
export interface CheckEnd {
  readonly type: 'end';
  readonly probes: number;
}

/** Identifies the process that answers. A client of a socket must check that it reached the process that it wanted. */
export interface LiveProcess {
  readonly command: 'agent' | 'controller' | 'run';
  readonly version: string;
  /** The node of an agent. Absent until the agent has started. */
  readonly node?: string;
  /** The absolute path of the directory that its objects come from. Absent: they come from a cluster. */
  readonly directory?: string;
  /** Start time, RFC 3339. The history has nothing older. */
  readonly started: string;
  /** Records that the file system of the directory refused at the last attempt. The process retries. Absent: none. */
  readonly unwritten?: UnwrittenRecords;
  /** Services whose status the API server did not let a controller write at the last attempt. The process retries. Absent: none. */
  readonly refused?: RefusedStatuses;
}

export interface RefusedStatuses {
  readonly services: number;
  /** Their names, "namespace/name", at most limits.refusedNames. */
  readonly names: readonly string[];
  /** The answer of the API server about the first of them: account, verb, resource and namespace. */
  readonly problem: string;
}

export interface UnwrittenRecords {
  readonly records: number;
  /** One of them, relative to the directory. */
  readonly file: string;
  /** "no space is left". */
  readonly problem: string;
  readonly fix: string;
}

export interface LiveIndex {
  readonly process: LiveProcess;
  /** Paths that this process answers. */
  readonly paths: readonly string[];
}

export interface Page<T> {
  readonly process: LiveProcess;
  /** The moment that the page shows, RFC 3339. */
  readonly at: string;
  readonly items: readonly T[];
  /** Present if there are more items: the `after` of the next request. */
  readonly next?: string;
}

export interface LiveProblem {
  readonly error: string;
  readonly fix: string;
}

export interface LiveSession extends SessionStatus {
  /** The capabilities in the OPEN of each side, in words, as far as they were exchanged. Absent without a session. */
  readonly capabilities?: { readonly sent: readonly string[]; readonly received: readonly string[] };
  /**
   * Announcements of the peer that were not accepted since the session began, by reason: `filter` (its `import`), `asSet`, `asLoop`,
   * `originatorLoop`, `ownNextHop`, `routeLeak`. Absent: its BGPPeer has no `import`.
   */
  readonly refusedRoutes?: Readonly<Record<string, number>>;
}

/** A route of a peer that its `import` accepts, and what became of it. */
export interface LiveReceivedRoute {
  readonly peer: string;
  readonly family: 'IPv4' | 'IPv6';
  readonly prefix: string;
  /** One address; for IPv6, the link-local address may follow the global one (RFC 2545 3). */
  readonly nextHops: readonly string[];
  /** Nearest AS first. */
  readonly asPath: readonly number[];
  readonly localPref: number;
  readonly med?: number;
  readonly communities: readonly string[];
  /** The route outlives its session, while the peer restarts (RFC 4724) or for longer (RFC 9494). */
  readonly stale?: 'restart' | 'longLived';
  /** The kernel has the route, with this next hop among others. */
  readonly installed: boolean;
  /** Why it has not. Absent if it has. */
  readonly reason?: { readonly code: string; readonly message: string; readonly fix: string };
}

/** A route that a router was sent in the current session. It shows the speaker's actual state, not the desired one. */
export interface LiveRoute {
  readonly peer: string;
  readonly family: 'IPv4' | 'IPv6';
  readonly prefix: string;
  /** One address; for IPv6, the link-local address may follow the global one (RFC 2545 3). Empty: the withdrawal is still unsent. */
  readonly nextHops: readonly string[];
  /** Nearest AS first. Empty for a peer of the same AS. */
  readonly asPath: readonly number[];
  /** Only for a peer of the same AS. */
  readonly localPref?: number;
  readonly med?: number;
  /** The link bandwidth in Mbit/s. Absent: not sent, or the agent is of an older version. */
  readonly linkBandwidth?: number;
  /** As in "64512:100" or "large:64512:1:2". */
  readonly communities: readonly string[];
  /** The Services that announce the route, as "namespace/name". Empty: the withdrawal is still unsent. */
  readonly services: readonly string[];
  /** Number of further Services. */
  readonly moreServices?: number;
  /** True while a withdrawal or a new version of the route waits to be sent because the router does not read. */
  readonly changing?: true;
}

/** What an agent saw of connections to one address and port of a Service in the last ten minutes. Times are RFC 3339. */
export interface LiveCheck {
  /** As by frontendKey: "192.0.2.1 TCP 80". */
  readonly frontend: string;
  /** "namespace/name". */
  readonly service: string;
  /** When a connection was last seen that was answered. Absent: none was. */
  readonly answered?: string;
  /** True: that tells little of now, because connections came often and stopped, or every router has asked for the route again since. */
  readonly stale?: true;
  readonly endpoints: readonly LiveEndpointCheck[];
}

/** The times at which an agent last saw these results for an endpoint. Absent: not in the last ten minutes. */
export interface LiveEndpointCheck {
  /** "10.244.1.10:8080". */
  readonly endpoint: string;
  readonly answered?: string;
  /** Reset before it was established. */
  readonly refused?: string;
  /** No packet came back. */
  readonly silent?: string;
  /** Dropped by a filter of the node. */
  readonly dropped?: string;
  /** Answered, and the client did not go on. */
  readonly unfinished?: string;
  /** Established, and the endpoint sent no data although the client did. */
  readonly unheard?: string;
  /** Established, and the client did not acknowledge data of the endpoint. */
  readonly unacknowledged?: string;
  /** Why no packet leaves for the endpoint, or nobody takes it: "no route", "unreachable 10.244.3.0/24". Absent: there is a way. */
  readonly way?: string;
  /** True: the agent opened the latest of these connections itself. */
  readonly own?: true;
}

/**
 * The connections from one port of a Service to one endpoint that this node translates and its kernel remembers at this moment. An endpoint
 * without any is not listed.
 */
export interface LiveEndpointConnections {
  /** "namespace/name". */
  readonly service: string;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  /** The port of the Service, also for connections to its NodePort. */
  readonly port: number;
  /** "10.244.1.10:8080", "[2001:db8::1]:80". */
  readonly endpoint: string;
  /** TCP and SCTP: established. UDP: answered. */
  readonly active: number;
  /** All others that the kernel remembers. */
  readonly inactive: number;
  /** Packets of these connections, from clients (`in`) and from the endpoint (`out`). Absent: the kernel does not count packets. */
  readonly packets?: { readonly in: number; readonly out: number };
  /** True: there are more connections than the agent reads, so that the numbers are the least that there are. */
  readonly atLeast?: true;
}

/** An interface on which an agent announces addresses by ARP and NDP, and the other nodes there. */
export interface LiveLink {
  readonly interface: string;
  readonly linkAddress: string;
  /** False while the agent waits for the sessions with the other candidates and claims nothing. */
  readonly settled: boolean;
  /** The sessions with all other candidates were lost at once. */
  readonly isolated: boolean;
  /** No session with another candidate ever came up. */
  readonly noPeerLiveness: boolean;
  readonly peers: readonly LiveLinkPeer[];
  /** Multicast groups for NDP. `waiting`: still to be joined. */
  readonly groups: { readonly joined: number; readonly waiting: number; readonly problem?: string };
  /** Why frames are not received or sent. */
  readonly problem?: string;
  /** Frames that the kernel dropped because the buffer was full. */
  readonly drops?: number;
}

/** Another node on a link, as this agent sees it. */
export interface LiveLinkPeer {
  readonly node: string;
  readonly linkAddress: string;
  /** State of the BFD session. Absent: there is none, or it has no state yet. */
  readonly session?: 'Up' | 'Down' | 'AdminDown';
  /** RFC 3339. */
  readonly sessionSince?: string;
  /** `in`: it lives. `suspect`: it is asked before its addresses are claimed. `out`: it does not count. */
  readonly standing: 'in' | 'suspect' | 'out';
  /** The session is down, but the node answers ARP or NDP. */
  readonly answersWithoutSession: boolean;
}

/** An address that an agent announces by ARP or NDP, or stands ready for, on one interface: what the network says of it. */
export interface LiveAddress {
  readonly address: string;
  readonly interface: string;
  /** The state machine of src/l2/claim/fsm.ts. `owner`, `keeping` and `leaving` answer clients. */
  readonly state: 'standby' | 'probing' | 'owner' | 'keeping' | 'leaving' | 'doubtful' | 'conflict';
  /** RFC 3339. */
  readonly since: string;
  /** Why it came into this state, in words. Absent: it never changed. */
  readonly cause?: string;
  /** How often this node became the owner since its process started. */
  readonly claims: number;
  /** The other node that answers, as far as this one knows. */
  readonly owner?: string;
  /** Requests that were heard, and answered, also those by which other nodes find out who lives. */
  readonly requests: number;
  readonly answers: number;
  /** Answers in the last minute, without those to nodes that only asked whether this one lives. */
  readonly answersPerMinute: number;
  readonly lastRequest?: LiveFrame;
  /** As `answersPerMinute`. */
  readonly lastAnswer?: LiveFrame;
  /** RFC 3339. */
  readonly lastAnnouncement?: string;
  /** A foreign host claimed the address. */
  readonly lastConflict?: LiveFrame;
}

/** A frame that was received. `at`: RFC 3339. */
export interface LiveFrame {
  readonly at: string;
  readonly linkAddress: string;
}

/** An object whose present version the process cannot use, or a deleted HeraldConfig, so that an earlier version is in force in it. */
export interface LiveKept {
  /** "IPAddressPool", or "BGPPeer.metallb.io" for a kind of MetalLB. */
  readonly kind: string;
  /** "namespace/name", or the name of a cluster-scoped object. */
  readonly name: string;
  /** The first error of the present version. */
  readonly problem: KeptProblem;
  /** When the process first refused the object, RFC 3339. */
  readonly since: string;
  /**
   * The version in force as it was written, without passwords, managedFields and annotations of other programs. Absent: the process does
   * not have it as written, or it is very long.
   */
  readonly inForce?: unknown;
}

interface KeptProblem {
  /** Relative to the directory of the process. Absent in a cluster. */
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  /** "spec.addresses[0]". Absent: the object as a whole. */
  readonly field?: string;
  readonly message: string;
  readonly fix: string;
}

export const historyKinds = ['Service', 'BGPPeer', 'Node'] as const;
export type HistoryKind = (typeof historyKinds)[number];

/**
 * Something that happened to a Service, a BGPPeer or a node. `what` is a name of history-events.ts, or the reason code of a warning of the
 * controller.
 */
export interface HistoryEntry {
  /** RFC 3339 with milliseconds. */
  readonly at: string;
  readonly kind: HistoryKind;
  /** "namespace/name" for a Service. */
  readonly name: string;
  readonly what: string;
  /** The text without the reason. */
  readonly text: string;
  readonly reason?: { readonly code: string; readonly message: string; readonly fix: string };
  /**
   * Objects on which the decision rests that changed before it, the likeliest cause first. Absent: the cause is no object but a session, the kernel, a timer or the start
   * of the process.
   */
  readonly causes?: readonly HistoryCause[];
  /** At most 16 routes. */
  readonly routes?: readonly HistoryRoute[];
  /** Number of further routes. */
  readonly moreRoutes?: number;
}

export interface HistoryCause {
  readonly kind: string;
  /** "namespace/name", or the name of a cluster-scoped object. */
  readonly name: string;
  /** The version of the API server; for a directory, the file's time in nanoseconds. Absent for a deleted object. */
  readonly resourceVersion?: string;
  readonly deleted?: true;
}

export interface HistoryRoute {
  readonly peer: string;
  readonly prefix: string;
}
