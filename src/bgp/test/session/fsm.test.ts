import { stateNames, type StateName } from '../../../../src/bgp/diagnosis/session-state.ts';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { initialState, type EventType, type FsmConfig, type FsmEvent, type FsmState } from '../../../../src/bgp/session/fsm-events.ts';
import { step } from '../../../../src/bgp/session/fsm.ts';
import { localOpenMessage, type LocalOpen } from '../../../../src/bgp/negotiation/local-open.ts';
import type { Negotiated } from '../../../../src/bgp/negotiation/negotiate.ts';
import { fault, noData } from '../../../../src/bgp/wire/fault.ts';
import { hardReset } from '../../../../src/bgp/wire/notification.ts';
import { ordinary } from '../negotiation/negotiated.ts';

const localOpen: LocalOpen = { localAsn: 64512, peerAsn: 65001, routerId: 1, holdTime: 90, families: [4, 6], overIpv6: false };
const peerOpen = localOpenMessage({ localAsn: 65001, peerAsn: 64512, routerId: 2, holdTime: 9, families: [4], overIpv6: false });
const config: FsmConfig = {
  localOpen,
  connectRetryTime: 5,
  connectTimeout: 10,
  openHoldTime: 240,
  maximumBackoff: 60,
  shutdownRetryTime: 30,
  passive: false,
  keepaliveTime: undefined,
};
const negotiated: Negotiated = { ...ordinary, peerRouterId: 2, holdTime: 9, families: [4] };
const notification = { code: 6, subcode: 2, data: noData };

