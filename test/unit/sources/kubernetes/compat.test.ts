import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KubeClient } from '../../../../src/kube/client/client.ts';
import { KubernetesSource } from '../../../../src/sources/kubernetes/kubernetes-source.ts';
import { problemText } from '../../../../src/sources/source.ts';
import { systemClock } from '../../../../src/system/clock.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { FakeApiServer } from '../../kube/fake-api-server.ts';

const services = '/api/v1/services';
const configs = '/apis/herald.dev/v1alpha1/heraldconfigs';
const ownPools = '/apis/herald.dev/v1alpha1/ipaddresspools';
const of = (plural: string, version = 'v1beta1'): string => `/apis/metallb.io/${version}/${plural}`;
const inNamespace = (plural: string, version = 'v1beta1'): string => `/apis/metallb.io/${version}/namespaces/metallb-system/${plural}`;
const theirPools = of('ipaddresspools');

let server: FakeApiServer;
let client: KubeClient;
let source: KubernetesSource;
/** The Service and the settings as a listener saw them at each notification. */
let seen: string[];

beforeEach(async () => {
  server = await FakeApiServer.start();
  client = new KubeClient({ server: server.url, credentials: async () => ({}), expired: () => undefined }, { clock: systemClock });
  source = new KubernetesSource({ client, clock: systemClock, random: () => 0, log: silentLog });
  seen = [];
  source.onChange(() => {
    const { config, pools } = source.snapshot;
    seen.push(
      `${config.compat.join() || 'none'} ${config.defaultClass} asks for ${asked() ?? 'any'} of ${[...pools.keys()].join(' and ') || 'none'}`,
    );
  });
  server.put(services, 'web', web, 'shop');
});

afterEach(async () => {
  await source.close();
  client.close();
  await server.stop();
});

const web = {
  metadata: { annotations: { 'metallb.io/address-pool': 'edge' } },
  spec: { type: 'LoadBalancer', clusterIP: '10.96.0.10', clusterIPs: ['10.96.0.10'], ports: [{ port: 80 }] },
};
const pool = { spec: { addresses: ['192.0.2.0/24'] } };
const asked = (): string | undefined => source.snapshot.services.get('shop/web')?.requestedPool;
const compat = (value: string | readonly string[], further: object = {}): void =>
  server.put(configs, 'default', { spec: { compat: value, ...further } });
const problems = (): string[] => source.problems().map(problemText);

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await pause(2);
}

