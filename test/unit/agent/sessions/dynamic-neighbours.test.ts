import { beforeEach, expect, test } from 'vitest';
import { AnnouncedRoutes } from '../../../../src/agent/reconcile/announced-routes.ts';
import { BgpSessions } from '../../../../src/agent/sessions/bgp-sessions.ts';
import { writeUrgency, type ReportContent } from '../../../../src/agent/report/write-urgency.ts';
import { sessionChange } from '../../../../src/agent/sessions/session-change.ts';
import { Speaker } from '../../../../src/bgp/index.ts';
import { MemoryNetwork } from '../../../../src/bgp/transport/memory-network.ts';
import { peersOfNode, type SessionIntent } from '../../../../src/decisions/announcement/peers.ts';
import type { SessionStatus } from '../../../../src/model/objects/node-state.ts';
import { address } from '../../../../src/net/address.ts';
import { formatPrefix, prefix } from '../../../../src/net/prefix.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { cluster, type PeerLiteral } from '../../decisions/fixtures.ts';
import { FakeBfd } from '../fakes/fake-bfd.ts';

const tors = {
  name: 'tors',
  dynamicASN: 'external',
  dynamicNeighbors: { ranges: [prefix('10.0.0.0/24')], asns: [{ from: 65_001, to: 65_002 }], maximum: 2 },
} satisfies PeerLiteral;

let clock: VirtualClock;
let network: MemoryNetwork;
let table: AnnouncedRoutes;
let sessions: BgpSessions;
let changes: number;

beforeEach(() => {
  clock = new VirtualClock();
  network = new MemoryNetwork(clock, 1);
  const speaker = new Speaker({ clock, random: () => 0.5, transport: network.host([address('10.0.0.11')]) });
  table = new AnnouncedRoutes();
  const components = { speaker, clock, log: silentLog, startBfd: () => new FakeBfd() };
  changes = 0;
  sessions = new BgpSessions(components, table, () => changes++, { listenForPassivePeers: true });
});

function reconcile(...peers: readonly PeerLiteral[]): void {
  sessions.reconcile(cluster({ nodes: [{ name: 'n1' }], peers: peers.map((one) => ({ ...one })) }), 'n1');
  clock.advance(2_000);
}

/** A router that connects to the node and keeps its routes. */
function router(own: string, asn: number): Speaker {
  const speaker = new Speaker({ clock, random: () => 0.5, asn, routerId: own, transport: network.host([address(own)]) });
  const rule = { prefixes: [{ prefix: '0.0.0.0/0', le: 32 }] };
  speaker.addPeer({ address: '10.0.0.11', peerAsn: 64_512, sourceAddress: own, connectRetryTime: 1, import: { rules: [rule] } });
  clock.advance(3_000);
  return speaker;
}

const received = ({ peers: [peer] }: Speaker): string[] => [...(peer?.received(4) ?? [])].map((route) => formatPrefix(route.prefix));

function announce(text: string): void {
  table.replaceRoutes('shop/web', new Map([['tors', [{ prefix: prefix(text), communities: [], asPathPrepend: 0, aggregate: false }]]]));
  sessions.applyRouteChanges(table.takeChanges(0));
  clock.advance(1_000);
}

const neighbors = (): string[] | undefined =>
  sessions
    .status()[0]
    ?.neighbors?.map((one) => `${one.address} ${one.peerASN} ${one.state}`)
    .toSorted();

test('a BGPPeer with dynamicNeighbors has one session in the status, with the routers that connected', () => {
  reconcile(tors);
  expect(sessions.status()).toMatchObject([
    { peer: 'tors', address: '10.0.0.0/24', state: 'Active', lastError: 'no router of 10.0.0.0/24 has connected' },
  ]);
  announce('192.0.2.1/32');
  const first = router('10.0.0.1', 65_001);
  const second = router('10.0.0.2', 65_002);
  expect(neighbors()).toEqual(['10.0.0.1 65001 Established', '10.0.0.2 65002 Established']);
  expect(sessions.status()).toMatchObject([{ state: 'Established', peerASN: 65_001, prefixesSent: 2 }]);
  announce('192.0.2.2/32');
  expect([received(first), received(second)]).toEqual([['192.0.2.2/32'], ['192.0.2.2/32']]);
});

