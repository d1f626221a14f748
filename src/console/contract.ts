// Longer than usual: every shape that the page and its server exchange, and nothing else.
import type { Verdict } from '../decisions/verdict/verdict.ts';
import type { MergedHistory } from '../explain/history/merged-history.ts';
import type { L2Segment } from '../explain/l2/l2-segments.ts';
import type { Overview } from '../explain/overview/overview.ts';
import type { Problem } from '../explain/overview/problem.ts';
import type { SessionRow } from '../explain/sessions/session-report.ts';
import type { ReasonCode } from '../model/reasons.ts';
import type { OutsideResource } from '../model/objects/outside-resource.ts';
import type { PoolRow } from '../explain/pools/pool-report.ts';

export { toneOf } from '../live/history-events.ts';

/** Paths that the page requests from its server. Both are of one version, because the server sends the page. Everything is plain data. */
export const consolePaths = {
  /** Server-sent events: a `Pulse` whenever something changed, and as a sign of life. */
  changes: '/api/changes',
  services: '/api/services',
  fabric: '/api/fabric',
  addresses: '/api/addresses',
  outside: '/api/outside',
  /** With `name`, "namespace/name". */
  service: '/api/service',
  /** With `kind` and `name`, or of everything. `since`: RFC 3339. `at`: a moment for which the path of the Service is drawn. */
  history: '/api/history',
  /** Takes POST only: the body is manifests, of the type `manifestType`. */
  plan: '/api/plan',
  /** Takes POST only: the body is `{"service": "namespace/name"}`, of the type `checkType`. */
  check: '/api/check',
} as const;

/** No form of another site can send this type, so the browser asks the server before it sends such a request from there. */
export const manifestType = 'application/yaml';
export const checkType = 'application/json';

/** The lists that are computed from one reading of all objects. */
export const lists = ['services', 'fabric', 'addresses'] as const;
export type ListName = (typeof lists)[number];

/** The state of the picture that the server has. */
export interface Pulse {
  /** When the objects were last read, RFC 3339. Absent: not yet. */
  readonly at?: string;
  /** What is shown: "context prod, the cluster at 192.0.2.1:6443", "/etc/herald". Absent: nothing was read yet. */
  readonly from?: string;
  /** Changes whenever the content of a list changes, apart from ages. */
  readonly versions: Readonly<Partial<Record<ListName, string>>>;
  /** Why the last attempt to read failed. The picture is then older than `at` says it should be. */
  readonly trouble?: Trouble;
}

export interface Trouble {
  readonly message: string;
  /** RFC 3339. */
  readonly since: string;
}

/** An answer that is no view: what went wrong, and what to do. */
export interface ConsoleProblem {
  readonly error: string;
  readonly fix: string;
}

/** Facts about a reading that every view shows. */
export interface ReadingFacts {
  /** "context prod, the cluster at 192.0.2.1:6443", "/etc/herald". */
  readonly from: string;
  readonly kind: 'cluster' | 'directory' | 'manifests';
  /** RFC 3339. Ages in the view are counted to this time. */
  readonly at: string;
  /** Errors and warnings of objects, kinds that could not be read and processes that could not be queried, as commands print them. */
  readonly notes: readonly Note[];
}

export interface Note {
  readonly severity: 'error' | 'warning' | 'unknown';
  readonly line: string;
}

/**
 * How a Service is served, by the verdict of `herald explain`: the words and the health that every view shows, the worst first. limited: clients
 * may be answered, but the Service is not announced as it asks. other: it belongs to another program. The others are those of the verdict.
 */
export const serviceOutcomes = {
  notServed: { words: 'Not served', health: 'bad' },
  partly: { words: 'Not fully served', health: 'doubtful' },
  limited: { words: 'Announced, with a problem', health: 'doubtful' },
  unknown: { words: 'Not known', health: 'unknown' },
  announced: { words: 'Announced, not checked', health: 'unknown' },
  served: { words: 'Served', health: 'good' },
  other: { words: 'Of another program', health: 'off' },
} as const satisfies Record<Verdict['outcome'] | 'limited' | 'other', { readonly words: string; readonly health: Health }>;
export type ServiceOutcome = keyof typeof serviceOutcomes;

