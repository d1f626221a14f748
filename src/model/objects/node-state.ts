import { formatAddress, type Address } from '../../net/address.ts';
import type { PathKind } from '../../net/direct-return.ts';
import type { Prefix } from '../../net/prefix.ts';
import { reason, type Reason } from '../reasons.ts';
import type { AgentPodName } from './agent-pod.ts';
import { version as ownVersion } from './version.ts';
import type { Metadata, ServiceKey } from './metadata.ts';

/**
 * The report of one node's agent, its only writer. Written when its content has changed, and every half minute as a sign of life unless the
 * kubelet gives one.
 */
export interface NodeState {
  readonly kind: 'NodeState';
  readonly metadata: Metadata;
  /** RFC 3339, by the clock of the node. */
  readonly updated: string;
  /** When it was stored. Not written; the reader adds it. Absent: nothing shows it, and `updated` counts. */
  readonly recorded?: RecordedTime;
  /**
   * When it reached this process, which was watching, in milliseconds since the epoch by the clock of this process. Not written; the source
   * adds it. Absent: it was there when reading began.
   */
  readonly received?: number;
  /** The version of the agent. Absent: one that did not report it. */
  readonly version?: string;
  /** Tells agent processes apart. Absent: an agent of an older version. */
  readonly writer?: string;
  /** The Pod of the agent. Its kubelet shows that it lives. Absent: it runs in no Pod, or is of an older version. */
  readonly pod?: AgentPodName;
  /** The agent lives, by the kubelet of the node, or by the process itself. Absent: the age of the report tells. Not written; the store adds it. */
  readonly isAlive?: boolean;
  /** The highest resourceVersion that the agent has acted on, as a decimal number: of the Services, and of its own Node. */
  readonly consumed: Readonly<Record<string, string>>;
  readonly sessions: readonly SessionStatus[];
  /** Services whose actual state differs from the decision, at most 100. */
  readonly differing: readonly ServiceDifference[];
  /** More Services differ than are listed. The state of Services that are not listed is unknown. */
  readonly truncated?: true;
  /** A problem that affects every Service of the node: the data plane accepts no changes, or the agent was stopped. */
  readonly problem?: Reason;
  /** Problems of the host. Services may still work. */
  readonly host?: readonly Reason[];
  /** One entry for each address family that the host does not forward. Absent: it forwards. */
  readonly heldBack?: readonly HeldBackFamily[];
  /** Absent: the node is not being drained. */
  readonly drain?: NodeDrainReport;
  /** Absent: no Service asked for direct server return when this was written. */
  readonly directReturn?: DirectReturnReport;
  /** The links on which the node can announce addresses by ARP and NDP. Absent: there was no advertisement when this was written. */
  readonly links?: readonly NodeLink[];
  /** The node's interfaces with their addresses. Absent: none could be read, or an agent of an older version. */
  readonly interfaces?: readonly NodeInterface[];
  /** Routers that the node sends packets to: next hops of received routes, and routers that connected. Absent: none. */
  readonly routers?: readonly Address[];
  /** The addresses that the node announces by ARP and NDP, or was the last one to announce. Absent: none. */
  readonly claims?: readonly AddressClaim[];
  /** What the node saw of connections to Services. Absent: an agent of an older version. */
  readonly checks?: ChecksReport;
}

/** When a report was stored, by a clock that is not the node's. */
export interface RecordedTime {
  /** RFC 3339, in whole seconds. */
  readonly at: string;
  readonly by: 'API server' | 'file';
}

/** How an agent looks at connections: it watches those of clients; it also opens its own to endpoints without traffic; it does not look. */
export const checkModes = ['passive', 'active', 'off'] as const;
export type CheckMode = (typeof checkModes)[number];

/** What a node saw of connections to Services. It changes only when a statement about a Service does, not with each connection. */
export interface ChecksReport {
  readonly mode: CheckMode;
  /** Why the node sees nothing of connections, although it should look. Absent: it sees them. */
  readonly problem?: Reason;
  /** Frontends, by frontendKey, at which a connection was answered in the last ten minutes. Sorted, at most 500. */
  readonly answered: readonly string[];
  /** More frontends were answered than are listed. */
  readonly truncated?: true;
  /** Endpoints that this node does not reach, at most 100 entries. In the order of Service, family and port. */
  readonly failing: readonly FailingEndpoints[];
}