test('a router beyond the maximum, in another network or with another AS number gets no session', () => {
  reconcile(tors);
  router('10.0.0.1', 65_003);
  router('10.0.1.2', 65_001);
  expect(sessions.status()).toMatchObject([{ state: 'Active', prefixesSent: 0 }]);
  clock.advance(130_000);
  for (const last of [3, 4, 5]) router(`10.0.0.${last}`, 65_001);
  expect(neighbors()).toHaveLength(2);
});

test('a changed maximum resets no session, and a range that goes away ends its sessions only', () => {
  reconcile(tors);
  router('10.0.0.1', 65_001);
  router('10.0.0.200', 65_001);
  const since = sessions.status()[0]?.neighbors?.map((one) => one.since);
  reconcile({ ...tors, dynamicNeighbors: { ...tors.dynamicNeighbors, maximum: 3 } });
  expect(sessions.status()[0]?.neighbors?.map((one) => one.since)).toEqual(since);
  reconcile({ ...tors, dynamicNeighbors: { ...tors.dynamicNeighbors, ranges: [prefix('10.0.0.0/25')] } });
  expect(neighbors()).toEqual(['10.0.0.1 65001 Established']);
  reconcile();
  expect(sessions.status()).toEqual([]);
});

/** Advances until a router is gone from the status, and returns how often the sessions said so. */
function changesUntilForgotten(): number {
  const present = neighbors()?.length;
  for (let seconds = 0; seconds < 7_200; seconds++) {
    const before = changes;
    clock.advance(1_000);
    if (neighbors()?.length !== present) return changes - before;
  }
  throw new Error('all routers are still there');
}

test('a router without a session is forgotten, and the report says so, which is no urgent write', () => {
  reconcile(tors);
  void router('10.0.0.1', 65_001).stop();
  clock.advance(60_000);
  const before = sessions.status();
  expect(neighbors()).toEqual(['10.0.0.1 0 Active']);
  expect(changesUntilForgotten()).toBeGreaterThan(0);
  expect(neighbors()).toEqual([]);
  const report = (status: SessionStatus[]): ReportContent => ({ consumed: {}, differing: [], sessions: status });
  expect(writeUrgency(report(before), report(sessions.status()))).toBe('details');
});

test('a router that flaps and is held back is forgotten, and the report says so', () => {
  reconcile(tors);
  const host = network.host([address('10.0.0.1')]);
  const flapping = new Speaker({ clock, random: () => 0.5, asn: 65_001, routerId: '10.0.0.1', transport: host });
  flapping.addPeer({ address: '10.0.0.11', peerAsn: 64_512, sourceAddress: '10.0.0.1', connectRetryTime: 1, flapDamping: false });
  // The seventh flap holds the session for longer than the member is kept.
  for (let flaps = 0; flaps < 7; flaps++) {
    for (let seconds = 0; sessions.status()[0]?.state !== 'Established'; seconds++) {
      expect(seconds).toBeLessThan(200);
      clock.advance(1_000);
    }
    host.kill();
    clock.advance(10);
  }
  void flapping.stop();
  expect(neighbors()).toEqual(['10.0.0.1 0 Idle']);
  expect(changesUntilForgotten()).toBeGreaterThan(0);
  expect(neighbors()).toEqual([]);
});

