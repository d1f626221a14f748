import type { Family } from '../../net/address.ts';
import type { LocalOpen } from '../negotiation/local-open.ts';
import type { Negotiated } from '../negotiation/negotiate.ts';
import type { Problem } from '../diagnosis/problem.ts';
import type { TransportFailure } from '../transport/transport.ts';
import type { Fault } from '../wire/fault.ts';
import type { StateName } from '../diagnosis/session-state.ts';
import type { Notification } from '../wire/notification.ts';
import type { OpenMessage } from '../wire/open.ts';

/** The state of the state machine in fsm.ts. This file also has its events and effects. */

export interface FsmState {
  readonly name: StateName;
  /** Protocol errors in a row. They lengthen the pause before the next attempt. */
  readonly failures: number;
  /**
   * In Idle after a session ended: whether a connection from the peer ends the pause. After a protocol error it does not, or a peer that
   * disagrees would set the pace (RFC 4271 8.1.1, DampPeerOscillations). Absent in Idle: stopped.
   */
  readonly idleHold?: 'accepting' | 'refusing';
  /** The peer refused the optional parameters, so the next OPEN has none (RFC 5492 3). */
  readonly withoutOptionalParameters?: true;
  /** Present in OpenConfirm and Established. */
  readonly negotiated?: Negotiated;
}

export const initialState: FsmState = { name: 'Idle', failures: 0 };

/** The timers of a connection. `stable` starts when the session is established; when it expires, earlier failures are cleared. */
export type TimerName = 'connectRetry' | 'connect' | 'hold' | 'keepalive' | 'sendHold' | 'stable';

export type FsmEvent =
  | { readonly type: 'start' }
  /** With a NOTIFICATION the peer learns why. Without one the connection just ends, and the peer may keep the routes (RFC 4724). */
  | { readonly type: 'stop'; readonly notification: Notification | undefined; readonly problem: Problem }
  | { readonly type: 'connectRetryExpired' }
  | { readonly type: 'connectExpired' }
  | { readonly type: 'holdExpired' }
  | { readonly type: 'keepaliveExpired' }
  | { readonly type: 'sendHoldExpired' }
  | { readonly type: 'stableExpired' }
  /**
   * The session flapped too often: hold it in Idle for this time, without connections of either side (RFC 4271 8.1.1,
   * DampPeerOscillations).
   */
  | { readonly type: 'hold'; readonly milliseconds: number }
  /** The dialed connection is open. */
  | { readonly type: 'connected' }
  /** The peer opened a connection. */
  | { readonly type: 'accepted' }
  | { readonly type: 'connectFailed'; readonly failure: TransportFailure }
  | { readonly type: 'closed'; readonly failure: TransportFailure | undefined }
  | { readonly type: 'open'; readonly open: OpenMessage }
  | { readonly type: 'keepalive' }
  | { readonly type: 'update' }
  /** `family`: the family that the peer asked for. Undefined for the markers of an enhanced refresh and for unknown families. */
  | { readonly type: 'routeRefresh'; readonly family: Family | undefined }
  | { readonly type: 'notification'; readonly notification: Notification }
  | { readonly type: 'fault'; readonly fault: Fault };

export type EventType = FsmEvent['type'];
export type EventOf<T extends EventType> = Extract<FsmEvent, { readonly type: T }>;

export type Effect =
  | { readonly type: 'dial' }
  | { readonly type: 'sendOpen'; readonly localOpen: LocalOpen }
  | { readonly type: 'sendKeepalive' }
  /** Sends the NOTIFICATION, if any, and half-closes. The connection is destroyed when the peer has read it, or after a limited time. */
  | { readonly type: 'finish'; readonly notification: Notification | undefined }
  /** Destroys the connection, or cancels the dial. */
  | { readonly type: 'close' }
  /** A timer with jitter runs for 0.75 to 1 times the duration (RFC 4271 10). */
  | { readonly type: 'arm'; readonly timer: TimerName; readonly milliseconds: number; readonly jitter: boolean }
  /** Extends the timer to this duration. A timer that runs longer is not changed. */
  | { readonly type: 'prolong'; readonly timer: TimerName; readonly milliseconds: number }
  | { readonly type: 'cancel'; readonly timers: readonly TimerName[] }
  | { readonly type: 'established'; readonly negotiated: Negotiated }
  | { readonly type: 'down'; readonly problem: Problem }
  | { readonly type: 'readvertise'; readonly family: Family };

/** Configuration of the state machine. All times are in seconds. */
export interface FsmConfig {
  readonly localOpen: LocalOpen;
  /** The speaker does not dial. */
  readonly passive: boolean;
  readonly connectRetryTime: number;
  readonly connectTimeout: number;
  readonly openHoldTime: number;
  readonly maximumBackoff: number;
  /** Pause after the peer reported that it was shut down or got too many prefixes. */
  readonly shutdownRetryTime: number;
  /** When absent, a third of the negotiated hold time, which is also the maximum (RFC 4271 4.4). */
  readonly keepaliveTime: number | undefined;
}

export interface Step {
  readonly state: FsmState;
  readonly effects: readonly Effect[];
}
