import { describe, expect, it } from 'vitest';
import { bmp, type Bmp, type BmpOptions } from '../../../../../src/bgp/extensions/bmp/index.ts';
import type { PeerOptions } from '../../../../../src/bgp/index.ts';
import { bmpMaximumQueue } from '../../../../../src/bgp/limits.ts';
import type { MemoryHost } from '../../../../../src/bgp/transport/memory-network.ts';
import { decodeMessage } from '../../../../../src/bgp/wire/index.ts';
import { address, formatAddress } from '../../../../../src/net/address.ts';
import { pair, type Pair } from '../../two-speakers.ts';
import { MemoryCollector, out, postIn, preIn } from './memory-collector.ts';

const common: BmpOptions = { host: '10.0.0.9', port: 11_019, systemName: 'left', statisticsTime: 0 };
const importAll: Partial<PeerOptions> = { import: { rules: [{ prefixes: [{ prefix: '198.51.100.0/24', le: 32 }] }] } };

interface Bed extends Pair {
  readonly collector: MemoryCollector;
  readonly collectorHost: MemoryHost;
  readonly exported: Bmp;
}

/** Two speakers with routes for each other; the left one reports to a collector, which may start later. */
function bed({
  options = {},
  change = importAll,
  early = true,
}: {
  options?: Partial<BmpOptions>;
  change?: Partial<PeerOptions>;
  early?: boolean;
}): Bed & {
  readonly startCollector: () => MemoryCollector;
} {
  const { left, right, network, clock } = pair();
  const collectorHost = network.host([address('10.0.0.9')]);
  const startCollector = (): MemoryCollector => new MemoryCollector(collectorHost, common.port);
  let collector = early ? startCollector() : undefined;
  const exported = bmp({ ...common, ...options });
  left.start(change, { listen: [{}], extensions: [exported] });
  right.start();
  right.speaker.rib.set([{ prefix: '198.51.100.1/32' }, { prefix: '203.0.113.1/32' }]);
  left.speaker.rib.set([{ prefix: '192.0.2.1/32', asPathPrepend: 1 }]);
  return {
    left,
    right,
    network,
    clock,
    collectorHost,
    exported,
    get collector() {
      return (collector ??= startCollector());
    },
    startCollector: () => (collector = startCollector()),
  };
}