describe('a cluster with objects of MetalLB', () => {
  test("MetalLB's objects are in the snapshot from the start when HeraldConfig says so", async () => {
    compat('metallb');
    server.put(theirPools, 'edge', pool, 'metallb-system');
    server.put(of('bgppeers', 'v1beta2'), 'tor', { spec: { myASN: 1, peerASN: 2, peerAddress: '192.0.2.1' } }, 'metallb-system');
    server.put(of('bgpadvertisements'), 'all', { spec: {} }, 'metallb-system');
    server.put(of('communities'), 'names', { spec: { communities: [{ name: 'a', value: '1:1' }] } }, 'metallb-system');
    await source.start();
    const { snapshot } = source;
    expect([...snapshot.pools.keys(), ...snapshot.peers.keys(), ...snapshot.advertisements.keys(), ...snapshot.communities.keys()]).toEqual(
      ['edge', 'tor', 'all', 'names'],
    );
    expect(snapshot.pools.get('edge')?.metadata).toMatchObject({ namespace: '', uid: 'uid-edge', origin: { namespace: 'metallb-system' } });
    expect(asked()).toBe('edge');
    expect(snapshot.config.defaultClass).toBe(true);
    expect(problems()).toEqual([]);
  });

  test("MetalLB's objects are not requested when HeraldConfig does not ask for them", async () => {
    server.put(theirPools, 'edge', pool, 'metallb-system');
    await source.start();
    expect(source.snapshot.pools.size).toBe(0);
    expect(asked()).toBeUndefined();
    expect(server.paths.filter((path) => path.includes('metallb.io'))).toEqual([]);
  });

  test('a Service becomes ours only after its annotations and the pools were read', async () => {
    server.put(theirPools, 'edge', pool, 'metallb-system');
    await source.start();
    compat('metallb');
    await until(() => source.snapshot.config.compat.includes('metallb'));
    expect(seen.at(-1)).toBe('metallb true asks for edge of edge');
    expect(seen.filter((what) => what.startsWith('metallb') && what !== 'metallb true asks for edge of edge')).toEqual([]);
  });

  test('when compat ends, Services are released first and nothing of MetalLB is read any more', async () => {
    compat('metallb');
    server.put(theirPools, 'edge', pool, 'metallb-system');
    await source.start();
    seen.length = 0;
    compat('none');
    await until(() => source.snapshot.pools.size === 0 && asked() === undefined);
    expect(seen[0]).toBe('none false asks for edge of edge');
    await until(() => server.watched.every((path) => !path.includes('metallb.io')));
    server.put(theirPools, 'more', pool, 'metallb-system');
    compat('none', { drainSeconds: 3 });
    await until(() => source.snapshot.config.drainSeconds === 3);
    expect(source.snapshot.pools.size).toBe(0);
  });

  test('a program that leaves the list goes out of force at once, and one that joins comes into force after everything was read', async () => {
    server.put(services, 'web', { ...web, metadata: { annotations: { 'purelb.io/service-group': 'edge' } } }, 'shop');
    compat(['cilium']);
    await source.start();
    seen.length = 0;
    compat(['cilium', 'purelb'], { defaultClass: true });
    await until(() => source.snapshot.config.compat.length === 2);
    expect(seen.filter((what) => what.includes('true'))).toEqual(['cilium,purelb true asks for edge of none']);
    seen.length = 0;
    compat(['cilium']);
    await until(() => asked() === undefined);
    expect(seen[0]).toBe('cilium false asks for edge of none');
    compat('purelb');
    await until(() => asked() === 'edge');
  });

  test('compat can be switched on and off in quick succession', async () => {
    server.put(theirPools, 'edge', pool, 'metallb-system');
    await source.start();
    for (let n = 0; n < 20; n++) {
      compat(n % 2 === 0 ? 'metallb' : 'none');
      if (n % 3 === 0) await pause(5);
    }
    compat('metallb', { drainSeconds: 7 });
    await until(() => source.snapshot.config.drainSeconds === 7);
    expect(asked()).toBe('edge');
    expect([...source.snapshot.pools.keys()]).toEqual(['edge']);
    expect(server.watched.filter((path) => path === inNamespace('ipaddresspools'))).toHaveLength(1);
    expect(server.watched.filter((path) => path === services)).toHaveLength(1);
  });

  test('a Service that vanished during a relist is reported as deleted', async () => {
    server.put(services, 'old', web, 'shop');
    await source.start();
    server.silently(() => server.remove(services, 'old', 'shop'));
    compat('metallb');
    await until(() => source.snapshot.config.compat.includes('metallb'));
    expect([...source.snapshot.services.keys()]).toEqual(['shop/web']);
  });

  test('a new MetalLB namespace is read instead of the first', async () => {
    compat('metallb');
    server.put(theirPools, 'edge', pool, 'metallb-system');
    server.put(theirPools, 'other', pool, 'lb');
    await source.start();
    compat('metallb', { compatNamespace: 'lb' });
    await until(() => source.snapshot.pools.has('other'));
    await until(() => !source.snapshot.pools.has('edge'));
  });

  test("the source works without MetalLB's CRDs and finds them later", async () => {
    compat('metallb');
    for (const plural of ['ipaddresspools', 'bgpadvertisements', 'communities', 'bfdprofiles', 'l2advertisements'])
      server.absent.add(inNamespace(plural));
    server.absent.add(inNamespace('bgppeers', 'v1beta2'));
    await source.start();
    expect(problems()).toEqual([]);
    expect(asked()).toBe('edge');
  });

  test("the source starts without permission for MetalLB's objects and reports what is missing", async () => {
    compat('metallb');
    server.forbidden.add(inNamespace('ipaddresspools'));
    await source.start();
    expect(problems()).toEqual([
      expect.stringMatching(/^IPAddressPool\.metallb\.io: cannot be read: .*403.*\(apply manifests\/components\/metallb/),
    ]);
  });

  test('a herald.dev object wins over a MetalLB namesake, an unreadable L2Advertisement is a problem', async () => {
    compat('metallb');
    server.put(theirPools, 'edge', pool, 'metallb-system');
    server.put(ownPools, 'edge', { spec: { addresses: ['198.51.100.0/24'] } });
    server.put(of('l2advertisements'), 'l2', { spec: { interfaces: ['eth/0'] } }, 'metallb-system');
    await source.start();
    expect(source.snapshot.pools.get('edge')?.metadata.origin).toBeUndefined();
    expect(problems()).toEqual([
      expect.stringMatching(/^L2Advertisement\.metallb\.io\/metallb-system\/l2: spec.interfaces\[0\]/),
      expect.stringMatching(/^IPAddressPool\.metallb\.io\/metallb-system\/edge: is not used: IPAddressPool\/edge of herald\.dev/),
    ]);
    server.remove(ownPools, 'edge');
    await until(() => source.snapshot.pools.get('edge')?.metadata.origin !== undefined);
    server.remove(of('l2advertisements'), 'l2', 'metallb-system');
    await until(() => problems().length === 0);
    server.put(of('l2advertisements'), 'l2', { spec: {} }, 'metallb-system');
    await until(() => source.snapshot.l2Advertisements.get('l2')?.metadata.origin !== undefined);
    compat('none');
    await until(() => source.snapshot.l2Advertisements.size === 0);
    expect(problems()).toEqual([]);
  });
});