test('settings that are refused are in the status, while the earlier ones stay', () => {
  reconcile(tors);
  const refused = { ...tors, ttlSecurityHops: 1, ebgpMultiHop: true };
  reconcile(refused);
  expect(sessions.status()).toMatchObject([{ state: 'Active', lastError: 'no router of 10.0.0.0/24 has connected' }]);
  router('10.0.0.1', 65_001);
  expect(sessions.status()).toMatchObject([{ state: 'Established', warning: { code: 'PeerNotPossible', details: { keeps: true } } }]);
  reconcile(tors);
  expect(sessions.status()[0]).not.toHaveProperty('warning');
});

test('a BGPPeer that is administratively down says so', () => {
  reconcile({ ...tors, adminDown: true });
  expect(sessions.status()).toMatchObject([{ state: 'Active', cause: { code: 'PeerAdminDown' } }]);
});

const { dynamicNeighbors } = tors;
const intentOf = (peer: PeerLiteral): SessionIntent => {
  const [one] = peersOfNode(cluster({ nodes: [{ name: 'n1' }], peers: [peer] }), 'n1');
  if (one === undefined || !('session' in one.result)) throw new Error('no session');
  return one.result.session;
};

test.each<[string, PeerLiteral, ReturnType<typeof sessionChange>]>([
  ['nothing', tors, undefined],
  ['peerPort and connectTime, which routers that connect do not need', { ...tors, peerPort: 1_179, connectTimeSeconds: 7 }, undefined],
  ['maximum', withNeighbors({ maximum: 1 }), { change: 'live', fields: ['dynamicNeighbors.maximum'] }],
  ['wider ranges', withNeighbors({ ranges: ['10.0.0.0/23', '2001:db8::/64'] }), { change: 'live', fields: ['dynamicNeighbors.ranges'] }],
  [
    'a range in two halves',
    withNeighbors({ ranges: ['10.0.0.128/25', '10.0.0.0/25'] }),
    { change: 'live', fields: ['dynamicNeighbors.ranges'] },
  ],
  ['a smaller range', withNeighbors({ ranges: ['10.0.0.0/25'] }), { change: 'reset', fields: ['dynamicNeighbors.ranges'] }],
  ['asns', withNeighbors({ asns: [{ from: 65_001 }] }), { change: 'reset', fields: ['dynamicNeighbors.asns'] }],
  ['no asns', withNeighbors({ asns: [] }), { change: 'reset', fields: ['dynamicNeighbors.asns'] }],
  ['keepaliveTime', { ...tors, keepaliveTimeSeconds: 7 }, { change: 'live', fields: ['keepaliveTime'] }],
  ['holdTime', { ...tors, holdTimeSeconds: 30 }, { change: 'reset', fields: ['holdTime'] }],
  ['adminDown', { ...tors, adminDown: true }, { change: 'reset', fields: ['adminDown'] }],
  [
    'one router in place of ranges',
    { name: 'tors', dynamicASN: 'external', peerAddress: '10.0.0.1' },
    { change: 'reset', fields: ['dynamicNeighbors'] },
  ],
])('herald plan says whether a change resets sessions, as the agent does: %s', (_, changed, expected) => {
  expect(sessionChange(intentOf(tors), intentOf(changed))).toEqual(expected);
  reconcile(tors);
  router('10.0.0.1', 65_001);
  router('10.0.0.200', 65_001);
  const since = (): string[] | undefined => sessions.status()[0]?.neighbors?.map((one) => `${one.address} ${one.state} ${one.since}`);
  const before = since();
  expect(before).toHaveLength(2);
  reconcile(changed);
  if (expected?.change === 'reset') expect(since()).not.toEqual(before);
  else expect(since()).toEqual(before);
});

function withNeighbors(change: { ranges?: string[]; asns?: { from: number; to?: number }[]; maximum?: number }): PeerLiteral {
  const { ranges, ...others } = change;
  return { ...tors, dynamicNeighbors: { ...dynamicNeighbors, ...others, ...(ranges === undefined ? {} : { ranges: ranges.map(prefix) }) } };
}