describe('BMP export', () => {
  it('BGP-118 begins with an Initiation, then reports the session and the routes of all views', () => {
    const { collector, clock } = bed({});
    clock.advance(2_000);
    expect(collector.kinds.slice(0, 3)).toEqual(['initiation', 'peerUp', 'routeMonitoring']);
    const [initiation] = collector.of('initiation');
    expect(initiation?.information.map(({ type, value }) => [type, new TextDecoder().decode(value)])).toEqual([
      [1, 'Herald'],
      [2, 'left'],
    ]);
    expect(collector.routes(preIn)).toEqual(['198.51.100.1/32 by 65001', '203.0.113.1/32 by 65001', 'end']);
    expect(collector.routes(postIn)).toEqual(['198.51.100.1/32 by 65001', 'end']);
    expect(collector.routes(out)).toEqual(['192.0.2.1/32 by 64512 64512', 'end']);
  });

  it('names the peer, both ends and both OPENs in Peer Up', () => {
    const { collector, clock } = bed({});
    clock.advance(2_000);
    const [up] = collector.of('peerUp');
    expect(up?.peer).toMatchObject({ asn: 65_001, routerId: 0x0a00_0002, postPolicy: false, adjRibOut: false });
    expect([up?.peer.address, up?.localAddress].map((each) => each && formatAddress(each))).toEqual(['10.0.0.2', '10.0.0.1']);
    const opens = [up?.sentOpen, up?.receivedOpen].map((octets) => decodeMessage(octets ?? new Uint8Array(0)));
    expect(opens).toMatchObject([{ value: { kind: 'open', asn: 64_512 } }, { value: { kind: 'open', asn: 65_001 } }]);
  });

  it('reports changes and withdrawals in the turn in which they come', () => {
    const { collector, clock, left, right } = bed({});
    clock.advance(2_000);
    right.speaker.rib.set([{ prefix: '198.51.100.2/32' }]);
    left.speaker.rib.set([{ prefix: '192.0.2.2/32' }]);
    clock.advance(100);
    expect(collector.routes(preIn)).toEqual(['198.51.100.2/32 by 65001', 'end']);
    expect(collector.routes(postIn)).toEqual(['198.51.100.2/32 by 65001', 'end']);
    expect(collector.routes(out)).toEqual(['192.0.2.2/32 by 64512', 'end']);
  });

  it('BGP-120 gives the present sessions and routes to a collector that comes later', () => {
    const { clock, left, right, startCollector, exported } = bed({ early: false });
    clock.advance(10_000);
    const routes = Array.from({ length: 3_000 }, (_, index) => ({ prefix: `192.0.${index >> 8}.${index & 255}/32`, med: index % 3 }));
    left.speaker.rib.set(routes);
    clock.advance(1_000);
    expect(exported.status()).toMatchObject({
      state: 'waiting',
      collector: '10.0.0.9:11019',
      connections: 0,
      lastError: expect.any(String),
    });
    const collector = startCollector();
    clock.advance(40_000);
    expect(exported.status()).toMatchObject({ state: 'connected', connections: 1, queued: 0 });
    expect(collector.routes(postIn)).toEqual(['198.51.100.1/32 by 65001', 'end']);
    expect(collector.routes(out)).toHaveLength(3_001);
    // The peer sends the routes again that are not kept here.
    expect(collector.routes(preIn)).toEqual(['198.51.100.1/32 by 65001', '203.0.113.1/32 by 65001']);
    expect(right.peer.status().counters.received.routeRefresh).toBe(1);
  });

  it('BGP-120 does not send a present route that was withdrawn while it waited', () => {
    const { clock, left, startCollector } = bed({ early: false, options: { views: ['adjRibOut'] } });
    const routes = Array.from({ length: 3_000 }, (_, index) => ({ prefix: `192.0.${index >> 8}.${index & 255}/32` }));
    left.speaker.rib.set(routes);
    clock.advance(10_000);
    const collector = startCollector();
    while (collector.of('routeMonitoring').length === 0) clock.advance(1);
    left.speaker.rib.set(routes.slice(0, 10));
    clock.advance(5_000);
    expect(collector.routes(out)).toHaveLength(11);
  });

  it.each([
    ['a NOTIFICATION of ours', (ends: Pair) => ends.left.speaker.removePeer('right'), 1],
    ['a NOTIFICATION of the peer', (ends: Pair) => ends.right.speaker.removePeer('left'), 3],
    ['the end of the connection', (ends: Pair) => ends.right.kill(), 4],
  ])('BGP-119 reports %s as the reason of Peer Down', (_, end, reason) => {
    const ends = bed({});
    ends.clock.advance(2_000);
    end(ends);
    ends.clock.advance(1_000);
    const [down] = ends.collector.of('peerDown');
    expect(down).toMatchObject({ reason, peer: { asn: 65_001 } });
    if (reason !== 4)
      expect(decodeMessage(down?.data ?? new Uint8Array(0))).toMatchObject({ value: { kind: 'notification', code: 6, subcode: 3 } });
  });

  it('sends only the views that were asked for', () => {
    const { collector, clock } = bed({ options: { views: ['adjRibInPost'] } });
    clock.advance(2_000);
    expect(collector.routes(preIn)).toEqual([]);
    expect(collector.routes(out)).toEqual([]);
    expect(collector.routes(postIn)).toEqual(['198.51.100.1/32 by 65001', 'end']);
  });

  it('sends no view after the policy of a peer without import rules', () => {
    const { collector, clock } = bed({ change: {} });
    clock.advance(2_000);
    expect(collector.routes(postIn)).toEqual([]);
    expect(collector.routes(preIn)).toHaveLength(3);
  });

  it('reports statistics of each peer', () => {
    const { collector, clock } = bed({ options: { statisticsTime: 30 } });
    clock.advance(31_000);
    const [report, second] = collector.of('statisticsReport');
    expect(second).toBeUndefined();
    const numbers = report?.statistics.map(({ type, value }) => [type, Buffer.from(value).toString('hex')]);
    expect(numbers).toEqual([
      [0, '00000001'],
      [4, '00000000'],
      [5, '00000000'],
      [7, '0000000000000001'],
      [9, '0001010000000000000001'],
      [15, '0000000000000001'],
      [17, '0001010000000000000001'],
    ]);
  });

  it('BGP-121 connects again with growing pauses, and begins with the present state', () => {
    const { collector, clock, exported } = bed({});
    clock.advance(2_000);
    collector.close();
    clock.advance(1_000);
    expect(exported.status()).toMatchObject({ state: 'waiting', lastError: expect.any(String) });
    clock.advance(31_000);
    expect(collector.connections).toBe(2);
    collector.close();
    clock.advance(31_000);
    expect(collector.connections).toBe(2);
    clock.advance(31_000);
    expect(collector.connections).toBe(3);
    expect(collector.of('initiation')).toHaveLength(3);
    expect(collector.of('peerUp')).toHaveLength(3);
  });

  it('BGP-119 sends a Termination when the speaker stops, after the sessions', async () => {
    const { collector, clock, left, exported } = bed({});
    clock.advance(2_000);
    const stopped = left.speaker.stop();
    clock.advance(2_000);
    await stopped;
    expect(collector.kinds.slice(-2)).toEqual(['peerDown', 'termination']);
    expect(collector.closed).toBe(1);
    expect(exported.status()?.state).toBe('stopped');
    clock.advance(1_000_000);
    expect(collector.connections).toBe(1);
  });

  it('BGP-121 ends the connection to a collector that does not read, and the session goes on', () => {
    const { collector, clock, left, right, network, collectorHost, exported } = bed({});
    clock.advance(2_000);
    const restore = network.cut(left.host, collectorHost);
    // Each route has an UPDATE of its own, of about a kilobyte.
    const communities = Array.from({ length: 84 }, (_, localData2) => ({
      kind: 'large' as const,
      globalAdministrator: 64512,
      localData1: 0,
      localData2,
    }));
    for (let round = 0; round < 100 && exported.status()?.state === 'connected'; round++) {
      const routes = Array.from({ length: 250 }, (_, index) => ({ prefix: `10.0.${index}.1/32`, med: 1_000 * round + index, communities }));
      right.speaker.rib.set(routes);
      clock.advance(20);
      expect(exported.status()?.queued).toBeLessThanOrEqual(bmpMaximumQueue);
    }
    expect(exported.status()).toMatchObject({ state: 'waiting', queued: 0, lastError: 'the collector has not read 8 MiB' });
    expect([left.state, left.peer.status().counters.flaps]).toEqual(['Established', 0]);
    restore();
    clock.advance(60_000);
    const reasons = collector.of('termination').flatMap(({ information }) => information.map(({ type, value }) => [type, ...value]));
    expect(reasons).toEqual([[1, 0, 2]]);
    expect(exported.status()).toMatchObject({ state: 'connected', connections: 2 });
    expect(collector.kinds.slice(collector.kinds.lastIndexOf('initiation'))).toContain('peerUp');
  });

  it.each([
    [{ host: '10.0.0.9', port: 0 }, 'bmp: port is a number from 1 to 65535'],
    [{ host: 'collector', port: 1 }, 'bmp: "collector"'],
    [{ host: '10.0.0.9', port: 1, views: [] }, 'bmp: views names at least one'],
    [{ host: '10.0.0.9', port: 1, views: ['locRib'] }, 'bmp: "locRib" is no view'],
    [{ host: '10.0.0.9', port: 1, statisticsTime: 0.5 }, 'bmp: statisticsTime is 0 or from 1'],
    [{ host: '10.0.0.9', port: 1, statisticTime: 5 }, 'did you mean bmp.statisticsTime?'],
  ])('refuses the options %o', (options, message) => {
    expect(() => bmp(options as BmpOptions)).toThrow(message);
  });

  it('belongs to one speaker', () => {
    const { exported, right } = bed({});
    expect(() => right.start({}, { extensions: [exported] })).toThrow('extensions: another speaker has this bmp()');
  });
});