const events: { readonly [T in EventType]: Extract<FsmEvent, { type: T }> } = {
  start: { type: 'start' },
  stop: { type: 'stop', notification, problem: { kind: 'stopped', notification } },
  connectRetryExpired: { type: 'connectRetryExpired' },
  connectExpired: { type: 'connectExpired' },
  holdExpired: { type: 'holdExpired' },
  keepaliveExpired: { type: 'keepaliveExpired' },
  sendHoldExpired: { type: 'sendHoldExpired' },
  stableExpired: { type: 'stableExpired' },
  hold: { type: 'hold', milliseconds: 20_000 },
  connected: { type: 'connected' },
  accepted: { type: 'accepted' },
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

/** Returns the outcome of a step, such as "Idle 4/0 connectRetry": next state, NOTIFICATION, then timers and other effects. */
function outcome(from: StateName | FsmState, event: FsmEvent, change: Partial<FsmConfig> = {}): string {
  const { state, effects } = step(typeof from === 'string' ? stateOf(from) : from, event, { ...config, ...change });
  const words: string[] = [state.name];
  for (const effect of effects) {
    if (effect.type === 'finish') words.push(effect.notification === undefined ? 'silently' : numbers(effect.notification));
    else if (effect.type === 'sendOpen') words.push(effect.localOpen.withoutOptionalParameters === true ? 'plain OPEN' : 'OPEN');
    else if (effect.type === 'sendKeepalive') words.push('KEEPALIVE');
    else if (effect.type === 'arm') words.push(effect.timer);
    else if (effect.type === 'prolong') words.push('not before', effect.timer);
    else if (effect.type !== 'cancel' && effect.type !== 'down') words.push(effect.type);
  }
  return words.join(' ');
}

const numbers = ({ code, subcode }: { code: number; subcode: number }): string => `${code}/${subcode}`;

/** Outcomes in the states Idle, Connect, Active, OpenSent, OpenConfirm, Established. "=" means: same state, no effect. */
const matrix: { readonly [T in EventType]: readonly [string, string, string, string, string, string] } = {
  start: ['Connect dial connect', '=', '=', '=', '=', '='],
  stop: ['Idle close', 'Idle close', 'Idle close', 'Idle 6/2', 'Idle 6/2', 'Idle 6/2'],
  connectRetryExpired: ['Connect dial connect', '=', 'Connect dial connect', '=', '=', '='],
  connectExpired: ['=', 'Active close connectRetry', '=', '=', '=', '='],
  holdExpired: ['=', '=', '=', 'Idle 4/0 connectRetry', 'Idle 4/0 connectRetry', 'Idle 4/0 connectRetry'],
  keepaliveExpired: ['=', '=', '=', '=', 'OpenConfirm KEEPALIVE keepalive', 'Established KEEPALIVE keepalive'],
  sendHoldExpired: ['=', '=', '=', 'Idle 8/0 connectRetry', 'Idle 8/0 connectRetry', 'Idle 8/0 connectRetry'],
  stableExpired: ['=', '=', '=', '=', '=', '='],
  hold: ['Idle not before connectRetry', '=', '=', '=', '=', '='],
  accepted: ['Idle close', '=', 'OpenSent OPEN hold', '=', '=', '='],
  connected: ['Idle close', 'OpenSent OPEN hold', 'Active close', '=', '=', '='],
  connectFailed: ['=', 'Active close connectRetry', '=', '=', '=', '='],
  closed: ['=', 'Active close connectRetry', '=', 'Active close connectRetry', 'Idle close connectRetry', 'Idle close connectRetry'],
  open: ['Idle close', '=', 'Active close', 'OpenConfirm KEEPALIVE hold keepalive', 'Idle 5/2 connectRetry', 'Idle 5/3 connectRetry'],
  keepalive: ['Idle close', '=', 'Active close', 'Idle 5/1 connectRetry', 'Established hold stable established', 'Established hold'],
  update: ['Idle close', '=', 'Active close', 'Idle 5/1 connectRetry', 'Idle 5/2 connectRetry', 'Established hold'],
  routeRefresh: ['Idle close', '=', 'Active close', 'Idle 5/1 connectRetry', 'Idle 5/2 connectRetry', 'Established hold readvertise'],
  notification: ['Idle close', '=', 'Active close', 'Idle close connectRetry', 'Idle close connectRetry', 'Idle close connectRetry'],
  fault: ['Idle close', '=', 'Active close', 'Idle 1/1 connectRetry', 'Idle 1/1 connectRetry', 'Idle 1/1 connectRetry'],
};

describe('the BGP state machine', () => {
  const cells = Object.entries(matrix).flatMap(([event, row]) =>
    stateNames.map((state, column) => ({ state, event: event as EventType, expected: row[column] ?? '' })),
  );

  test('the matrix has a cell for each state and event', () => {
    expect(cells).toHaveLength(6 * 19);
  });

  test.each(cells)('BGP-033 a step in $state with event $event', ({ state, event, expected }) => {
    expect(outcome(state, events[event])).toBe(expected === '=' ? state : expected);
  });

  test.each([
    ['another AS', { ...peerOpen, capabilities: [{ kind: 'fourOctetAsn', asn: 65002 }] }, 'Idle 2/2 connectRetry'],
    ['AS 0', { ...peerOpen, asn: 0 }, 'Idle 2/2 connectRetry'],
    ['AS_TRANS without the capability', { ...peerOpen, asn: 23456, capabilities: [] }, 'Idle 2/2 connectRetry'],
    ['hold time 2', { ...peerOpen, holdTime: 2 }, 'Idle 2/6 connectRetry'],
    ['router ID 0.0.0.0', { ...peerOpen, routerId: 0 }, 'Idle 2/3 connectRetry'],
    ['our router ID in another AS', { ...peerOpen, routerId: 1 }, 'OpenConfirm KEEPALIVE hold keepalive'],
    ['only EVPN', { ...peerOpen, asn: 65001, capabilities: [{ kind: 'multiprotocol', afi: 25, safi: 70 }] }, 'Idle 2/7 connectRetry'],
    ['no capabilities', { ...peerOpen, asn: 65001, capabilities: [] }, 'OpenConfirm KEEPALIVE hold keepalive'],
    ['hold time 0', { ...peerOpen, holdTime: 0 }, 'OpenConfirm KEEPALIVE'],
  ] as const)('OPEN with %s', (_, open, expected) => {
    expect(outcome('OpenSent', { type: 'open', open })).toBe(expected);
  });

  test('BGP-018 our own router ID is refused inside one AS', () => {
    const internal = { ...config, localOpen: { ...localOpen, peerAsn: 'internal' as const } };
    const open = { ...localOpenMessage({ ...localOpen, routerId: 1 }) };
    const { effects } = step(stateOf('OpenSent'), { type: 'open', open }, internal);
    expect(effects).toContainEqual(
      expect.objectContaining({ type: 'finish', notification: expect.objectContaining({ code: 2, subcode: 3 }) }),
    );
  });

  test('BGP-035 the pause doubles with protocol errors up to its bound, not with failed connects', () => {
    const pauseAfter = (event: FsmEvent, name: StateName, failures: number): number | undefined => {
      const { effects } = step(stateOf(name, failures), event, config);
      return effects.find((effect) => effect.type === 'arm')?.milliseconds;
    };
    const refused: FsmEvent = { type: 'notification', notification: { code: 6, subcode: 5, data: noData } };
    expect([0, 1, 2, 3, 4, 50].map((failures) => pauseAfter(refused, 'OpenSent', failures))).toEqual([5e3, 10e3, 20e3, 40e3, 60e3, 60e3]);
    expect([0, 5].map((failures) => pauseAfter(events.connectFailed, 'Connect', failures))).toEqual([5e3, 5e3]);
    expect([0, 5].map((failures) => pauseAfter(events.closed, 'OpenConfirm', failures))).toEqual([5e3, 5e3]);
    expect([0, 5].map((failures) => pauseAfter(events.holdExpired, 'Established', failures))).toEqual([5e3, 5e3]);
    // Administrative Reset does not count as an error: the operator who sent it expects the session to return.
    expect([0, 5].map((failures) => pauseAfter(events.notification, 'Established', failures))).toEqual([5e3, 5e3]);
    expect(step(stateOf('Established', 3), events.notification, config).state.failures).toBe(3);
    expect(step(stateOf('Established', 3), events.stableExpired, config).state.failures).toBe(0);
  });

  test.each([
    ['OpenSent', 'Idle 5/1 connectRetry'],
    ['OpenConfirm', 'Idle 5/2 connectRetry'],
  ] as const)('BGP-045 an UPDATE in %s is answered with %s', (state, expected) => {
    expect(outcome(state, events.update)).toBe(expected);
  });

  test('BGP-045 an OPEN in Established is answered with 5/3', () => {
    expect(outcome('Established', events.open)).toBe('Idle 5/3 connectRetry');
  });

  test('BGP-034 BGP-063 a start dials at once; a passive session waits in Active and never dials', () => {
    expect(outcome('Idle', events.start)).toBe('Connect dial connect');
    const passive = { passive: true };
    expect(outcome('Idle', events.start, passive)).toBe('Active');
    expect(outcome('Idle', events.connectRetryExpired, passive)).toBe('Active');
    expect(outcome('OpenSent', events.closed, passive)).toBe('Active close');
  });

  test('BGP-037 the hold timer runs for the large open hold time until OPEN arrives', () => {
    const { effects } = step(stateOf('Connect'), events.connected, config);
    expect(effects).toContainEqual({ type: 'arm', timer: 'hold', milliseconds: 240_000, jitter: false });
    expect(outcome('OpenSent', events.holdExpired)).toBe('Idle 4/0 connectRetry');
  });

  test('BGP-036 an attempt to connect has its own timer', () => {
    expect(step(initialState, events.start, config).effects).toContainEqual(
      expect.objectContaining({ type: 'arm', timer: 'connect', milliseconds: 10_000 }),
    );
    expect(outcome('Connect', events.connectExpired)).toBe('Active close connectRetry');
  });

  test('BGP-038 OPEN leads to a KEEPALIVE, the smaller hold time and keepalives at a third of it', () => {
    const { state, effects } = step(stateOf('OpenSent'), events.open, config);
    expect(state).toMatchObject({ name: 'OpenConfirm', negotiated: { holdTime: 9 } });
    expect(effects).toEqual([
      { type: 'sendKeepalive' },
      { type: 'arm', timer: 'hold', milliseconds: 9_000, jitter: false },
      { type: 'arm', timer: 'keepalive', milliseconds: 3_000, jitter: true },
    ]);
  });

  test('BGP-039 Established begins only after a KEEPALIVE', () => {
    expect(outcome('OpenSent', events.open)).toMatch(/^OpenConfirm/);
    expect(outcome('OpenConfirm', events.keepalive)).toMatch(/^Established .*established$/);
  });

  test.each(['keepalive', 'update', 'routeRefresh'] as const)('BGP-040 %s restarts the hold timer', (event) => {
    expect(step(stateOf('Established'), events[event], config).effects).toContainEqual(
      expect.objectContaining({ type: 'arm', timer: 'hold', milliseconds: 9_000 }),
    );
  });

  test('BGP-016 with hold time 0 neither hold timer nor keepalive timer runs', () => {
    const { state, effects } = step(stateOf('OpenSent'), { type: 'open', open: { ...peerOpen, holdTime: 0 } }, config);
    expect(effects).toEqual([{ type: 'sendKeepalive' }, { type: 'cancel', timers: ['hold'] }]);
    expect(step(state, events.keepalive, config).effects.filter(({ type }) => type === 'arm')).toEqual([
      { type: 'arm', timer: 'stable', milliseconds: 60_000, jitter: false },
    ]);
  });

  test('BGP-027 the OPEN after N 2/4 has no optional parameters, the next one has them again', () => {
    const fallback = { localOpen: { ...localOpen, capabilityFallback: true } };
    const refusal: FsmEvent = { type: 'notification', notification: { code: 2, subcode: 4, data: noData } };
    const { state } = step(stateOf('OpenSent'), refusal, { ...config, ...fallback });
    const dialed = step(state, events.connectRetryExpired, { ...config, ...fallback }).state;
    const again = step(dialed, events.connected, { ...config, ...fallback });
    expect(outcome(dialed, events.connected, fallback)).toBe('OpenSent plain OPEN hold');
    // Without capabilities of ours the session has only IPv4 and two-octet AS numbers, whatever the peer offers.
    const plain = step(again.state, events.open, { ...config, ...fallback }).state.negotiated;
    expect(plain).toMatchObject({ families: [4], fourOctetAsn: false, routeRefresh: false, extendedMessages: false });
    expect(step(again.state, refusal, { ...config, ...fallback }).state.withoutOptionalParameters).toBeUndefined();
    expect(step(stateOf('OpenSent'), refusal, config).state.withoutOptionalParameters).toBeUndefined();
    const onlyIpv6 = { ...config, localOpen: { ...localOpen, capabilityFallback: true, families: [6 as const] } };
    expect(step(stateOf('OpenSent'), refusal, onlyIpv6).state.withoutOptionalParameters).toBeUndefined();
  });

  test.each([1, 2])('BGP-046 Cease 6/%i makes the pause longer, also in a Hard Reset; the peer may connect meanwhile', (subcode) => {
    for (const notification of [{ code: 6, subcode, data: noData }, hardReset({ code: 6, subcode, data: noData })]) {
      const { state, effects } = step(stateOf('Established'), { type: 'notification', notification }, config);
      expect(effects).toContainEqual({ type: 'arm', timer: 'connectRetry', milliseconds: 30_000, jitter: true });
      expect(outcome(state, events.accepted)).toBe('OpenSent OPEN hold');
    }
  });

  test('BGP-035 incoming connections are rejected during the pause after an error of the peer', () => {
    const { state } = step(stateOf('OpenSent'), events.fault, config);
    expect(outcome(state, events.accepted)).toBe('Idle close');
  });

  test('BGP-107 a damped session rejects incoming connections and dials when the hold ends', () => {
    const { state } = step(stateOf('Idle'), events.hold, config);
    expect(outcome(state, events.accepted)).toBe('Idle close');
    expect(outcome(state, events.connectRetryExpired)).toBe('Connect dial connect');
  });

  test('BGP-103 a stop without a NOTIFICATION closes the connection silently', () => {
    const event: FsmEvent = { type: 'stop', notification: undefined, problem: { kind: 'suspended' } };
    expect(outcome('Established', event)).toBe('Idle silently');
  });

  test('any sequence of events keeps the invariants of the state machine', () => {
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
          const tidied = effects[0]?.type === 'cancel' && effects.some(({ type }) => type === 'close' || type === 'finish');
          expect(left && !tidied).toBe(false);
          state = after;
        }
      }),
    );
  });
});