export interface ServiceRow {
  readonly namespace: string;
  readonly name: string;
  readonly outcome: ServiceOutcome;
  /** Of its conditions AddressAssigned, Programmed and Announced: "T", "F", "U", or "-" for one that it does not have. */
  readonly conditions: string;
  readonly addresses: readonly string[];
  /** The pool of its first address. */
  readonly pool?: string;
  /** The code of the first cause. */
  readonly reason?: ReasonCode;
  /** The place in `lines` of the verdict with the cause and the fix. Absent: there is no cause. */
  readonly line?: number;
}

export interface ServicesView extends ReadingFacts {
  /** Sorted by namespace and name. */
  readonly rows: readonly ServiceRow[];
  readonly lines: readonly string[];
}

export type Health = 'good' | 'bad' | 'doubtful' | 'unknown' | 'off';

export interface FabricNode {
  readonly node: string;
  readonly health: Health;
  /** Its problems, each with the fix. */
  readonly lines: readonly string[];
  readonly draining?: string;
  /** Addresses for which it answers ARP or NDP, and its links. Absent: it announces none so. */
  readonly l2?: { readonly owned: number; readonly links: string };
}

export interface FabricPeer {
  readonly peer: string;
  /** Its addresses at the nodes: one, or several when nodes have routers of their own. */
  readonly addresses: readonly string[];
  readonly asns: readonly string[];
  readonly health: Health;
}

export interface FabricSession extends Pick<SessionRow, 'node' | 'peer' | 'address' | 'state' | 'prefixesSent' | 'bfd'> {
  readonly health: Health;
  readonly isLive: boolean;
  /** When the session entered its state, RFC 3339. */
  readonly since?: string;
  /** As `herald explain` prints it, with its age. */
  readonly words: string;
  /** Why it is not up, with the fix. */
  readonly why?: string;
}

/** Nodes that are alike: with the same problems, and sessions with the same routers in the same state. */
export interface FabricGroup {
  readonly id: string;
  /** At most `limits.groupNames`. */
  readonly names: readonly string[];
  readonly count: number;
  readonly health: Health;
  /** Of the first node. */
  readonly lines: readonly string[];
  readonly sessions: readonly { readonly peer: string; readonly health: Health; readonly words: string }[];
}

/** `outcome`: how its Service is served. Absent: the problem is that of another object. */
export interface FabricProblem extends Problem {
  readonly outcome?: ServiceOutcome;
}

/** A load balancer outside the cluster that serves a Service. */
export interface FabricCloud {
  readonly service: string;
  readonly hostnames: readonly string[];
  readonly outcome: ServiceOutcome;
  /** The verdict. Absent: the Service could not be judged. */
  readonly line?: string;
}

/** Resources outside the cluster on the way of connections, left to right by `kind`. */
export interface OutsideView {
  readonly boxes: readonly OutsideBox[];
  readonly arrows: readonly OutsideArrow[];
  /** Why something is missing. */
  readonly notes: readonly string[];
}

/** One resource, or alike ones where a kind has more than `limits.fabricNodes`. */
export interface OutsideBox extends Pick<OutsideResource, 'id' | 'kind' | 'detail' | 'health' | 'why'> {
  /** At most `limits.groupNames`. */
  readonly names: readonly string[];
  readonly count: number;
  /** At most `limits.sharers` Services that it serves. */
  readonly services: readonly string[];
}

/** Has the health of the box to which it leads. */
export interface OutsideArrow {
  readonly from: string;
  readonly to: string;
  readonly health: Health;
}

export interface FabricView extends ReadingFacts {
  /** Empty: nodes are drawn one by one. */
  readonly groups: readonly FabricGroup[];
  readonly segments: readonly L2Segment[];
  readonly clouds: readonly FabricCloud[];
  readonly nodes: readonly FabricNode[];
  readonly peers: readonly FabricPeer[];
  readonly sessions: readonly FabricSession[];
  /** As `herald status --problems` lists them. */
  readonly problems: readonly FabricProblem[];
  readonly counts: {
    readonly services: Overview['services']['total'];
    readonly ours: number;
    readonly outcomes: Readonly<Record<ServiceOutcome, number>>;
    readonly sessions: { readonly established: number; readonly expected: number };
    readonly nodes: { readonly total: number; readonly reporting: number };
  };
  readonly controller?: { readonly holder: string };
}