/** Endpoints of one port of a Service that a node does not reach: what happened to the latest connections from it, or why none is possible. */
export interface FailingEndpoints {
  readonly service: ServiceKey;
  readonly family: 'IPv4' | 'IPv6';
  /** The port of the Service: "80/TCP". */
  readonly port: string;
  /** True: all endpoints to which the node sends new connections for this port fail. */
  readonly areAll: boolean;
  /** A code of `checkReasons`. Some say that clients may be at fault, as ClientsDoNotComplete: the endpoints answer, and it is not known why clients do not go on. */
  readonly reason: Reason;
}

/** An address that a node announces by ARP and NDP, or was the last one to announce. Whoever lists it with the highest number does. */
export interface AddressClaim {
  /** As text. */
  readonly address: string;
  /** Higher than the number of every earlier claim of the address that the node knew. */
  readonly number: number;
  /** The node gives the address back to a better placed one, because that one has been there for long enough (`failback: after`). */
  readonly givesBack?: true;
}

/**
 * An address family that the host certainly does not forward. While an entry exists, other nodes do not count on this node. Once it has
 * settled, the node withdraws its routes of the family, unless it is the last next hop.
 */
export interface HeldBackFamily {
  readonly family: 'IPv4' | 'IPv6';
  /** When the agent noticed, RFC 3339. */
  readonly since: string;
  /** True once the problem has lasted long enough for routes to be withdrawn. */
  readonly settled: boolean;
  /** The problem of the host. */
  readonly reason: Reason;
}

/**
 * The progress of a node drain. Draining: routes carry GRACEFUL_SHUTDOWN. Settled: the settle time is over, but routes remain that no other
 * node announces. Withdrawn: no routes are left. Drained: no connections are left either, or the deadline has passed.
 */
export const drainPhases = ['Draining', 'Settled', 'Withdrawn', 'Drained'] as const;
export type DrainPhase = (typeof drainPhases)[number];

export interface NodeDrainReport {
  readonly phase: DrainPhase;
  /** When the drain began, RFC 3339. */
  readonly since: string;
  /** Number of Services whose routes stay because no other node announces them. */
  readonly kept: number;
  /** When the last route was withdrawn, RFC 3339; the deadline counts from there. Absent: a route is announced, or was a moment ago. */
  readonly withdrawn?: string;
  /** Connections that still arrive although their routes were withdrawn. Absent: not known yet. */
  readonly connections?: number;
}

/**
 * The node's ability to take part in direct server return. Other nodes read it to decide how to pass packets to this node. It stays valid
 * after the agent stops, because the rules stay in the kernel.
 */
export interface DirectReturnReport {
  /** Paths on which the node can receive packets: over its link, or through the tunnel. Empty: no packets may be passed to it. */
  readonly receives: readonly ('link' | 'vxlan')[];
  readonly passes: readonly PathKind[];
  /** Networks of its InternalIPs that are links shared with other nodes. */
  readonly networks: readonly Prefix[];
  /** Link-layer addresses that its packets carry on a link. */
  readonly linkAddresses: readonly string[];
  /** Interfaces of its InternalIPs. */
  readonly interfaces: readonly string[];
  /** The smallest MTU of these interfaces. Absent: unknown. */
  readonly mtu?: number;
}

/** An interface on which a node can announce addresses by ARP and NDP. It is up, has a carrier and is not a port of another interface. */
export interface NodeLink {
  readonly name: string;
  /** Lower case: "02:00:00:00:00:01". */
  readonly linkAddress: string;
  readonly networks: readonly Prefix[];
  /** The node's own addresses there, link-local ones last. Other candidates watch it by BFD at the first one of a family. */
  readonly addresses: readonly Address[];
}

/** An interface of a node, and the addresses that it has there. */
export interface NodeInterface {
  readonly name: string;
  readonly addresses: readonly InterfaceAddress[];
}

export interface InterfaceAddress {
  readonly address: Address;
  /** Length of the prefix of its network. 32 or 128: the address has no network. */
  readonly length: number;
}

