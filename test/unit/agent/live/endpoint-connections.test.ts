import { describe, expect, test } from 'vitest';
import { EndpointConnections } from '../../../../src/agent/live/endpoint-connections.ts';
import { limits } from '../../../../src/agent/limits.ts';
import type { Tally, TallyConnections } from '../../../../src/dataplane/conntrack/connection-tally.ts';
import type { OwnedFrontend } from '../../../../src/dataplane/dataplane.ts';
import { decideForwarding } from '../../../../src/decisions/forwarding/plan.ts';
import { LiveQuery } from '../../../../src/live/query.ts';
import { address } from '../../../../src/net/address.ts';
import { frontendKey } from '../../../../src/net/frontend.ts';
import { sleep } from '../../../../src/system/clock.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { cluster } from '../../decisions/fixtures.ts';

const snapshot = cluster({
  nodes: [{ name: 'node1', internalIPs: ['10.0.0.1', 'fd00::1'] }],
  services: [
    { name: 'shop/web', clusterIPs: ['10.96.0.1'], assigned: ['192.0.2.1'], ports: ['http:80/TCP@30080', 'dns:53/UDP@30053'] },
    { name: 'shop/other', clusterIPs: ['10.96.0.2'], assigned: ['192.0.2.2'], ports: ['http:80/TCP@30081'] },
  ],
  slices: [
    { service: 'shop/web', ports: ['http:8080/TCP', 'dns:53/UDP'], endpoints: ['10.244.1.1@node1'] },
    { service: 'shop/other', ports: ['http:8080/TCP'], endpoints: ['10.244.1.2@node1'] },
  ],
});

const owned = new Map<string, OwnedFrontend>();
for (const [service, object] of snapshot.services)
  for (const frontend of decideForwarding(snapshot, object, 'node1').forwarding?.frontends ?? [])
    owned.set(frontendKey(frontend.match), { service, frontend });

const at = (frontend: string, active: number, packets = 0, pod = '10.244.1.1'): Tally['connections'][number] => ({
  frontend,
  protocol: frontend.includes('UDP') ? 'UDP' : 'TCP',
  endpoint: address(pod),
  endpointPort: 8080,
  active,
  inactive: 1,
  packetsIn: packets,
  packetsOut: packets,
});

function counting(tallyConnections: TallyConnections | undefined, clock = new VirtualClock()): EndpointConnections {
  const host = { interfaces: () => [{ name: 'eth0', address: '10.0.0.1', up: true }] as never };
  const dataplane = { frontend: (key: string) => owned.get(key) };
  return new EndpointConnections(
    { ...(tallyConnections === undefined ? {} : { tallyConnections }), dataplane, host, clock },
    {
      snapshot: () => snapshot,
      frontendsOf: (service) => [...owned.values()].flatMap((one) => (one.service === service ? [one.frontend] : [])),
    },
  );
}

const query = (text = ''): LiveQuery => new LiveQuery(new URLSearchParams(text), ['service']);
const whole =
  (...connections: Tally['connections']): TallyConnections =>
  async () => ({ connections, isWhole: true });

describe('connections by endpoint', () => {
  test('are added up over all addresses of a port and its NodePort', async () => {
    const tally = whole(
      at('192.0.2.1 TCP 80', 2, 5),
      at('10.96.0.1 TCP 80', 3),
      at('NodePort IPv4 TCP 30080', 4, 1),
      at('192.0.2.1 UDP 53', 6),
    );
    expect((await counting(tally).list(query('service=shop/web'))).items).toEqual([
      { service: 'shop/web', protocol: 'TCP', port: 80, endpoint: '10.244.1.1:8080', active: 9, inactive: 3, packets: { in: 6, out: 6 } },
      { service: 'shop/web', protocol: 'UDP', port: 53, endpoint: '10.244.1.1:8080', active: 6, inactive: 1 },
    ]);
  });

  test('are counted at the frontends of the named Service only, or at every frontend', async () => {
    const asked: (number | undefined)[] = [];
    const tally: TallyConnections = async (frontends) => {
      asked.push(frontends?.length);
      return { connections: [at('192.0.2.1 TCP 80', 1), at('192.0.2.2 TCP 80', 1, 0, '10.244.1.2')], isWhole: true };
    };
    const clock = new VirtualClock();
    const counts = counting(tally, clock);
    expect((await counts.list(query('service=shop/other'))).items.map(({ service }) => service)).toEqual(['shop/other']);
    expect((await counts.list(query())).items.map(({ service }) => service)).toEqual(['shop/other', 'shop/web']);
    expect(asked).toEqual([3, undefined]);
  });

  test.each([
    ['192.0.2.1', 80, '192.0.2.1 TCP 80'],
    ['10.0.0.1', 30_080, 'NodePort IPv4 TCP 30080'],
    ['10.0.0.1', 30_099, undefined],
    // The port of the NodePort at a host elsewhere.
    ['203.0.113.9', 30_080, undefined],
  ])('a destination %s:%i is the frontend %s', async (text, port, frontend) => {
    let found: string | undefined = 'unset';
    const tally: TallyConnections = async (_, frontendOf) => {
      found = frontendOf({ address: address(text), protocol: 'TCP', port });
      return { connections: [], isWhole: true };
    };
    await counting(tally).list(query());
    expect(found).toBe(frontend);
  });

  test('are marked when there are more than are read', async () => {
    const tally: TallyConnections = async () => ({ connections: [at('192.0.2.1 TCP 80', 1)], isWhole: false });
    expect((await counting(tally).list(query())).items).toMatchObject([{ atLeast: true }]);
  });

  test('have pages', async () => {
    const counts = counting(whole(at('192.0.2.1 TCP 80', 1), at('192.0.2.1 UDP 53', 1)));
    const first = await counts.list(query('limit=1'));
    const second = await counts.list(query(`limit=1&after=${encodeURIComponent(first.next ?? '')}`));
    expect([first.items.length, second.items.length, second.next]).toEqual([1, 1, undefined]);
    expect(first.items[0]?.protocol).not.toBe(second.items[0]?.protocol);
  });

  test.each([
    ['service=shop/none', whole(), 'the agent knows no Service shop/none'],
    ['service=shop/web', async () => 'no permission', 'the kernel does not list its connections: no permission'],
    ['', undefined, 'the kernel does not list its connections: it has no netlink'],
  ] as const)('%j fails with its reason', async (text, tally, message) => {
    await expect(counting(tally).list(query(text))).rejects.toMatchObject({ message, code: 'invalidParameter' });
  });

  test('are counted one at a time, with pauses in proportion to their cost, and used again for a second', async () => {
    const clock = new VirtualClock();
    let running = 0;
    const began: number[] = [];
    const tally: TallyConnections = async () => {
      expect(++running).toBe(1);
      began.push(clock.now());
      await sleep(clock, 100);
      running--;
      return { connections: [], isWhole: true };
    };
    const counts = counting(tally, clock);
    const start = clock.now();
    const all = Promise.all(['shop/web', 'shop/web', 'shop/other'].map((service) => counts.list(query(`service=${service}`))));
    for (let step = 0; step < 3000; step++) {
      clock.advance(1);
      await new Promise((resolve) => void setImmediate(resolve));
    }
    await all;
    const [first = 0, second = 0, ...others] = began.map((time) => time - start);
    expect([first < 100, others]).toEqual([true, []]);
    expect(second - first).toBeGreaterThanOrEqual(100 + 100 * limits.tallyPauseFactor);
  });
});
