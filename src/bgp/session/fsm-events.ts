import type { Family } from '../../net/address.ts';
import type { LocalOpen } from '../negotiation/local-open.ts';
import type { Negotiated } from '../negotiation/negotiate.ts';
import type { Problem } from '../diagnosis/problem.ts';
import type { TransportFailure } from '../transport/transport.ts';
import type { Fault } from '../wire/fault.ts';
import type { StateName } from '../session-state.ts';
import type { Notification } from '../wire/notification.ts';
import type { OpenMessage } from '../wire/open.ts';

/** The vocabulary of the state machine in fsm.ts: what it is in, what happens to it, and what it wants done. */

export interface FsmState {
  readonly name: StateName;
  /** Protocol errors in a row: they lengthen the pause before the next attempt. */
  readonly failures: number;
  /**
   * Whether a pause in Idle ends when the peer connects. After an error of its own it does not, or a peer that disagrees with
   * us would set the pace (RFC 4271 8.1.1, DampPeerOscillations). Absent in Idle: stopped.
   */
  readonly idleHold?: 'accepting' | 'refusing';
  /** The peer did not take our optional parameters, so the next OPEN goes without (RFC 5492 3). */
  readonly withoutOptionalParameters?: true;
  /** In OpenConfirm and Established. */
  readonly negotiated?: Negotiated;
}

export const initialState: FsmState = { name: 'Idle', failures: 0 };

/** `stable` runs since the session was established; when it expires, earlier failures are forgotten. */
export type TimerName = 'connectRetry' | 'connect' | 'hold' | 'keepalive' | 'sendHold' | 'stable';

export type FsmEvent =
  | { readonly type: 'start' }
  /** With a NOTIFICATION the peer is told why. Without one the connection just ends: the peer may keep our routes (RFC 4724). */
  | { readonly type: 'stop'; readonly notification: Notification | undefined; readonly problem: Problem }
  | { readonly type: 'connectRetryExpired' }
  | { readonly type: 'connectExpired' }
  | { readonly type: 'holdExpired' }
  | { readonly type: 'keepaliveExpired' }
  | { readonly type: 'sendHoldExpired' }
  | { readonly type: 'stableExpired' }
  /** The session has flapped too often: no connection of either side's for so long (RFC 4271 8.1.1, DampPeerOscillations). */
  | { readonly type: 'hold'; readonly milliseconds: number }
  /** Our dial succeeded. */
  | { readonly type: 'connected' }
  /** The peer connected to us. */
  | { readonly type: 'accepted' }
  | { readonly type: 'connectFailed'; readonly failure: TransportFailure }
  | { readonly type: 'closed'; readonly failure: TransportFailure | undefined }
  | { readonly type: 'open'; readonly open: OpenMessage }
  | { readonly type: 'keepalive' }
  | { readonly type: 'update' }
  /** `family`: the one that the peer wants again; undefined for the marks of an enhanced refresh and for what we do not know. */
  | { readonly type: 'routeRefresh'; readonly family: Family | undefined }
  | { readonly type: 'notification'; readonly notification: Notification }
  | { readonly type: 'fault'; readonly fault: Fault };

export type EventType = FsmEvent['type'];
export type EventOf<T extends EventType> = Extract<FsmEvent, { readonly type: T }>;

export type Effect =
  | { readonly type: 'dial' }
  | { readonly type: 'sendOpen'; readonly localOpen: LocalOpen }
  | { readonly type: 'sendKeepalive' }
  /** Sends the NOTIFICATION, if any, half closes, and destroys the connection when the peer has read it or after a bounded time. */
  | { readonly type: 'finish'; readonly notification: Notification | undefined }
  /** Destroys the connection, or gives up the attempt to make it. */
  | { readonly type: 'close' }
  /** A jittered timer runs for 0.75 to 1 times as long (RFC 4271 10). */
  | { readonly type: 'arm'; readonly timer: TimerName; readonly milliseconds: number; readonly jitter: boolean }
  /** Not before: a timer that runs longer is left. */
  | { readonly type: 'prolong'; readonly timer: TimerName; readonly milliseconds: number }
  | { readonly type: 'cancel'; readonly timers: readonly TimerName[] }
  | { readonly type: 'established'; readonly negotiated: Negotiated }
  | { readonly type: 'down'; readonly problem: Problem }
  | { readonly type: 'readvertise'; readonly family: Family };

/** All times in seconds. */
export interface FsmConfig {
  readonly localOpen: LocalOpen;
  /** We never dial. */
  readonly passive: boolean;
  readonly connectRetryTime: number;
  readonly connectTimeout: number;
  readonly openHoldTime: number;
  readonly maximumBackoff: number;
  /** The pause after the peer said that it was shut down, or that we sent too much. */
  readonly shutdownRetryTime: number;
  /** Absent: a third of the negotiated hold time, which also is the most (RFC 4271 4.4). */
  readonly keepaliveTime: number | undefined;
}

export interface Step {
  readonly state: FsmState;
  readonly effects: readonly Effect[];
}
