import { beforeEach, expect, test } from 'vitest';
import { AnnouncedRoutes } from '../../../../src/agent/reconcile/announced-routes.ts';
import { BgpSessions } from '../../../../src/agent/sessions/bgp-sessions.ts';
import { Speaker } from '../../../../src/bgp/index.ts';
import { MemoryNetwork } from '../../../../src/bgp/transport/memory-network.ts';
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

beforeEach(() => {
  clock = new VirtualClock();
  network = new MemoryNetwork(clock, 1);
  const speaker = new Speaker({ clock, random: () => 0.5, transport: network.host([address('10.0.0.11')]) });
  table = new AnnouncedRoutes();
  const components = { speaker, clock, log: silentLog, startBfd: () => new FakeBfd() };
  sessions = new BgpSessions(components, table, () => undefined, { listenForPassivePeers: true });
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
  sessions.applyRouteChanges(table.takeChanges());
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
