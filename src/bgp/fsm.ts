import assert from 'node:assert';
import type { Family } from '../net/address.ts';
import { negotiate, type Identity, type Negotiated } from './negotiate.ts';
import type { Problem, TransportFailure } from './problem.ts';
import { errorCode } from './wire/codes.ts';
import { noData, type Fault } from './wire/fault.ts';
import type { Notification } from './wire/notification.ts';
import type { OpenMessage } from './wire/open.ts';

/**
 * The state machine of RFC 4271 section 8 as a pure function. Timers and sockets only post events; what is to be done
 * comes out as effects, in order. One connection at a time: we dial, and nobody dials us.
 *
 * Idle: stopped, or pausing after a session ended (the connectRetry timer runs). Connect: dialing. Active: pausing after
 * a dial that failed.
 */
export const stateNames = ['Idle', 'Connect', 'Active', 'OpenSent', 'OpenConfirm', 'Established'] as const;
export type StateName = (typeof stateNames)[number];

export interface FsmState {
  readonly name: StateName;
  /** Protocol errors in a row: they lengthen the pause before the next attempt. */
  readonly failures: number;
  /** In OpenConfirm and Established. */
  readonly negotiated?: Negotiated;
}

export const initialState: FsmState = { name: 'Idle', failures: 0 };

/** `stable` runs since the session was established; when it expires, earlier failures are forgotten. */
export type TimerName = 'connectRetry' | 'connect' | 'hold' | 'keepalive' | 'sendHold' | 'stable';

export type FsmEvent =
  | { readonly type: 'start' }
  | { readonly type: 'stop'; readonly notification: Notification }
  | { readonly type: 'connectRetryExpired' }
  | { readonly type: 'connectExpired' }
  | { readonly type: 'holdExpired' }
  | { readonly type: 'keepaliveExpired' }
  | { readonly type: 'sendHoldExpired' }
  | { readonly type: 'stableExpired' }
  | { readonly type: 'connected' }
  | { readonly type: 'connectFailed'; readonly failure: TransportFailure }
  | { readonly type: 'closed'; readonly failure: TransportFailure | undefined }
  | { readonly type: 'open'; readonly open: OpenMessage }
  | { readonly type: 'keepalive' }
  | { readonly type: 'update' }
  | { readonly type: 'routeRefresh'; readonly family: Family | undefined }
  | { readonly type: 'notification'; readonly notification: Notification }
  | { readonly type: 'fault'; readonly fault: Fault };

export type EventType = FsmEvent['type'];
type EventOf<T extends EventType> = Extract<FsmEvent, { readonly type: T }>;

export type Effect =
  | { readonly type: 'dial' }
  | { readonly type: 'send'; readonly message: 'open' | 'keepalive' }
  /** Sends it, half closes, and destroys the connection when the peer has read it or after a bounded time. */
  | { readonly type: 'notify'; readonly notification: Notification }
  /** Destroys the connection, or gives up the attempt to make it. */
  | { readonly type: 'close' }
  /** A jittered timer runs for 0.75 to 1 times as long (RFC 4271 10). */
  | { readonly type: 'arm'; readonly timer: TimerName; readonly milliseconds: number; readonly jitter: boolean }
  | { readonly type: 'cancel'; readonly timers: readonly TimerName[] }
  | { readonly type: 'established'; readonly negotiated: Negotiated }
  | { readonly type: 'down'; readonly problem: Problem }
  | { readonly type: 'readvertise'; readonly family: Family };

/** All times in seconds. */
export interface FsmConfig {
  readonly identity: Identity;
  readonly connectRetryTime: number;
  readonly connectTimeout: number;
  readonly openHoldTime: number;
  readonly maximumBackoff: number;
  /** Absent: a third of the negotiated hold time, which also is the most (RFC 4271 4.4). */
  readonly keepaliveTime: number | undefined;
}

