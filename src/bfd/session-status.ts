import type { SessionCounters } from './counters.ts';
import type { SessionState } from './wire/codes.ts';

/** The status of a session, as plain values. Times are in milliseconds. */
export interface SessionStatus {
  readonly name: string;
  readonly peer: string;
  readonly interface?: string;
  readonly multihop: boolean;
  readonly state: SessionState;
  /** When the session entered `state`. */
  readonly since: Date;
  /** The reason of the latest change, as sent to the peer. */
  readonly diagnostic: number;
  readonly discriminator: number;
  readonly remote: RemoteStatus;
  /** The values in sent packets. */
  readonly advertised: { readonly transmitInterval: number; readonly receiveInterval: number; readonly detectMultiplier: number };
  /** Interval between sent packets before jitter. Undefined: none are sent. */
  readonly transmitInterval: number | undefined;
  /** Silence after which the session goes down. Undefined until a packet arrived. */
  readonly detectionTime: number | undefined;
  /** A change of intervals waits for the Final bit of the peer. */
  readonly polling: boolean;
  /** The latest time in which the session was down after it had been up. */
  readonly lastDown?: DownTime;
  readonly counters: SessionCounters;
  /** Why nothing is sent or received. */
  readonly problem?: string;
  readonly warnings: readonly string[];
}

/** The values of the latest packet of the peer. */
export interface RemoteStatus {
  readonly state: SessionState;
  readonly diagnostic: number;
  /** 0: no packet has arrived. */
  readonly discriminator: number;
  readonly transmitInterval: number;
  readonly receiveInterval: number;
  readonly detectMultiplier: number;
  readonly demand: boolean;
  /** The peer's BFD continues without its control plane, so BFD can be up while its BGP is not (RFC 5882 4.3). */
  readonly controlPlaneIndependent: boolean;
}

export interface DownTime {
  readonly at: Date;
  readonly diagnostic: number;
  /** Milliseconds until the session was up again. Undefined: it is still down. */
  readonly duration: number | undefined;
}

/** A state change. */
export interface Transition {
  readonly at: Date;
  readonly from: SessionState;
  readonly to: SessionState;
  readonly diagnostic: number;
  readonly remoteState: SessionState;
  readonly remoteDiagnostic: number;
}
