import type { PassingWay } from '../net/direct-return.ts';
import type { Prefix } from '../net/prefix.ts';
import type { Reason } from './reasons.ts';
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
  /** Absent: no Service asked for direct server return when it was written. */
  readonly directReturn?: DirectReturnReport;
}

/** What a node can do for direct server return: the other nodes decide by it what they pass on to it. Rules outlive the agent, so does this. */
export interface DirectReturnReport {
  /** From nodes on its link; through the tunnel. Empty: nothing must be passed on to it. */
  readonly receives: readonly ('link' | 'vxlan')[];
  readonly passes: readonly PassingWay[];
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
  /** Why it is down, or went down last, in words; the peer's own text is quoted. */
  readonly lastError?: string;
  /** Where BFD watches the way to the peer. */
  readonly bfd?: BfdStatus;
}

/** The states of RFC 5880 4.1. */
export const bfdStates = ['AdminDown', 'Down', 'Init', 'Up'] as const;

export interface BfdStatus {
  readonly state: (typeof bfdStates)[number];
  /** RFC 3339. */
  readonly since: string;
  /** Why it is not up, in words. */
  readonly reason?: string;
}

export const differenceAspects = ['Programmed', 'Announced', 'HealthCheck'] as const;

export interface ServiceDifference {
  readonly service: ServiceKey;
  readonly aspect: (typeof differenceAspects)[number];
  readonly reason: Reason;
}