export interface Step {
  readonly state: FsmState;
  readonly effects: readonly Effect[];
}

export function step(state: FsmState, event: FsmEvent, config: FsmConfig): Step {
  const cell = table[state.name][event.type] as (state: FsmState, event: FsmEvent, config: FsmConfig) => Step;
  return cell(state, event, config);
}

type Cell<T extends EventType> = (state: FsmState, event: EventOf<T>, config: FsmConfig) => Step;
type Row = { readonly [T in EventType]: Cell<T> };

const ignore = (state: FsmState): Step => ({ state, effects: [] });

/** Nothing is open, so there is nothing to say. */
const stopQuietly: Cell<'stop'> = (_, { notification }) => ({
  state: initialState,
  effects: [cancelAll, { type: 'close' }, { type: 'down', problem: { kind: 'stopped', notification } }],
});

const stopWithNotification: Cell<'stop'> = (_, { notification }) => ({
  state: initialState,
  effects: [cancelAll, { type: 'notify', notification }, { type: 'down', problem: { kind: 'stopped', notification } }],
});

/** A stray event from a connection that is no longer ours, closed for safety. */
const drop: (state: FsmState) => Step = (state) => ({ state, effects: [{ type: 'close' }] });

const dial = (state: FsmState, _: unknown, config: FsmConfig): Step => ({
  state: { name: 'Connect', failures: state.failures },
  effects: [{ type: 'dial' }, arm('connect', config.connectTimeout)],
});

const sendOpen: Cell<'connected'> = (state, _, config) => ({
  state: { name: 'OpenSent', failures: state.failures },
  effects: [{ type: 'cancel', timers: ['connect'] }, { type: 'send', message: 'open' }, arm('hold', config.openHoldTime)],
});

const dialFailed: Cell<'connectFailed'> = (state, { failure }, config) => pause(state, { kind: 'connectFailed', failure }, config);

const dialTimedOut: Cell<'connectExpired'> = (state, _, config) =>
  pause(state, { kind: 'connectTimeout', seconds: config.connectTimeout }, config);

/** RFC 4271 8.2.2: from Connect and OpenSent, a lost connection leads to Active, not Idle. */
const lostEarly: Cell<'closed'> = (state, { failure }, config) => pause(state, { kind: 'lost', failure }, config);

const lost: Cell<'closed'> = (state, { failure }, config) => ({
  state: { name: 'Idle', failures: state.failures },
  effects: [cancelAll, { type: 'close' }, retryLater(config.connectRetryTime), { type: 'down', problem: { kind: 'lost', failure } }],
});

const acceptOpen: Cell<'open'> = (state, { open }, config) => {
  const result = negotiate(open, config.identity);
  if (!result.ok) return refuse(state, result.fault, config);
  const negotiated = result.value;
  return {
    state: { name: 'OpenConfirm', failures: state.failures, negotiated },
    effects: [{ type: 'send', message: 'keepalive' }, ...runSessionTimers(negotiated, config)],
  };
};

const establish: Cell<'keepalive'> = (state, _, config) => {
  const negotiated = negotiatedOf(state);
  return {
    state: { ...state, name: 'Established' },
    effects: [...heard(state), arm('stable', config.maximumBackoff), { type: 'established', negotiated }],
  };
};

const stayAlive = (state: FsmState): Step => ({ state, effects: heard(state) });

const readvertise: Cell<'routeRefresh'> = (state, { family }) => {
  const wanted = family !== undefined && negotiatedOf(state).families.includes(family);
  return { state, effects: wanted ? [...heard(state), { type: 'readvertise', family }] : heard(state) };
};

const sendKeepalive: Cell<'keepaliveExpired'> = (state, _, config) => ({
  state,
  effects: [{ type: 'send', message: 'keepalive' }, ...keepaliveTimer(negotiatedOf(state), config)],
});

