import type { Reason } from './reasons.ts';
import type { Metadata, ServiceKey } from './metadata.ts';

/** What an agent reports of its node: one writer, at most every 30 s and at once when a session changes. */
export interface NodeState {
  readonly kind: 'NodeState';
  readonly metadata: Metadata;
  readonly updated: string;
  /** Highest resourceVersion that the agent has acted upon, by kind. */
  readonly consumed: Readonly<Record<string, string>>;
  readonly sessions: readonly SessionStatus[];
  /** At most 100 Services whose actual state differs from the decision. */
  readonly differing: readonly ServiceDifference[];
}

export interface SessionStatus {
  readonly peer: string;
  readonly address: string;
  readonly state: 'Idle' | 'Connect' | 'Active' | 'OpenSent' | 'OpenConfirm' | 'Established';
  /** RFC 3339. */
  readonly since: string;
  readonly localASN: number;
  /** 0 until it is known. */
  readonly peerASN: number;
  readonly prefixesSent: number;
  /** Why it is down, or went down last, in words; the peer's own text is quoted. */
  readonly lastError?: string;
}

export interface ServiceDifference {
  readonly service: ServiceKey;
  readonly aspect: 'Programmed' | 'Announced';
  readonly reason: Reason;
}