/** The state of one address. `reserved`: `reservations` of the pool has it for one Service. `kept`: a Service released it, and the pool keeps it
 * for a Service of the same name. `draining`: a Service has it, and its pool gives out no more addresses. `overlap`: another pool has it as well. */
export type AddressState = 'assigned' | 'reserved' | 'kept' | 'draining' | 'overlap';

/** One address that is not simply free. */
export interface AddressCell {
  /** Distance from the first address of the range, in addresses, or in blocks where the range has them. */
  readonly at: number;
  readonly address: string;
  readonly state: AddressState;
  /** The Services that have it, or may have it. */
  readonly services: readonly string[];
  /** Of an address that is kept: until when, RFC 3339. */
  readonly until?: string;
}

export interface AddressRangeView {
  readonly range: string;
  readonly family: 'IPv4' | 'IPv6';
  /** Text, because an IPv6 range exceeds the range of numbers. */
  readonly size: string;
  /** Addresses that are not free, at most `limits.holders`. */
  readonly cells: readonly AddressCell[];
  readonly moreCells: number;
  /** Of a range that is too large to draw each address: the number of addresses in a block, and how many of each block are not free. */
  readonly blocks?: { readonly size: string; readonly used: readonly number[] };
}

export interface PoolView extends Pick<PoolRow, 'pool' | 'usage' | 'pending'> {
  readonly health: Health;
  readonly isDraining: boolean;
  readonly ranges: readonly AddressRangeView[];
  /** "BGPAdvertisement public", or why nothing announces it. */
  readonly announced: string;
  /** Why it gives nothing or is not as it should be, each with the fix. */
  readonly lines: readonly string[];
}

export interface AddressesView extends ReadingFacts {
  readonly pools: readonly PoolView[];
}

/** A reason in words. */
export interface Why {
  readonly code: string;
  readonly text: string;
  /** "" when nothing needs to be done. */
  readonly fix: string;
}

/** The way of packets from clients to endpoints, as boxes and arrows. Alike nodes share one box. */
export interface ServicePath {
  /** With what becomes of connections to each port. An address that another program serves has no ports. */
  readonly addresses: readonly PathAddress[];
  /** How connections are spread: "consistent: by source address", "a client stays at its endpoint for 3 h". */
  readonly balancing: readonly string[];
  /** Why the Service does not have the addresses that it asks for. */
  readonly unmet?: Why;
  readonly routers: readonly PathRouter[];
  readonly nodes: readonly PathNode[];
  readonly endpoints: PathEndpoints;
  /** From a router to a node: the route. A route that is missing has a reason. */
  readonly routes: readonly PathArrow[];
  /** From a node to the endpoints. */
  readonly forwarding: readonly PathArrow[];
}

/** The endpoints by node. The counts are of pods, each of which may have an address of each family. */
export interface PathEndpoints {
  readonly ready: number;
  readonly terminating: number;
  readonly unusable: number;
  readonly whys: readonly Why[];
  /** At most `limits.drawnEndpoints`. */
  readonly nodes: readonly PathEndpointNode[];
  readonly moreNodes: number;
}

export interface PathEndpointNode {
  /** "": the endpoints do not say on which node they are. */
  readonly node: string;
  readonly health: Health;
  /** Empty when there are more than `limits.drawnEndpoints` of all nodes: `summary` counts them. */
  readonly endpoints: readonly PathEndpoint[];
  readonly summary: string;
}

export interface PathEndpoint {
  readonly address: string;
  readonly health: Health;
  /** How connections to it ended last, by the reports of agents: "refused 5 s ago on node2, answered 12 s ago on node1". */
  readonly look: string;
}

export interface PathAddress {
  readonly text: string;
  readonly pool?: string;
  /** `name`: "80/TCP". */
  readonly ports: readonly { readonly name: string; readonly health: Health; readonly line: string }[];
}

export interface PathRouter {
  readonly id: string;
  readonly name: string;
  /** A BGP peer, or a link on which a node answers ARP or NDP. */
  readonly kind: 'peer' | 'link';
  readonly detail: string;
  readonly health: Health;
  /** Of a router: its sessions, by BGPPeer. */
  readonly sessions: readonly PathSession[];
}

