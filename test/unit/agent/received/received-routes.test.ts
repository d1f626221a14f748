import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../../../src/agent/limits.ts';
import { liveReceived } from '../../../../src/agent/live/live-received.ts';
import { ReceivedRoutes } from '../../../../src/agent/received/received-routes.ts';
import { sessionChange } from '../../../../src/agent/sessions/session-change.ts';
import { peerOptions } from '../../../../src/agent/sessions/speaker-input.ts';
import { Speaker, type Peer } from '../../../../src/bgp/index.ts';
import { MemoryNetwork, type MemoryHost } from '../../../../src/bgp/transport/memory-network.ts';
import { peersOfNode, type SessionIntent } from '../../../../src/decisions/announcement/peers.ts';
import { LiveQuery } from '../../../../src/live/query.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { address } from '../../../../src/net/address.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { FakeReceivedTable } from '../../dataplane/received-routes/fake-received-table.ts';
import { node, peer } from '../../decisions/fixtures.ts';
import { lowered } from '../../../support/lowered.ts';

/** Node n1 between two routers, with real speakers on a network in memory. */
class Fabric {
  readonly clock = new VirtualClock();
  readonly network = new MemoryNetwork(this.clock, 1);
  readonly store = new Store();
  readonly table = new FakeReceivedTable();
  readonly tors: readonly Speaker[];
  readonly hosts: readonly MemoryHost[];
  speaker: Speaker | undefined;
  peers = new Map<string, Peer>();
  #received: ReceivedRoutes | undefined;
  changes = 0;

  constructor({ maximumRoutes = 100 } = {}) {
    this.store.upsert(node({ name: 'n1', internalIPs: ['10.1.0.11'] }));
    for (const tor of [1, 2]) this.configure(tor, maximumRoutes);
    this.hosts = [1, 2].map((tor) => this.network.host([address(`10.${tor}.0.1`)]));
    this.tors = this.hosts.map((transport, index) => {
      const tor = index + 1;
      const router = new Speaker({ clock: this.clock, transport, asn: 64_513, routerId: `10.8.0.${tor}`, listen: [{}] });
      router.addPeer({
        address: '10.1.0.11',
        peerAsn: 64_512,
        passive: true,
        holdTime: 9,
        gracefulRestart: {},
      });
      router.rib.set([{ prefix: '0.0.0.0/0' }, { prefix: '10.244.7.0/24' }, { prefix: '203.0.113.0/24' }]);
      return router;
    });
  }

  configure(tor: number, maximumRoutes: number): void {
    const prefixes = [{ prefix: prefix('0.0.0.0/0') }, { prefix: prefix('10.0.0.0/8'), le: 32 }];
    this.store.upsert(
      peer({
        name: `tor${tor}`,
        peerAddress: `10.${tor}.0.1`,
        enableGracefulRestart: true,
        holdTimeSeconds: 9,
        import: { prefixes, communities: [], maximumRoutes },
      }),
    );
  }

  get received(): ReceivedRoutes {
    if (this.#received === undefined) throw new Error('the agent was not started');
    return this.#received;
  }

  /** Starts the process of the agent. */
  start({ withTable = true } = {}): void {
    const host = this.network.host([address('10.1.0.11')]);
    const speaker = new Speaker({ clock: this.clock, transport: host, log: silentLog });
    this.speaker = speaker;
    const interfaces = () => [1, 2].map((tor) => ({ name: `eth${tor}`, address: `10.${tor}.0.11`, length: 24 }));
    this.#received = new ReceivedRoutes(
      { ...(withTable ? { receivedTable: this.table } : {}), host: { interfaces }, clock: this.clock, log: silentLog },
      { node: 'n1', snapshot: () => this.store, peers: () => this.peers, onStatusChanged: () => this.changes++ },
    );
    this.peers = new Map(
      peersOfNode(this.store, 'n1').flatMap(({ peer: name, result }) =>
        'session' in result ? [[name, speaker.addPeer(peerOptions(result.session))] as const] : [],
      ),
    );
    this.received.reconcile();
  }

  async advance(milliseconds: number): Promise<void> {
    for (let left = milliseconds; left > 0; left -= 1_000) {
      this.clock.advance(Math.min(left, 1_000));
      for (let turn = 0; turn < 4; turn++) await setImmediate();
    }
  }

