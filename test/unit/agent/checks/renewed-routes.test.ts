import { expect, test } from 'vitest';
import { answersCountFrom } from '../../../../src/agent/checks/renewed-routes.ts';
import { limits } from '../../../../src/agent/limits.ts';
import type { RoutesByPeer } from '../../../../src/agent/reconcile/announced-routes.ts';
import type { SessionStatus } from '../../../../src/model/objects/node-state.ts';
import { address } from '../../../../src/net/address.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

const clock = new VirtualClock();
const began = clock.date().getTime() - clock.now();
/** RFC 3339 of a time of the clock. */
const at = (milliseconds: number): string => new Date(began + milliseconds).toISOString();

interface Asked {
  readonly IPv4?: number;
  readonly IPv6?: number;
}

function session(peer: string, since: number, asked: Asked = {}, state: SessionStatus['state'] = 'Established'): SessionStatus {
  const families = (['IPv4', 'IPv6'] as const).map((family) => {
    const when = asked[family];
    return { family, sent: 1, received: 0, ...(when === undefined ? {} : { refreshRequested: at(when) }) };
  });
  return { peer, address: '10.0.0.1', state, since: at(since), localASN: 1, peerASN: 2, prefixesSent: 2, families };
}

function countsFrom(
  sessions: readonly SessionStatus[],
  { text = '192.0.2.1', announced = 0, isReplacement = false, onLink = false, sent = ['192.0.2.1/32', '2001:db8::/48'] } = {},
): number {
  const route = (one: string) => ({ prefix: prefix(one), communities: [], asPathPrepend: 0, aggregate: false });
  const routes: RoutesByPeer = new Map(['tor1', 'tor2'].map((peer) => [peer, sent.map(route)]));
  const sources = {
    sessions: () => sessions,
    routes: { routesOf: () => routes, announcement: () => ({ at: announced, isReplacement }) },
    isOnLink: () => onLink,
    clock,
  };
  return answersCountFrom(sources)('a/b', { match: { kind: 'address', address: address(text), protocol: 'TCP', port: 80 } });
}

const never = Number.NEGATIVE_INFINITY;

/** The kernel tells the age of a connection in whole seconds. */
const from = (milliseconds: number): number => milliseconds - 1_000;
const after = (milliseconds: number): number => milliseconds + limits.renewalMilliseconds;

test.each([
  ['the sessions began, if no router has asked', countsFrom([session('tor1', 1_000), session('tor2', 2_000)]), from(1_000)],
  [
    'the first of two routers asked',
    countsFrom([session('tor1', 1_000, { IPv4: 5_000 }), session('tor2', 2_000, { IPv4: 9_000 })]),
    after(5_000),
  ],
  [
    'a session began whose router has not asked',
    countsFrom([session('tor1', 1_000, { IPv4: 5_000 }), session('tor2', 2_000)]),
    from(2_000),
  ],
  ['a router asked for this family', countsFrom([session('tor1', 1_000, { IPv6: 5_000 })]), from(1_000)],
  ['a router asked for IPv6', countsFrom([session('tor1', 1_000, { IPv6: 5_000 })], { text: '2001:db8::1' }), after(5_000)],
  ['the route was announced', countsFrom([session('tor1', 1_000)], { announced: 7_000 }), from(7_000)],
  ['routers replaced the route', countsFrom([session('tor1', 1_000)], { announced: 7_000, isReplacement: true }), after(7_000)],
  [
    'a router asked that has a session',
    countsFrom([session('tor1', 8_000, {}, 'Active'), session('tor2', 2_000, { IPv4: 3_000 })]),
    after(3_000),
  ],
  ['ever, without a session', countsFrom([session('tor1', 8_000, {}, 'Idle')]), never],
  ['ever, where no router has the route', countsFrom([session('tor1', 1_000)], { sent: ['192.0.2.2/32'] }), never],
  ['ever, where the node answers on a link as well', countsFrom([session('tor1', 1_000)], { onLink: true }), never],
])('answers count from when %s', (_, found, expected) => {
  expect(found).toBe(expected);
});
