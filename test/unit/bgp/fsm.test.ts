import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  initialState,
  stateNames,
  step,
  type EventType,
  type FsmConfig,
  type FsmEvent,
  type FsmState,
  type StateName,
} from '../../../src/bgp/fsm.ts';
import { openOf, type Identity, type Negotiated } from '../../../src/bgp/negotiate.ts';
import { fault, noData } from '../../../src/bgp/wire/fault.ts';

const identity: Identity = { localAsn: 64512, peerAsn: 65001, routerId: 1, holdTime: 90, families: [4, 6], overIpv6: false };
const peerOpen = openOf({ localAsn: 65001, peerAsn: 64512, routerId: 2, holdTime: 9, families: [4], overIpv6: false });
const config: FsmConfig = {
  identity,
  connectRetryTime: 5,
  connectTimeout: 10,
  openHoldTime: 240,
  maximumBackoff: 60,
  keepaliveTime: undefined,
};
const negotiated: Negotiated = {
  peerAsn: 65001,
  peerRouterId: 2,
  internal: false,
  holdTime: 9,
  families: [4],
  fourOctetAsn: true,
  routeRefresh: true,
  extendedNextHop: false,
  extendedMessages: false,
};

const events: { readonly [T in EventType]: Extract<FsmEvent, { type: T }> } = {
  start: { type: 'start' },
  stop: { type: 'stop', notification: { code: 6, subcode: 2, data: noData } },
  connectRetryExpired: { type: 'connectRetryExpired' },
  connectExpired: { type: 'connectExpired' },
  holdExpired: { type: 'holdExpired' },
  keepaliveExpired: { type: 'keepaliveExpired' },
  sendHoldExpired: { type: 'sendHoldExpired' },
  stableExpired: { type: 'stableExpired' },
  connected: { type: 'connected' },
  connectFailed: { type: 'connectFailed', failure: { kind: 'refused', detail: '' } },
  closed: { type: 'closed', failure: undefined },
  open: { type: 'open', open: peerOpen },
  keepalive: { type: 'keepalive' },
  update: { type: 'update' },
  routeRefresh: { type: 'routeRefresh', family: 4 },
  notification: { type: 'notification', notification: { code: 6, subcode: 4, data: noData } },
  fault: { type: 'fault', fault: fault('reset', 1, 1, 'bad marker') },
};

function stateOf(name: StateName, failures = 0): FsmState {
  return name === 'OpenConfirm' || name === 'Established' ? { name, failures, negotiated } : { name, failures };
}

/** "Idle 4/0 down pause": the next state, the NOTIFICATION and what else is remarkable. */
function outcome(name: StateName, event: FsmEvent): string {
  const { state, effects } = step(stateOf(name), event, config);
  const words: string[] = [state.name];
  for (const effect of effects) {
    if (effect.type === 'notify') words.push(`${effect.notification.code}/${effect.notification.subcode}`);
    else if (effect.type === 'send') words.push(effect.message);
    else if (effect.type === 'arm') words.push(effect.timer);
    else if (effect.type === 'dial' || effect.type === 'close' || effect.type === 'established' || effect.type === 'readvertise')
      words.push(effect.type);
  }
  return words.join(' ');
}

/** Columns: Idle, Connect, Active, OpenSent, OpenConfirm, Established. "=" stays and does nothing. */
const matrix: { readonly [T in EventType]: readonly [string, string, string, string, string, string] } = {
  start: ['Connect dial connect', '=', '=', '=', '=', '='],
  stop: ['Idle close', 'Idle close', 'Idle close', 'Idle 6/2', 'Idle 6/2', 'Idle 6/2'],
  connectRetryExpired: ['Connect dial connect', '=', 'Connect dial connect', '=', '=', '='],
  connectExpired: ['=', 'Active close connectRetry', '=', '=', '=', '='],
  holdExpired: ['=', '=', '=', 'Idle 4/0 connectRetry', 'Idle 4/0 connectRetry', 'Idle 4/0 connectRetry'],
  keepaliveExpired: ['=', '=', '=', '=', 'OpenConfirm keepalive keepalive', 'Established keepalive keepalive'],
  sendHoldExpired: ['=', '=', '=', 'Idle 8/0 connectRetry', 'Idle 8/0 connectRetry', 'Idle 8/0 connectRetry'],
  stableExpired: ['=', '=', '=', '=', '=', '='],
  connected: ['Idle close', 'OpenSent open hold', 'Active close', '=', '=', '='],
  connectFailed: ['=', 'Active close connectRetry', '=', '=', '=', '='],
  closed: ['=', 'Active close connectRetry', '=', 'Active close connectRetry', 'Idle close connectRetry', 'Idle close connectRetry'],
  open: ['Idle close', '=', 'Active close', 'OpenConfirm keepalive hold keepalive', 'Idle 5/2 connectRetry', 'Idle 5/3 connectRetry'],
  keepalive: ['Idle close', '=', 'Active close', 'Idle 5/1 connectRetry', 'Established hold stable established', 'Established hold'],
  update: ['Idle close', '=', 'Active close', 'Idle 5/1 connectRetry', 'Idle 5/2 connectRetry', 'Established hold'],
  routeRefresh: ['Idle close', '=', 'Active close', 'Idle 5/1 connectRetry', 'Idle 5/2 connectRetry', 'Established hold readvertise'],
  notification: ['Idle close', '=', 'Active close', 'Idle close connectRetry', 'Idle close connectRetry', 'Idle close connectRetry'],
  fault: ['Idle close', '=', 'Active close', 'Idle 1/1 connectRetry', 'Idle 1/1 connectRetry', 'Idle 1/1 connectRetry'],
};