  /** Returns "tor1 0.0.0.0/0 installed", or with the code of the reason. */
  states(): string[] {
    const { items } = liveReceived(this.received, new LiveQuery(new URLSearchParams(), ['peer', 'family']));
    return items.map(({ peer: name, prefix: to, reason }) => `${name} ${to} ${reason?.code ?? 'installed'}`);
  }

  async stop(): Promise<void> {
    await this.#received?.stop();
    for (const speaker of [...(this.speaker === undefined ? [] : [this.speaker]), ...this.tors]) {
      // A killed host closes nothing.
      void speaker.stop();
      await this.advance(1_000);
    }
  }
}

const both = '10.1.0.1 dev eth1, 10.2.0.1 dev eth2';
const skipped = { '10.1.0.1/32': '', '10.2.0.1/32': '' };
let fabric: Fabric;

beforeEach(async () => {
  fabric = new Fabric();
});

afterEach(async () => {
  await fabric.stop();
});

test('a default route of two routers has both next hops, and router addresses skip the table', async () => {
  fabric.start();
  await fabric.advance(3_000);
  expect(fabric.table.routes).toEqual({ ...skipped, '10.244.7.0/24': both, '0.0.0.0/0': both });
  expect(fabric.received.installed('tor1')).toEqual({ ipv4: 2, ipv6: 0 });
  expect(fabric.changes).toBeGreaterThan(0);
  // The routes to the routers are in the kernel first.
  expect(fabric.table.changes.slice(0, 2)).toEqual(['10.1.0.1/32 ', '10.2.0.1/32 ']);
});

test('a router that BFD has lost is no next hop any more, at once, and is one again later', async () => {
  fabric.start();
  await fabric.advance(3_000);
  fabric.peers.get('tor1')?.pathLost();
  await fabric.advance(1);
  expect(fabric.table.routes['0.0.0.0/0']).toBe('10.2.0.1 dev eth2');
  expect(fabric.received.installed('tor1')).toEqual({ ipv4: 0, ipv6: 0 });
  fabric.peers.get('tor1')?.pathRestored();
  await fabric.advance(10_000);
  expect(fabric.table.routes['0.0.0.0/0']).toBe(both);
});

test('a route into pods is refused as soon as the range is known, and taken again without it', async () => {
  fabric.start();
  await fabric.advance(3_000);
  fabric.store.upsert(node({ name: 'n1', internalIPs: ['10.1.0.11'], podCIDRs: ['10.244.0.0/16'] }));
  fabric.received.reconcile();
  await fabric.advance(10);
  expect(fabric.table.routes).toEqual({ ...skipped, '0.0.0.0/0': both });
  expect(fabric.states()).toEqual([
    'tor1 0.0.0.0/0 installed',
    'tor1 10.244.7.0/24 ReceivedRouteInsideCluster',
    'tor2 0.0.0.0/0 installed',
    'tor2 10.244.7.0/24 ReceivedRouteInsideCluster',
  ]);
  fabric.store.upsert(node({ name: 'n1', internalIPs: ['10.1.0.11'] }));
  fabric.received.reconcile();
  await fabric.advance(10);
  expect(fabric.table.routes['10.244.7.0/24']).toBe(both);
});

test('without import nothing is left in the kernel', async () => {
  fabric.start();
  await fabric.advance(3_000);
  for (const tor of [1, 2]) {
    fabric.store.upsert(peer({ name: `tor${tor}`, peerAddress: `10.${tor}.0.1`, holdTimeSeconds: 9 }));
  }
  fabric.received.reconcile();
  await fabric.advance(10);
  expect([fabric.table.routes, fabric.states()]).toEqual([{}, []]);
});

test('a route that the kernel refuses is named, and tried again', async () => {
  fabric.table.refused.set('0.0.0.0/0', 'the network is down');
  fabric.start();
  await fabric.advance(3_000);
  expect(fabric.states()).toContain('tor1 0.0.0.0/0 ReceivedRouteNotInstalled');
  expect(fabric.received.installed('tor1')).toEqual({ ipv4: 1, ipv6: 0 });
  fabric.table.refused.clear();
  await fabric.advance(11_000);
  expect(fabric.states()).toContain('tor1 0.0.0.0/0 installed');
});

