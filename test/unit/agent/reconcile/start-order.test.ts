import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Speaker } from '../../../../src/bgp/index.ts';
import { KubeClient } from '../../../../src/kube/client/client.ts';
import { KubernetesSource } from '../../../../src/sources/kubernetes/kubernetes-source.ts';
import { systemClock } from '../../../../src/system/clock.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { FakeApiServer } from '../../kube/fake-api-server.ts';
import { Routers } from '../fakes/routers.ts';
import { testbed } from '../testbed.ts';

/** Starts over the API server, as in a cluster: routers must receive every route before End-of-RIB. */
const count = 40;
const herald = '/apis/herald.dev/v1alpha1';
const slices = '/apis/discovery.k8s.io/v1/endpointslices';

let server: FakeApiServer;
let client: KubeClient;
let source: KubernetesSource;

beforeEach(async () => {
  server = await FakeApiServer.start();
  client = new KubeClient({ server: server.url, credentials: async () => ({}), expired: () => undefined }, { clock: systemClock });
  source = new KubernetesSource({ client, clock: systemClock, random: () => 0, log: silentLog }, { node: 'n1' });
  server.put('/api/v1/nodes', 'n1', { status: { addresses: ['10.0.0.1', 'fd00::1'].map((address) => ({ type: 'InternalIP', address })) } });
  server.put('/api/v1/namespaces', 'shop');
  server.put(`${herald}/heraldconfigs`, 'default', { spec: { defaultClass: true } });
  server.put(`${herald}/ipaddresspools`, 'main', { spec: { addresses: ['192.0.2.0/24', '2001:db8::/120'], avoidBuggyIPs: false } });
  server.put(`${herald}/bgpadvertisements`, 'all', { spec: {} });
  server.put(`${herald}/bgppeers`, 'tor1', {
    spec: { myASN: 64_512, peerASN: 64_513, peerAddress: '10.0.0.254', dualStackAddressFamily: true, enableGracefulRestart: true },
  });
  for (let index = 1; index <= count; index++) {
    const name = `web-${index}`;
    const ingress = [`192.0.2.${index}`, `2001:db8::${index.toString(16)}`].map((ip) => ({ ip, ipMode: 'VIP' }));
    const spec = {
      type: 'LoadBalancer',
      ipFamilies: ['IPv4', 'IPv6'],
      clusterIP: `10.96.0.${index}`,
      clusterIPs: [`10.96.0.${index}`, `fd96::${index.toString(16)}`],
      ports: [{ port: 80, targetPort: 8080 }],
    };
    server.put('/api/v1/services', name, { spec, status: { loadBalancer: { ingress } } }, 'shop');
    for (const addressType of ['IPv4', 'IPv6'] as const) {
      const endpoints = [{ addresses: [addressType === 'IPv4' ? '10.1.0.1' : 'fd10::1'] }];
      const metadata = { labels: { 'kubernetes.io/service-name': name } };
      server.put(slices, `${name}-${addressType.toLowerCase()}`, { metadata, addressType, endpoints, ports: [{ port: 8080 }] }, 'shop');
    }
  }
});

afterEach(async () => {
  await source.close();
  client.close();
  await server.stop();
});

describe('the start of an agent over the API server', () => {
  test('End-of-RIB comes once, after every route, although the endpoints arrive late', async () => {
    server.forbidden.add(slices);
    let started = false;
    const starting = source.start().then(() => (started = true));
    while (source.snapshot.services.size < count || !server.paths.includes(slices)) await pause(5);
    // An agent that announced only by what it has now would announce nothing and send End-of-RIB.
    expect(started).toBe(false);
    server.forbidden.clear();
    await starting;

    let routers: Routers | undefined;
    const bed = testbed([], {
      reads: source,
      speaker: (clock) => {
        routers = new Routers(clock);
        return new Speaker({ clock, random: () => 0.5, transport: routers.transport, restarted: () => true });
      },
      deliver: () => routers?.exchange(),
    });
    await bed.agent.start();
    await bed.advance(100);
    expect(routers?.table('10.0.0.254')?.size).toBe(2 * count);
    expect(routers?.endsOfRib.toSorted()).toEqual([`IPv4 after ${count}`, `IPv6 after ${count}`]);
    const stopped = bed.agent.stop('test');
    await bed.advance(1_000);
    await stopped;
  });
});
