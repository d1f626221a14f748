import type { SessionCounters } from './counters.ts';
import type { SessionState } from './wire/codes.ts';

/** Plain values; times in milliseconds. */
export interface SessionStatus {
  readonly name: string;
  readonly peer: string;
  readonly interface?: string;
  readonly multihop: boolean;
  readonly state: SessionState;
  /** When `state` was entered. */
  readonly since: Date;
  /** Why, as it is told to the peer. */
  readonly diagnostic: number;
  readonly discriminator: number;
  readonly remote: RemoteStatus;
  /** What we say. */
  readonly advertised: { readonly transmitInterval: number; readonly receiveInterval: number; readonly detectMultiplier: number };
  /** Time between our packets before jitter; undefined: none are sent. */
  readonly transmitInterval: number | undefined;
  /** Silence after which the peer is given up; undefined while nothing was heard. */
  readonly detectionTime: number | undefined;
  /** A change of the intervals waits for the peer's answer. */
  readonly polling: boolean;
  /** The latest time that the session was down after it had been up. */
  readonly lastDown?: DownTime;
  readonly counters: SessionCounters;
  /** Why nothing is sent or received, in words. */
  readonly problem?: string;
  readonly warnings: readonly string[];
}

/** What the peer says. */
export interface RemoteStatus {
  readonly state: SessionState;
  readonly diagnostic: number;
  /** 0: nothing was heard. */
  readonly discriminator: number;
  readonly transmitInterval: number;
  readonly receiveInterval: number;
  readonly detectMultiplier: number;
  readonly demand: boolean;
  /** Its BFD goes on without its control plane: that BFD is up does not say that its BGP is (RFC 5882 4.3). */
  readonly controlPlaneIndependent: boolean;
}

export interface DownTime {
  readonly at: Date;
  readonly diagnostic: number;
  /** Milliseconds until it was up again; undefined: it still is down. */
  readonly duration: number | undefined;
}

/** A step of the state machine. */
export interface Transition {
  readonly at: Date;
  readonly from: SessionState;
  readonly to: SessionState;
  readonly diagnostic: number;
  readonly remoteState: SessionState;
  readonly remoteDiagnostic: number;
}
