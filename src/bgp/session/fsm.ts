import assert from 'node:assert';
import { defined } from '../../lang/defined.ts';
import {
  initialState,
  type Effect,
  type EventOf,
  type EventType,
  type FsmConfig,
  type FsmEvent,
  type FsmState,
  type Step,
  type TimerName,
} from './fsm-events.ts';
import type { StateName } from '../diagnosis/session-state.ts';
import type { LocalOpen } from '../negotiation/local-open.ts';
import { negotiate, type Negotiated } from '../negotiation/negotiate.ts';
import type { Problem } from '../diagnosis/problem.ts';
import { cease, errorCode, openError } from '../wire/codes.ts';
import { noData, type Fault } from '../wire/fault.ts';
import { innermost, type Notification } from '../wire/notification.ts';

/**
 * The state machine of RFC 4271 section 8 for one connection, as a pure function. Timers and sockets only post events. The function returns
 * the effects to carry out, in order. During a connection collision a session has two state machines, until collision detection ends one.
 */
export function step(state: FsmState, event: FsmEvent, config: FsmConfig): Step {
  const cell = table[state.name][event.type] as (state: FsmState, event: FsmEvent, config: FsmConfig) => Step;
  return cell(state, event, config);
}

/** Tells whether the state machine takes a connection that the peer opens now. */
export function admits(state: FsmState): boolean {
  return state.name === 'Active' || (state.name === 'Idle' && state.idleHold === 'accepting');
}

type Cell<T extends EventType> = (state: FsmState, event: EventOf<T>, config: FsmConfig) => Step;
type Row = { readonly [T in EventType]: Cell<T> };

const ignore = (state: FsmState): Step => ({ state, effects: [] });

/** Stops without a NOTIFICATION: no connection is open. */
const stopQuietly: Cell<'stop'> = (_, { problem }) => ({
  state: initialState,
  effects: [cancelAll, { type: 'close' }, { type: 'down', problem }],
});

const stopConnection: Cell<'stop'> = (_, { notification, problem }) => ({
  state: initialState,
  effects: [cancelAll, { type: 'finish', notification }, { type: 'down', problem }],
});

/** Closes for safety: the event belongs to a connection that is no longer used. */
const drop: (state: FsmState) => Step = (state) => ({ state, effects: [{ type: 'close' }] });

/** Starts, or starts again. A passive session waits for the peer without a time limit. */
const begin = (state: FsmState, _: unknown, config: FsmConfig): Step =>
  config.passive
    ? { state: enter(state, 'Active'), effects: [cancelAll] }
    : { state: enter(state, 'Connect'), effects: [{ type: 'dial' }, arm('connect', config.connectTimeout)] };

const startHandshake = (state: FsmState, _: unknown, config: FsmConfig): Step => ({
  state: enter(state, 'OpenSent'),
  effects: [
    { type: 'cancel', timers: ['connect', 'connectRetry'] },
    { type: 'sendOpen', localOpen: localOpenFor(state, config) },
    arm('hold', config.openHoldTime),
  ],
});

/** Refuses the connection while the pause after a protocol error lasts. */
const acceptInIdle: Cell<'accepted'> = (state, event, config) => (admits(state) ? startHandshake(state, event, config) : drop(state));

const dialFailed: Cell<'connectFailed'> = (state, { failure }, config) => pause(state, { kind: 'connectFailed', failure }, config);

const dialTimedOut: Cell<'connectExpired'> = (state, _, config) =>
  pause(state, { kind: 'connectTimeout', seconds: config.connectTimeout }, config);

/** From Connect and OpenSent a lost connection leads to Active, not to Idle (RFC 4271 8.2.2). */
const lostEarly: Cell<'closed'> = (state, { failure }, config) => pause(state, { kind: 'lost', failure, handshake: true }, config);

const lost: Cell<'closed'> = (state, { failure }, config) => ({
  state: { ...enter(state, 'Idle'), idleHold: 'accepting' },
  effects: [
    cancelAll,
    { type: 'close' },
    retryLater(config.connectRetryTime),
    { type: 'down', problem: { kind: 'lost', failure, handshake: false } },
  ],
});

const acceptOpen: Cell<'open'> = (state, { open }, config) => {
  const result = negotiate(open, localOpenFor(state, config));
  if (!result.ok) return refuse(state, result.fault, config);
  const negotiated = result.value;
  return {
    state: { ...enter(state, 'OpenConfirm'), negotiated },
    effects: [{ type: 'sendKeepalive' }, ...runSessionTimers(negotiated, config)],
  };
};

const establish: Cell<'keepalive'> = (state, _, config) => {
  const negotiated = negotiatedOf(state);
  return {
    state: { ...state, name: 'Established' },
    effects: [...restartHoldTimer(state), arm('stable', config.maximumBackoff), { type: 'established', negotiated }],
  };
};