/** Returns as text which addresses belong to the node and its routers. "": none are reported. */
export function addressesText({ interfaces = [], routers = [] }: Pick<NodeState, 'interfaces' | 'routers'>): string {
  const own = interfaces.map(({ name, addresses }) => `${name} ${addresses.map(interfaceAddressText).join(' ')}`);
  return [...own, ...routers.map(formatAddress)].join('\n');
}

/** "192.0.2.11/24" */
export function interfaceAddressText({ address, length }: InterfaceAddress): string {
  return `${formatAddress(address)}/${length}`;
}

/** A report older than this is ignored, unless a kubelet says that its agent lives: the agent missed three reports and counts as dead. */
const staleAfterSeconds = 90;

/**
 * Returns for how many whole seconds the agent has given no sign of life. `now` is in milliseconds since the epoch. Never negative, because
 * clocks differ.
 */
export function reportAge(state: NodeState, now: number): number {
  if (state.isAlive === true) return 0;
  return Math.max(0, Math.floor((now - signOfLife(state)) / 1000));
}

/**
 * Returns when the agent gave its last sign of life, in milliseconds since the epoch: by the clock of this process if it saw the report arrive,
 * else by that of the API server or of the file. The clock of the node counts only where nothing else is known.
 */
function signOfLife({ received, recorded, updated }: Pick<NodeState, 'received' | 'recorded' | 'updated'>): number {
  // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
  return received ?? Date.parse(recorded?.at ?? updated);
}

/** Returns the problems of the host of a node: those that its agent reports, and the clock, which only the API server shows to be wrong. */
export function hostProblemsOf(state: NodeState): readonly Reason[] {
  const skew = nodeClockSkew(state);
  return [...(skew === undefined ? [] : [skew]), ...(state.host ?? [])];
}

/** A difference between two clocks that a report shows and that may come from a slow write. */
const certainSkewSeconds = 30;

/** Returns the problem of a node whose clock differs from the API server's. Undefined: they agree, or nothing shows whether they do. */
function nodeClockSkew({ metadata, recorded, updated }: NodeState): Reason | undefined {
  // A file may be copied, or written long after its text was made.
  if (recorded?.by !== 'API server') return undefined;
  // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
  const seconds = Math.round((Date.parse(updated) - Date.parse(recorded.at)) / 1000);
  if (!(Math.abs(seconds) > certainSkewSeconds)) return undefined;
  return reason('NodeClockSkew', { node: metadata.name, seconds: Math.abs(seconds), direction: seconds > 0 ? 'ahead of' : 'behind' });
}

/**
 * Returns when a report that counts now ceases to because of its age, in milliseconds since the epoch. Infinity: the kubelet tells whether its
 * agent lives.
 */
export function lapsesAt(state: NodeState): number {
  return state.isAlive === undefined ? signOfLife(state) + (staleAfterSeconds + 1) * 1000 : Number.POSITIVE_INFINITY;
}

/** Returns the report of a node. Undefined: there is none, or its agent does not live. */
export function currentReport(reports: ReadonlyMap<string, NodeState>, node: string, now: number): NodeState | undefined {
  const state = reports.get(node);
  return state === undefined || !isCurrent(state, now) ? undefined : state;
}

/** True while the agent that wrote the report lives. */
export function isCurrent(state: NodeState, now: number): boolean {
  return state.isAlive ?? reportAge(state, now) <= staleAfterSeconds;
}

/** Returns the report of a node whose agent runs. Undefined: there is none, it is stale, or its agent has said that it stops. */
export function runningReport(reports: ReadonlyMap<string, NodeState>, node: string, now: number): NodeState | undefined {
  const state = currentReport(reports, node, now);
  return state === undefined || !isRunning(state) ? undefined : state;
}

/** False when the agent has said that it stops. Its report may be stale all the same. */
export function isRunning({ problem }: NodeState): boolean {
  return problem?.code !== 'AgentStopped';
}

/** Returns why a node has no current report. A stopped agent has said in its last one that it stops. */
export function whyNoReport(reports: ReadonlyMap<string, NodeState>, node: string): Reason {
  const last = reports.get(node);
  if (last?.problem?.code === 'AgentStopped') return last.problem;
  return reason('AgentSilent', { node });
}