test('an agent without netlink says so of every route', async () => {
  fabric.start({ withTable: false });
  await fabric.advance(3_000);
  expect(fabric.states()[0]).toBe('tor1 0.0.0.0/0 ReceivedRoutesNotPossible');
});

describe('routes of an earlier process', () => {
  const old = { prefix: prefix('10.66.0.0/16'), hops: [{ address: address('10.1.0.1'), interface: 'eth1' }] };

  beforeEach(() => {
    fabric.table.present.set('10.66.0.0/16', old);
  });

  test('stay until the sessions with both routers have been up for a while', async () => {
    void fabric.tors[1]?.stop();
    fabric.start();
    await fabric.advance(30_000);
    expect(Object.keys(fabric.table.routes)).toContain('10.66.0.0/16');
    expect(fabric.table.routes['0.0.0.0/0']).toBe('10.1.0.1 dev eth1');
    await fabric.advance(limits.receivedAdoptMilliseconds);
    expect(Object.keys(fabric.table.routes)).not.toContain('10.66.0.0/16');
  });

  test('go when they have', async () => {
    fabric.start();
    await fabric.advance(3_000 + limits.receivedSettleMilliseconds);
    expect(fabric.table.routes).toEqual({ ...skipped, '10.244.7.0/24': both, '0.0.0.0/0': both });
  });

  test('stay when routers end the first session once more', async () => {
    fabric.start();
    await fabric.advance(4_000);
    for (const one of fabric.peers.values()) one.pathLost();
    await fabric.advance(2_000);
    expect(fabric.table.routes['0.0.0.0/0']).not.toBe(undefined);
    for (const one of fabric.peers.values()) one.pathRestored();
    await fabric.advance(30_000);
    expect(fabric.table.routes['0.0.0.0/0']).toBe(both);
    for (const one of fabric.peers.values()) one.pathLost();
    await fabric.advance(10);
    expect(fabric.table.routes['0.0.0.0/0']).toBe(undefined);
  });

  test('go at once without any import', async () => {
    for (const tor of [1, 2]) fabric.store.upsert(peer({ name: `tor${tor}`, peerAddress: `10.${tor}.0.1`, holdTimeSeconds: 9 }));
    fabric.start();
    await fabric.advance(10);
    expect(fabric.table.routes).toEqual({});
  });
});

test('the kernel gets a bounded number of routes, and another one when there is room', async () => {
  await fabric.stop();
  using _ = lowered(limits, { receivedRoutes: 300 });
  fabric = new Fabric({ maximumRoutes: limits.receivedRoutes + 10 });
  const routes = Array.from({ length: limits.receivedRoutes + 1 }, (_, index) => ({
    prefix: `10.${100 + (index >> 8)}.${index & 255}.0/24`,
  }));
  fabric.tors[0]?.rib.set(routes);
  fabric.tors[1]?.rib.set([]);
  fabric.start();
  await fabric.advance(15_000);
  expect(fabric.received.installed('tor1').ipv4).toBe(limits.receivedRoutes);
  const missing = [...fabric.received.states()].filter(({ installed }) => !installed);
  expect(missing.map(({ reason }) => reason?.code)).toEqual(['ReceivedRoutesFull']);
  fabric.tors[0]?.rib.set(routes.slice(1));
  await fabric.advance(5_000);
  expect([...fabric.received.states()].filter(({ installed }) => !installed)).toEqual([]);
});

test('routes of a router that restarts stay, and go when it does not come back', async () => {
  fabric.start();
  await fabric.advance(3_000);
  fabric.hosts[0]?.kill();
  await fabric.advance(20_000);
  expect(fabric.peers.get('tor1')?.status().state).not.toBe('Established');
  expect(fabric.table.routes['0.0.0.0/0']).toBe(both);
  await fabric.advance(130_000);
  expect(fabric.table.routes['0.0.0.0/0']).toBe('10.2.0.1 dev eth2');
});

test('a change of import needs no new session', () => {
  const sessionOf = (): SessionIntent | undefined =>
    peersOfNode(fabric.store, 'n1').flatMap(({ result }) => ('session' in result ? [result.session] : []))[0];
  const before = sessionOf();
  fabric.configure(1, 50);
  const after = sessionOf();
  expect(before && after && sessionChange(before, after)).toEqual({ change: 'live', fields: ['import'] });
});