const stayAlive = (state: FsmState): Step => ({ state, effects: restartHoldTimer(state) });

const readvertise: Cell<'routeRefresh'> = (state, { family }) => {
  const wanted = family !== undefined && negotiatedOf(state).families.includes(family);
  return { state, effects: wanted ? [...restartHoldTimer(state), { type: 'readvertise', family }] : restartHoldTimer(state) };
};

const sendKeepalive: Cell<'keepaliveExpired'> = (state, _, config) => ({
  state,
  effects: [{ type: 'sendKeepalive' }, ...keepaliveTimer(negotiatedOf(state), config)],
});

/** An expired hold timer is no protocol error: the next attempt follows after the usual pause. */
const holdExpired: Cell<'holdExpired'> = (state, _, config) => {
  const seconds = state.negotiated?.holdTime ?? config.openHoldTime;
  const notification = { code: errorCode.holdTimer, subcode: 0, data: noData };
  return closeWith(
    state,
    notification,
    { kind: 'holdTimerExpired', seconds, handshake: state.name !== 'Established' },
    config.connectRetryTime,
  );
};

const sendHoldExpired: Cell<'sendHoldExpired'> = (state, _, config) => {
  const notification = { code: errorCode.sendHoldTimer, subcode: 0, data: noData };
  return closeWith(state, notification, { kind: 'sendHoldTimerExpired' }, config.connectRetryTime);
};

/** Holds the session in Idle. A longer pause that already runs stays. */
const dampIdle: Cell<'hold'> = (state, { milliseconds }) => ({
  state: { ...state, idleHold: 'refusing' },
  effects: [{ type: 'prolong', timer: 'connectRetry', milliseconds }],
});

const clearFailures: Cell<'stableExpired'> = (state) => ({ state: { ...state, failures: 0 }, effects: [] });

/**
 * After a Cease the peer may connect during the pause. After any other NOTIFICATION it may not, because it would refuse the next OPEN too.
 */
const received: Cell<'notification'> = (state, { notification }, config) => {
  const { code, subcode } = innermost(notification);
  const isCease = code === errorCode.cease;
  const shutDown = isCease && (subcode === cease.administrativeShutdown || subcode === cease.maximumPrefixes);
  // The peer still has an earlier connection, perhaps from a node that lost power. It will soon notice that the earlier one is dead, so the
  // usual pause is enough.
  const collided = isCease && subcode === cease.connectionCollision;
  // The operator of the peer wants a new session and waits for it.
  const reset = isCease && subcode === cease.administrativeReset;
  const isNoError = collided || reset;
  const seconds = isNoError ? config.connectRetryTime : Math.max(backoff(state, config), shutDown ? config.shutdownRetryTime : 0);
  return {
    state: {
      name: 'Idle',
      failures: state.failures + (isNoError ? 0 : 1),
      idleHold: isCease ? 'accepting' : 'refusing',
      ...(retryWithoutOptionalParameters(state, notification, config) ? { withoutOptionalParameters: true } : {}),
    },
    effects: [cancelAll, { type: 'close' }, retryLater(seconds), { type: 'down', problem: { kind: 'received', notification } }],
  };
};

const faulty: Cell<'fault'> = (state, { fault }, config) => refuse(state, fault, config);

/** Handles an unexpected message. The subcode names the state in which it came (RFC 6608). */
const unexpected =
  (subcode: 1 | 2 | 3) =>
  (state: FsmState, event: FsmEvent, config: FsmConfig): Step => {
    const notification = { code: errorCode.fsm, subcode, data: noData };
    const detail = `unexpected ${event.type === 'routeRefresh' ? 'ROUTE-REFRESH' : event.type.toUpperCase()} in state ${state.name}`;
    return protocolError(state, notification, detail, config);
  };

/**
 * The full matrix: every pair of state and event has an entry. Timers that a state never runs are ignored, because a timer may fire while
 * it is being cancelled.
 */
