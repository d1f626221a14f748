import { diagnostic, type SessionState } from './wire/codes.ts';

/** Events of a session: the state in a received packet, an expired detection time, or a command of the operator. */
export const fsmEvents = [
  'receivedAdminDown',
  'receivedDown',
  'receivedInit',
  'receivedUp',
  'detectionTimeExpired',
  'disabled',
  'enabled',
] as const;
export type FsmEvent = (typeof fsmEvents)[number];

interface Step {
  readonly state: SessionState;
  /** The reason for the change, sent to the peer. Undefined: the present one stays. */
  readonly diagnostic?: number;
  /** The variables learned from the peer are reset (RFC 5880 6.8.1, bfd.RemoteDiscr). */
  readonly forgetsPeer?: boolean;
}

/** The state machine of RFC 5880 6.2 and 6.8.6 as a pure function. */
export function step(state: SessionState, event: FsmEvent): Step {
  return table[state][event];
}

export function receivedState(state: SessionState): FsmEvent {
  return `received${state}`;
}

const adminDown: Step = { state: 'AdminDown' };
const down: Step = { state: 'Down' };
const init: Step = { state: 'Init' };
const up: Step = { state: 'Up' };
const comesUp: Step = { state: 'Up', diagnostic: diagnostic.none };
const peerSignalsDown: Step = { state: 'Down', diagnostic: diagnostic.neighborSignaledSessionDown };
const peerIsSilent: Step = { state: 'Down', diagnostic: diagnostic.controlDetectionTimeExpired, forgetsPeer: true };
const disable: Step = { state: 'AdminDown', diagnostic: diagnostic.administrativelyDown };

/** The full matrix: every pair of state and event has an entry. */
const table: Readonly<Record<SessionState, Readonly<Record<FsmEvent, Step>>>> = {
  // The operator holds the session down: packets of the peer change nothing (RFC 5880 6.8.6).
  AdminDown: {
    receivedAdminDown: adminDown,
    receivedDown: adminDown,
    receivedInit: adminDown,
    receivedUp: adminDown,
    detectionTimeExpired: { state: 'AdminDown', forgetsPeer: true },
    disabled: adminDown,
    enabled: { state: 'Down', diagnostic: diagnostic.none },
  },
  // A peer in state Up has not noticed yet that this side is Down. It must go down first.
  Down: {
    receivedAdminDown: down,
    receivedDown: init,
    receivedInit: comesUp,
    receivedUp: down,
    detectionTimeExpired: { state: 'Down', forgetsPeer: true },
    disabled: disable,
    enabled: down,
  },
  Init: {
    receivedAdminDown: peerSignalsDown,
    receivedDown: init,
    receivedInit: comesUp,
    receivedUp: comesUp,
    detectionTimeExpired: peerIsSilent,
    disabled: disable,
    enabled: init,
  },
  Up: {
    receivedAdminDown: peerSignalsDown,
    receivedDown: peerSignalsDown,
    receivedInit: up,
    receivedUp: up,
    detectionTimeExpired: peerIsSilent,
    disabled: disable,
    enabled: up,
  },
};