export interface PathSession {
  readonly peer: string;
  readonly address: string;
  readonly health: Health;
}

export interface PathNode {
  readonly id: string;
  readonly names: readonly string[];
  readonly health: Health;
  readonly detail: string;
  readonly whys: readonly Why[];
}

export interface PathArrow {
  readonly from: string;
  readonly to: string;
  readonly health: Health;
  readonly label: string;
  readonly whys: readonly Why[];
}

export interface ServiceView extends Pick<ReadingFacts, 'from' | 'kind' | 'at'> {
  readonly service: string;
  readonly verdict: Verdict;
  readonly outcome: ServiceOutcome;
  readonly type: string;
  readonly path: ServicePath;
  /** `herald explain service` prints these lines, and under `-o wide` the others. */
  readonly lines: readonly string[];
  readonly wideLines: readonly string[];
  /** Why it shows the last picture, of the time `at`. Absent: it shows what is there now. */
  readonly stale?: string;
  /** True when the caller may have the nodes check it. */
  readonly mayCheck: boolean;
}

/** What connections to a Service showed, as `herald check service` prints it. */
export interface CheckView {
  /** When it ended, RFC 3339. */
  readonly at: string;
  readonly service: string;
  readonly verdict: string;
  readonly health: Health;
  /** Failures first. */
  readonly rows: readonly {
    readonly from: string;
    readonly to: string;
    readonly result: string;
    readonly time: string;
    readonly health: Health;
  }[];
  /** `fix`: "" when there is none. */
  readonly unchecked: readonly { readonly what: string; readonly why: string; readonly fix: string }[];
  /** The command prints these lines. */
  readonly lines: readonly string[];
}

/** Changes that manifests would make. */
export interface PlanView extends Pick<ReadingFacts, 'from' | 'kind' | 'at'> {
  /** Problems of the manifests: object, field and fix. */
  readonly notes: readonly Note[];
  /** `herald plan` prints these lines. */
  readonly lines: readonly string[];
  /** "Nothing would change.", or the number of changes, and how far the plan can be relied on. */
  readonly summary: readonly string[];
  readonly sections: readonly PlanSectionView[];
  readonly map: PlanMap;
}

export interface PlanSectionView {
  readonly title: string;
  /** At most `limits.planRows`. */
  readonly rows: readonly PlanRow[];
  /** Rows beyond them. */
  readonly more: number;
}

export interface PlanRow {
  /** + adds, - removes, ~ changes in place, ! interrupts. "" belongs to no such change. */
  readonly sign: '' | '+' | '-' | '~' | '!';
  readonly text: string;
}

/** Sessions and routes that change, between routers and nodes. */
export interface PlanMap {
  readonly peers: readonly string[];
  readonly nodes: readonly string[];
  readonly links: readonly PlanLink[];
}

export interface PlanLink {
  readonly peer: string;
  readonly node: string;
  /** bad: the session resets or stops. doubtful: routes are withdrawn or change. */
  readonly health: Health;
  readonly words: readonly string[];
}

export interface HistoryView extends Omit<MergedHistory, 'kind' | 'name'> {
  /** Older entries that the answer leaves out, because there are more than `limits.historyEntries`. */
  readonly left: number;
  /** Of one Service at one moment. Absent: not asked for. */
  readonly moment?: MomentView;
}

/** The path of a Service at a moment of the past, as far as running processes recorded it. */
export interface MomentView {
  /** RFC 3339. */
  readonly at: string;
  readonly peers: readonly string[];
  readonly nodes: readonly MomentNode[];
  readonly routes: readonly MomentRoute[];
  /** The last words of the controller before the moment, one for each kind of event. */
  readonly controller: readonly MomentWords[];
  /** Why the picture is not whole. */
  readonly gaps: readonly string[];
}

export interface MomentNode {
  readonly node: string;
  readonly health: Health;
  readonly words: readonly MomentWords[];
}

export interface MomentWords {
  /** RFC 3339. */
  readonly at: string;
  readonly what: string;
  readonly text: string;
}

/** Between a router and a node. */
export interface MomentRoute {
  readonly peer: string;
  readonly node: string;
  readonly health: Health;
  readonly words: string;
}