const table: { readonly [S in StateName]: Row } = {
  Idle: {
    start: begin,
    stop: stopQuietly,
    connectRetryExpired: begin,
    connectExpired: ignore,
    holdExpired: ignore,
    keepaliveExpired: ignore,
    sendHoldExpired: ignore,
    stableExpired: ignore,
    hold: dampIdle,
    connected: drop,
    accepted: acceptInIdle,
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
    // A session that has begun is not held.
    hold: ignore,
    connected: startHandshake,
    // While the speaker dials, a connection of the peer gets a state machine of its own.
    accepted: ignore,
    connectFailed: dialFailed,
    closed: lostEarly,
    // Without a connection no message can arrive.
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
    connectRetryExpired: begin,
    connectExpired: ignore,
    holdExpired: ignore,
    keepaliveExpired: ignore,
    sendHoldExpired: ignore,
    stableExpired: ignore,
    hold: ignore,
    connected: drop,
    accepted: startHandshake,
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
    stop: stopConnection,
    connectRetryExpired: ignore,
    connectExpired: ignore,
    holdExpired,
    keepaliveExpired: ignore,
    sendHoldExpired,
    stableExpired: ignore,
    hold: ignore,
    connected: ignore,
    accepted: ignore,
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
    stop: stopConnection,
    connectRetryExpired: ignore,
    connectExpired: ignore,
    holdExpired,
    keepaliveExpired: sendKeepalive,
    sendHoldExpired,
    stableExpired: ignore,
    hold: ignore,
    connected: ignore,
    accepted: ignore,
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
    stop: stopConnection,
    connectRetryExpired: ignore,
    connectExpired: ignore,
    holdExpired,
    keepaliveExpired: sendKeepalive,
    sendHoldExpired,
    stableExpired: clearFailures,
    hold: ignore,
    connected: ignore,
    accepted: ignore,
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

/** Restarts the hold timer after a valid message. */
function restartHoldTimer(state: FsmState): Effect[] {
  const { holdTime } = negotiatedOf(state);
  return holdTime === 0 ? [] : [arm('hold', holdTime)];
}

/** Starts the timers of a session. Hold time 0 means neither timer (RFC 4271 4.2). */
function runSessionTimers(negotiated: Negotiated, config: FsmConfig): Effect[] {
  if (negotiated.holdTime === 0) return [{ type: 'cancel', timers: ['hold'] }];
  return [arm('hold', negotiated.holdTime), ...keepaliveTimer(negotiated, config)];
}

function keepaliveTimer({ holdTime }: Negotiated, config: FsmConfig): Effect[] {
  if (holdTime === 0) return [];
  return [arm('keepalive', Math.min(config.keepaliveTime ?? Infinity, holdTime / 3))];
}

/** Enters a state with the fields that last from one connection to the next. */
function enter({ failures, withoutOptionalParameters }: FsmState, name: StateName): FsmState {
  return { name, failures, ...defined({ withoutOptionalParameters }) };
}

/** Returns the local OPEN, without optional parameters if the peer refused them. */
function localOpenFor({ withoutOptionalParameters }: FsmState, { localOpen }: FsmConfig): LocalOpen {
  return withoutOptionalParameters === true ? { ...localOpen, withoutOptionalParameters } : localOpen;
}

/**
 * Tells whether to retry without optional parameters (RFC 5492 3). Without capabilities only IPv4 unicast and two-octet AS numbers remain.
 */
function retryWithoutOptionalParameters(state: FsmState, { code, subcode }: Notification, { localOpen }: FsmConfig): boolean {
  const refused = code === errorCode.open && subcode === openError.optionalParameter && state.name === 'OpenSent';
  return (
    refused && state.withoutOptionalParameters === undefined && localOpen.capabilityFallback === true && localOpen.families.includes(4)
  );
}

/** Waits in Active before the next dial. The pause does not grow, because a peer that was absent must be found soon after its return. */
function pause(state: FsmState, problem: Problem, config: FsmConfig): Step {
  const retry = config.passive ? [] : [retryLater(config.connectRetryTime)];
  return { state: enter(state, 'Active'), effects: [cancelAll, { type: 'close' }, ...retry, { type: 'down', problem }] };
}

/**
 * Returns the pause after a protocol error, in seconds. It doubles with each error, because two speakers that disagree would otherwise fail
 * every few seconds for ever (RFC 4271 8.1.1, DampPeerOscillations).
 */
function backoff(state: FsmState, { connectRetryTime, maximumBackoff }: FsmConfig): number {
  return Math.max(connectRetryTime, Math.min(connectRetryTime * 2 ** Math.min(state.failures, 16), maximumBackoff));
}

function refuse(state: FsmState, { code, subcode, data, problem }: Fault, config: FsmConfig): Step {
  return protocolError(state, { code, subcode, data }, problem, config);
}

function protocolError(state: FsmState, notification: Notification, detail: string, config: FsmConfig): Step {
  const next = closeWith(state, notification, { kind: 'sent', notification, detail }, backoff(state, config));
  return { ...next, state: { ...next.state, failures: state.failures + 1, idleHold: 'refusing' } };
}

function closeWith(state: FsmState, notification: Notification, problem: Problem, pauseSeconds: number): Step {
  return {
    state: { ...enter(state, 'Idle'), idleHold: 'accepting' },
    effects: [cancelAll, { type: 'finish', notification }, retryLater(pauseSeconds), { type: 'down', problem }],
  };
}