/** A peer that fell silent is no protocol error: the next attempt follows after the usual pause. */
const holdExpired: Cell<'holdExpired'> = (state, _, config) => {
  const seconds = state.negotiated?.holdTime ?? config.openHoldTime;
  const notification = { code: errorCode.holdTimer, subcode: 0, data: noData };
  return closeWith(state, notification, { kind: 'holdTimerExpired', seconds }, config.connectRetryTime);
};

const sendHoldExpired: Cell<'sendHoldExpired'> = (state, _, config) => {
  const notification = { code: errorCode.sendHoldTimer, subcode: 0, data: noData };
  return closeWith(state, notification, { kind: 'sendHoldTimerExpired' }, config.connectRetryTime);
};

const forget: Cell<'stableExpired'> = (state) => ({ state: { ...state, failures: 0 }, effects: [] });

const received: Cell<'notification'> = (state, { notification }, config) => ({
  state: { name: 'Idle', failures: state.failures + 1 },
  effects: [
    cancelAll,
    { type: 'close' },
    retryLater(backoff(state, config)),
    { type: 'down', problem: { kind: 'received', notification } },
  ],
});

const faulty: Cell<'fault'> = (state, { fault }, config) => refuse(state, fault, config);

/** RFC 6608: which state the message was unexpected in is the subcode. */
const unexpected =
  (subcode: 1 | 2 | 3) =>
  (state: FsmState, event: FsmEvent, config: FsmConfig): Step => {
    const notification = { code: errorCode.fsm, subcode, data: noData };
    const detail = `unexpected ${event.type === 'routeRefresh' ? 'ROUTE-REFRESH' : event.type.toUpperCase()} in state ${state.name}`;
    return protocolError(state, notification, detail, config);
  };

/** Every state x event pair is here on purpose. Timers that a state never runs are ignored: they may fire while being cancelled. */
const table: { readonly [S in StateName]: Row } = {
  Idle: {
    start: dial,
    stop: stopQuietly,
    connectRetryExpired: dial,
    connectExpired: ignore,
    holdExpired: ignore,
    keepaliveExpired: ignore,
    sendHoldExpired: ignore,
    stableExpired: ignore,
    connected: drop,
    connectFailed: ignore,
    closed: ignore,
    open: drop,
    keepalive: drop,
    update: drop,
    routeRefresh: drop,
    notification: drop,
    fault: drop,
  },
  Connect: {
    start: ignore,
    stop: stopQuietly,
    connectRetryExpired: ignore,
    connectExpired: dialTimedOut,
    holdExpired: ignore,
    keepaliveExpired: ignore,
    sendHoldExpired: ignore,
    stableExpired: ignore,
    connected: sendOpen,
    connectFailed: dialFailed,
    closed: lostEarly,
    // No connection, so no message can come.
    open: ignore,
    keepalive: ignore,
    update: ignore,
    routeRefresh: ignore,
    notification: ignore,
    fault: ignore,
  },
  Active: {
    start: ignore,
    stop: stopQuietly,
    connectRetryExpired: dial,
    connectExpired: ignore,
    holdExpired: ignore,
    keepaliveExpired: ignore,
    sendHoldExpired: ignore,
    stableExpired: ignore,
    connected: drop,
    connectFailed: ignore,
    closed: ignore,
    open: drop,
    keepalive: drop,
    update: drop,
    routeRefresh: drop,
    notification: drop,
    fault: drop,
  },
  OpenSent: {
    start: ignore,
    stop: stopWithNotification,
    connectRetryExpired: ignore,
    connectExpired: ignore,
    holdExpired,
    keepaliveExpired: ignore,
    sendHoldExpired,
    stableExpired: ignore,
    connected: ignore,
    connectFailed: ignore,
    closed: lostEarly,
    open: acceptOpen,
    keepalive: unexpected(1),
    update: unexpected(1),
    routeRefresh: unexpected(1),
    notification: received,
    fault: faulty,
  },
  OpenConfirm: {
    start: ignore,
    stop: stopWithNotification,
    connectRetryExpired: ignore,
    connectExpired: ignore,
    holdExpired,
    keepaliveExpired: sendKeepalive,
    sendHoldExpired,
    stableExpired: ignore,
    connected: ignore,
    connectFailed: ignore,
    closed: lost,
    open: unexpected(2),
    keepalive: establish,
    update: unexpected(2),
    routeRefresh: unexpected(2),
    notification: received,
    fault: faulty,
  },
  Established: {
    start: ignore,
    stop: stopWithNotification,
    connectRetryExpired: ignore,
    connectExpired: ignore,
    holdExpired,
    keepaliveExpired: sendKeepalive,
    sendHoldExpired,
    stableExpired: forget,
    connected: ignore,
    connectFailed: ignore,
    closed: lost,
    open: unexpected(3),
    keepalive: stayAlive,
    update: stayAlive,
    routeRefresh: readvertise,
    notification: received,
    fault: faulty,
  },
};