describe('the state machine', () => {
  const cells = Object.entries(matrix).flatMap(([event, row]) =>
    stateNames.map((state, column) => ({ state, event: event as EventType, expected: row[column] ?? '' })),
  );

  test('the matrix is complete', () => {
    expect(cells).toHaveLength(6 * 17);
  });

  test.each(cells)('$state, $event', ({ state, event, expected }) => {
    expect(outcome(state, events[event])).toBe(expected === '=' ? state : expected);
  });

  test.each([
    ['another AS', { ...peerOpen, capabilities: [{ kind: 'fourOctetAsn', asn: 65002 }] }, 'Idle 2/2 connectRetry'],
    ['AS 0', { ...peerOpen, asn: 0 }, 'Idle 2/2 connectRetry'],
    ['AS_TRANS without the capability', { ...peerOpen, asn: 23456, capabilities: [] }, 'Idle 2/2 connectRetry'],
    ['hold time 2', { ...peerOpen, holdTime: 2 }, 'Idle 2/6 connectRetry'],
    ['router ID 0.0.0.0', { ...peerOpen, routerId: 0 }, 'Idle 2/3 connectRetry'],
    ['our router ID in another AS', { ...peerOpen, routerId: 1 }, 'OpenConfirm keepalive hold keepalive'],
    ['only EVPN', { ...peerOpen, asn: 65001, capabilities: [{ kind: 'multiprotocol', afi: 25, safi: 70 }] }, 'Idle 2/7 connectRetry'],
    ['no capabilities', { ...peerOpen, asn: 65001, capabilities: [] }, 'OpenConfirm keepalive hold keepalive'],
    ['hold time 0', { ...peerOpen, holdTime: 0 }, 'OpenConfirm keepalive'],
  ] as const)('OPEN with %s', (_, open, expected) => {
    expect(outcome('OpenSent', { type: 'open', open })).toBe(expected);
  });

  test('inside one AS, our own router ID is refused', () => {
    const internal = { ...config, identity: { ...identity, peerAsn: 'internal' as const } };
    const open = { ...openOf({ ...identity, routerId: 1 }) };
    const { effects } = step(stateOf('OpenSent'), { type: 'open', open }, internal);
    expect(effects).toContainEqual(
      expect.objectContaining({ type: 'notify', notification: expect.objectContaining({ code: 2, subcode: 3 }) }),
    );
  });

  test('the pause doubles with protocol errors, up to its bound, and is the same after failures to connect', () => {
    const pauseAfter = (event: FsmEvent, name: StateName, failures: number): number | undefined => {
      const { effects } = step(stateOf(name, failures), event, config);
      return effects.find((effect) => effect.type === 'arm')?.milliseconds;
    };
    expect([0, 1, 2, 3, 4, 50].map((failures) => pauseAfter(events.notification, 'OpenSent', failures))).toEqual([
      5e3, 10e3, 20e3, 40e3, 60e3, 60e3,
    ]);
    expect([0, 5].map((failures) => pauseAfter(events.connectFailed, 'Connect', failures))).toEqual([5e3, 5e3]);
    expect([0, 5].map((failures) => pauseAfter(events.holdExpired, 'Established', failures))).toEqual([5e3, 5e3]);
    expect(step(stateOf('Established', 3), events.stableExpired, config).state.failures).toBe(0);
  });

  test('any sequence of events keeps to the rules', () => {
    const event = fc.constantFrom(...Object.values(events));
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (sequence) => {
        let state = initialState;
        for (const next of sequence) {
          const before = state.name;
          const { state: after, effects } = step(state, next, config);
          const cameUp = after.name === 'Established' && before !== 'Established';
          expect(cameUp && (before !== 'OpenConfirm' || next.type !== 'keepalive')).toBe(false);
          expect(after.negotiated !== undefined).toBe(after.name === 'OpenConfirm' || after.name === 'Established');
          const left = ['OpenSent', 'OpenConfirm', 'Established'].includes(before) && ['Idle', 'Active'].includes(after.name);
          const tidied = effects[0]?.type === 'cancel' && effects.some(({ type }) => type === 'close' || type === 'notify');
          expect(left && !tidied).toBe(false);
          state = after;
        }
      }),
    );
  });
});
