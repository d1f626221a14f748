import type { PathKind } from '../../net/direct-return.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { Reason } from '../reasons.ts';
import type { Metadata, ServiceKey } from './metadata.ts';

/** What an agent reports of its node: one writer, at most every 30 s and at once when a session changes. */
export interface NodeState {
  readonly kind: 'NodeState';
  readonly metadata: Metadata;
  readonly updated: string;
  /** Highest resourceVersion that the agent has acted upon, by kind: decimal numbers. */
  readonly consumed: Readonly<Record<string, string>>;
  readonly sessions: readonly SessionStatus[];
  /** At most 100 Services whose actual state differs from the decision. */
  readonly differing: readonly ServiceDifference[];
  /** More Services differ than are listed: of those that are not, nothing is known. */
  readonly truncated?: true;
  /** What concerns every Service of the node: the data plane takes no changes, or the agent was stopped. */
  readonly problem?: Reason;
  /** What is wrong with the host, or missing on it: Services may work all the same. */
  readonly host?: readonly Reason[];
  /** Absent: the node is not drained. */
  readonly drain?: NodeDrainReport;
  /** Absent: no Service asked for direct server return when it was written. */
  readonly directReturn?: DirectReturnReport;
}

/**
 * How far the drain of a node is. Draining: its routes carry GRACEFUL_SHUTDOWN. Settled: they had it long enough, and some are the last of their
 * Services. Withdrawn: there are none any more. Drained: nor connections, or the deadline is over.
 */
export const drainPhases = ['Draining', 'Settled', 'Withdrawn', 'Drained'] as const;
export type DrainPhase = (typeof drainPhases)[number];

export interface NodeDrainReport {
  readonly phase: DrainPhase;
  /** When it was begun, RFC 3339. */
  readonly since: string;
  /** Services whose routes stay because no other node announces them. */
  readonly kept: number;
  /** Since when nothing is announced, RFC 3339: the deadline counts from there. Absent: something is, or was a moment ago. */
  readonly withdrawn?: string;
  /** Connections that still came by routes that are gone; absent: not known yet. */
  readonly connections?: number;
}

/** What a node can do for direct server return: the other nodes decide by it what they pass on to it. Rules outlive the agent, so does this. */
export interface DirectReturnReport {
  /** From nodes on its link; through the tunnel. Empty: nothing must be passed on to it. */
  readonly receives: readonly ('link' | 'vxlan')[];
  readonly passes: readonly PathKind[];
  /** The networks of its InternalIPs, as far as they are links with other nodes. */
  readonly networks: readonly Prefix[];
  /** By which its packets are known on a link. */
  readonly linkAddresses: readonly string[];
  /** Of its InternalIPs. */
  readonly interfaces: readonly string[];
  /** The largest packet that these take; absent: unknown. */
  readonly mtu?: number;
}

/** An agent that has missed three of its reports is taken for dead: what it said last no longer counts. */
export const staleAfterSeconds = 90;

/** Age of a report in whole seconds, at `now` in milliseconds since the epoch; never negative, as clocks differ. */
export function reportAge(state: NodeState, now: number): number {
  // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
  return Math.max(0, Math.floor((now - Date.parse(state.updated)) / 1000));
}

/** The report of a node; undefined: there is none, or it is stale. */
export function currentReport(reports: ReadonlyMap<string, NodeState>, node: string, now: number): NodeState | undefined {
  const state = reports.get(node);
  return state === undefined || reportAge(state, now) > staleAfterSeconds ? undefined : state;
}

/** The states of RFC 4271 section 8. */
export const sessionStates = ['Idle', 'Connect', 'Active', 'OpenSent', 'OpenConfirm', 'Established'] as const;

export interface SessionStatus {
  readonly peer: string;
  /** "unnumbered on eth1" where the peer has none configured and was not found yet. */
  readonly address: string;
  /** That the session is bound to. */
  readonly interface?: string;
  readonly state: (typeof sessionStates)[number];
  /** RFC 3339; empty where the peer was refused and there is no session. */
  readonly since: string;
  readonly localASN: number;
  /** 0 until it is known. */
  readonly peerASN: number;
  readonly prefixesSent: number;
  /** By family that the session carries while it is up; absent: it is not, or an older agent reports. */
  readonly families?: readonly SessionFamily[];
  /** Why it is down, or went down last, in words; the peer's own text is quoted. */
  readonly lastError?: string;
  /** Of a session that went down in the last hour though nobody wanted it to. */
  readonly damping?: SessionDamping;
  /** Where BFD watches the way to the peer. */
  readonly bfd?: BfdStatus;
}

export interface SessionFamily {
  readonly family: 'IPv4' | 'IPv6';
  /** Routes that the peer has of us. */
  readonly sent: number;
  /** Announcements that the peer has sent in this session; we keep none of them. */
  readonly received: number;
}

/** Of a session that flaps. */
interface SessionDamping {
  /** It halves in 15 minutes. */
  readonly penalty: number;
  readonly flapsInLastHour: number;
  /** RFC 3339. The session is held back, and neither side begins one before. */
  readonly until?: string;
}

/** The states of RFC 5880 4.1. */
export const bfdStates = ['AdminDown', 'Down', 'Init', 'Up'] as const;

export interface BfdStatus {
  readonly state: (typeof bfdStates)[number];
  /** RFC 3339. */
  readonly since: string;
  /** Why it is not up, in words. */
  readonly reason?: string;
  /** The BGP session waits for BFD (bfdStrict of the BGPPeer): what keeps BFD from being up, in words. */
  readonly awaited?: string;
  /** What of the BFDProfile is not as it was asked for, or not safe on this node, in words. */
  readonly warning?: string;
}

export const differenceAspects = ['Programmed', 'Announced', 'HealthCheck'] as const;

export interface ServiceDifference {
  readonly service: ServiceKey;
  readonly aspect: (typeof differenceAspects)[number];
  readonly reason: Reason;
}