const cancelAll: Effect = { type: 'cancel', timers: ['connectRetry', 'connect', 'hold', 'keepalive', 'sendHold', 'stable'] };

function arm(timer: TimerName, seconds: number): Effect {
  return { type: 'arm', timer, milliseconds: seconds * 1000, jitter: timer === 'keepalive' || timer === 'connectRetry' };
}

const retryLater = (seconds: number): Effect => arm('connectRetry', seconds);

function negotiatedOf(state: FsmState): Negotiated {
  assert(state.negotiated !== undefined, `nothing is negotiated in state ${state.name}`);
  return state.negotiated;
}

/** Something valid was received. */
function heard(state: FsmState): Effect[] {
  const { holdTime } = negotiatedOf(state);
  return holdTime === 0 ? [] : [arm('hold', holdTime)];
}

/** Hold time 0 means neither timer (RFC 4271 4.2). */
function runSessionTimers(negotiated: Negotiated, config: FsmConfig): Effect[] {
  if (negotiated.holdTime === 0) return [{ type: 'cancel', timers: ['hold'] }];
  return [arm('hold', negotiated.holdTime), ...keepaliveTimer(negotiated, config)];
}

function keepaliveTimer({ holdTime }: Negotiated, config: FsmConfig): Effect[] {
  if (holdTime === 0) return [];
  return [arm('keepalive', Math.min(config.keepaliveTime ?? Infinity, holdTime / 3))];
}

/** The pause stays the same however often the peer is not there: it must be found soon after it comes back. */
function pause(state: FsmState, problem: Problem, config: FsmConfig): Step {
  return {
    state: { name: 'Active', failures: state.failures },
    effects: [cancelAll, { type: 'close' }, retryLater(config.connectRetryTime), { type: 'down', problem }],
  };
}

/** Two speakers that disagree would do so every few seconds for ever, so the pause doubles (RFC 4271 8.1.1, DampPeerOscillations). */
function backoff(state: FsmState, { connectRetryTime, maximumBackoff }: FsmConfig): number {
  return Math.max(connectRetryTime, Math.min(connectRetryTime * 2 ** Math.min(state.failures, 16), maximumBackoff));
}

function refuse(state: FsmState, { code, subcode, data, problem }: Fault, config: FsmConfig): Step {
  return protocolError(state, { code, subcode, data }, problem, config);
}

function protocolError(state: FsmState, notification: Notification, detail: string, config: FsmConfig): Step {
  const next = closeWith(state, notification, { kind: 'sent', notification, detail }, backoff(state, config));
  return { ...next, state: { ...next.state, failures: state.failures + 1 } };
}

function closeWith(state: FsmState, notification: Notification, problem: Problem, pauseSeconds: number): Step {
  return {
    state: { name: 'Idle', failures: state.failures },
    effects: [cancelAll, { type: 'notify', notification }, retryLater(pauseSeconds), { type: 'down', problem }],
  };
}