/**
 * Returns why a report lacks `what`, "its links": the agent is of another version than this program, which may not know of it. Undefined: they are
 * of one version.
 */
export function notReportedBy({ metadata, version }: Pick<NodeState, 'metadata' | 'version'>, what: string): Reason | undefined {
  if (version === ownVersion) return undefined;
  return reason('AgentOtherVersion', { node: metadata.name, version: version ?? '', what, ours: ownVersion });
}

/** The states of RFC 4271 section 8. */
export const sessionStates = ['Idle', 'Connect', 'Active', 'OpenSent', 'OpenConfirm', 'Established'] as const;

export interface SessionStatus {
  readonly peer: string;
  /** Address of the peer, or "unnumbered on eth1" when none is configured and the peer was not found yet. */
  readonly address: string;
  /** The interface that the session is bound to. Absent: none. */
  readonly interface?: string;
  readonly state: (typeof sessionStates)[number];
  /** RFC 3339. "" when the peer was refused and there is no session. */
  readonly since: string;
  readonly localASN: number;
  /** 0 while unknown. */
  readonly peerASN: number;
  readonly prefixesSent: number;
  /** The address families of the established session. Absent: the session is not established, or the agent is of an older version. */
  readonly families?: readonly SessionFamily[];
  /** Why the session is down, or was down last. The peer's own text is quoted. */
  readonly lastError?: string;
  /** Why the session is down: its first cause since it was last established. Absent: it is up, nothing is known, or the agent is older. */
  readonly cause?: Reason;
  /**
   * A feature that its BGPPeer asks for and the established session lacks, such as BFD or an address family. Absent: none, or the agent is older.
   */
  readonly warning?: Reason;
  /** Present when the session went down unintentionally in the last hour. */
  readonly damping?: SessionDamping;
  /** Present when BFD monitors the path to the peer. */
  readonly bfd?: BfdStatus;
  /** The routers that connected, of a BGPPeer with `dynamicNeighbors`. The session is established if one of them is. Absent: it has none. */
  readonly neighbors?: readonly SessionNeighbor[];
}

/** A router that connected from a range of addresses. */
export interface SessionNeighbor {
  readonly address: string;
  /** 0 while unknown. */
  readonly peerASN: number;
  readonly state: (typeof sessionStates)[number];
  /** RFC 3339. */
  readonly since: string;
  readonly lastError?: string;
}

export interface SessionFamily {
  readonly family: 'IPv4' | 'IPv6';
  /** Number of routes sent to the peer. */
  readonly sent: number;
  /** Number of routes announced by the peer in this session. */
  readonly received: number;
  /** When the peer last asked for all routes in this session, RFC 3339: its policy may have changed. Absent: it has not, or the agent is older. */
  readonly refreshRequested?: string;
  /** Number of its routes that `import` of the BGPPeer accepts. Absent: it has none. */
  readonly accepted?: number;
  /** Number of these that are in the kernel. */
  readonly installed?: number;
}

/** Damping of a session that flaps. */
interface SessionDamping {
  /** The penalty halves every 15 minutes. */
  readonly penalty: number;
  readonly flapsInLastHour: number;
  /** The session is held back until this time, RFC 3339. Neither side can start one before. Absent: not held back. */
  readonly until?: string;
}

/** The states of RFC 5880 4.1. */
export const bfdStates = ['AdminDown', 'Down', 'Init', 'Up'] as const;

export interface BfdStatus {
  readonly state: (typeof bfdStates)[number];
  /** RFC 3339. */
  readonly since: string;
  /** Why BFD is not up. */
  readonly reason?: string;
  /** The BGP session waits for BFD (bfdStrict of the BGPPeer). The text says why BFD is not up. */
  readonly awaited?: string;
  /** A setting of the BFDProfile that was not applied, or is not safe on this node. */
  readonly warning?: string;
}

export const differenceAspects = ['Programmed', 'Announced', 'HealthCheck'] as const;

export interface ServiceDifference {
  readonly service: ServiceKey;
  readonly aspect: (typeof differenceAspects)[number];
  readonly reason: Reason;
}
