import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KubeClient } from '../../../../src/kube/client/client.ts';
import type { Change } from '../../../../src/model/store/snapshot.ts';
import { KubernetesSource } from '../../../../src/sources/kubernetes/kubernetes-source.ts';
import { limits } from '../../../../src/sources/kubernetes/limits.ts';
import { problemText } from '../../../../src/sources/source.ts';
import { systemClock } from '../../../../src/system/clock.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { FakeApiServer, refuse } from '../../kube/fake-api-server.ts';
import { lowered } from '../../../support/lowered.ts';

const services = '/api/v1/services';
const nodes = '/api/v1/nodes';
const secrets = '/api/v1/secrets';
const slices = '/apis/discovery.k8s.io/v1/endpointslices';
const peers = '/apis/herald.dev/v1alpha1/bgppeers';
const pools = '/apis/herald.dev/v1alpha1/ipaddresspools';

let server: FakeApiServer;
let client: KubeClient;
let source: KubernetesSource;
let batches: (readonly Change[])[];

beforeEach(async () => {
  server = await FakeApiServer.start();
  client = new KubeClient({ server: server.url, credentials: async () => ({}), expired: () => undefined }, { clock: systemClock });
  batches = [];
  read('node1');
});

const sources: KubernetesSource[] = [];

afterEach(async () => {
  await Promise.all(sources.splice(0).map((one) => one.close()));
  client.close();
  await server.stop();
});

function read(node?: string): void {
  const components = { client, clock: systemClock, random: () => 0, log: silentLog };
  source = new KubernetesSource(components, node === undefined ? {} : { node });
  sources.push(source);
  source.onChange((changes) => void batches.push(changes));
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await pause(2);
}

const web = { spec: { clusterIP: '10.96.0.10', clusterIPs: ['10.96.0.10'], ports: [{ port: 80, targetPort: 8080 }] } };
const peer = (secret: string, further: object = {}): object => ({
  spec: {
    myASN: 64_512,
    peerASN: 64_513,
    peerAddress: '192.0.2.1',
    passwordSecret: { namespace: 'herald-system', name: secret },
    ...further,
  },
});
const password = (text: string): object => ({ type: 'kubernetes.io/basic-auth', data: { password: Buffer.from(text).toString('base64') } });

test("the snapshot equals the API server's state after start", async () => {
  server.put(services, 'web', web, 'shop');
  server.put(
    slices,
    'web-1',
    {
      metadata: { labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.1.0.1'] }],
      ports: [],
    },
    'shop',
  );
  server.put(nodes, 'node1', { metadata: { annotations: { heartbeat: '1' } } });
  server.put('/api/v1/namespaces', 'shop');
  server.put('/apis/networking.k8s.io/v1/servicecidrs', 'kubernetes', { spec: { cidrs: ['10.96.0.0/12'] } });
  server.put(pools, 'main', { spec: { addresses: ['192.0.2.0/24'] }, status: { conditions: [] } });
  await source.start();
  const { snapshot } = source;
  expect(snapshot.services.get('shop/web')?.ports[0]?.targetPort).toBe(8080);
  expect(snapshot.endpointSlices('shop/web')).toHaveLength(1);
  expect(snapshot.nodes.get('node1')?.metadata.annotations).toEqual({});
  expect([...snapshot.namespaces.keys()]).toEqual(['shop']);
  expect(snapshot.serviceCIDRs.size).toBe(1);
  expect(snapshot.pools.get('main')?.metadata.uid).toBe('uid-main');
  expect(source.problems()).toEqual([]);
});

describe('fields that no agent uses', () => {
  const labels = { 'kubernetes.io/service-name': 'web', app: 'web' };
  const endpoints = [{ addresses: ['10.1.0.1'], nodeName: 'node1', targetRef: { kind: 'Pod', name: 'web-1' } }];
  const annotations = { 'example.com/owner': 'shop', 'herald.dev/drain': 'true' };

  beforeEach(() => {
    server.put(services, 'web', { ...web, metadata: { labels: { app: 'web' }, annotations } }, 'shop');
    server.put(slices, 'web-1', { metadata: { labels }, addressType: 'IPv4', endpoints, ports: [] }, 'shop');
  });

  test('an agent keeps the meaning of Service annotations and pod names, not their text', async () => {
    await source.start();
    const service = source.snapshot.services.get('shop/web');
    expect(service?.metadata).toMatchObject({ labels: { app: 'web' }, annotations: {} });
    expect(service?.drain).toBe(true);
    const [slice] = source.snapshot.endpointSlices('shop/web');
    expect(slice?.endpoints).toMatchObject([{ nodeName: 'node1' }]);
    expect(slice?.endpoints[0]).not.toHaveProperty('pod');
  });

  test('an agent hears nothing of a change of such an annotation', async () => {
    await source.start();
    const version = (): string | undefined => source.snapshot.services.get('shop/web')?.metadata.resourceVersion;
    const before = version();
    batches.length = 0;
    server.put(services, 'web', { ...web, metadata: { labels: { app: 'web' }, annotations: { ...annotations, more: 'x' } } }, 'shop');
    await until(() => version() !== before);
    expect(batches).toEqual([]);
  });

  test('the controller keeps them', async () => {
    await source.close();
    read();
    await source.start();
    expect(source.snapshot.services.get('shop/web')?.metadata.annotations).toEqual(annotations);
    expect(source.snapshot.endpointSlices('shop/web')[0]?.endpoints).toMatchObject([{ pod: 'web-1' }]);
  });

  test('only an agent leaves slices of headless Services out of its requests', async () => {
    const asked = (): Set<string | undefined> =>
      new Set(server.paths.flatMap((path, index) => (path === slices ? [server.labelSelectors[index]] : [])));
    await source.start();
    expect(asked()).toEqual(new Set(['!service.kubernetes.io/headless']));
    await source.close();
    server.paths.length = server.labelSelectors.length = 0;
    read();
    await source.start();
    expect(asked()).toEqual(new Set(['']));
  });
});

test('a change is reported after it is in the snapshot, and a mere version change is not reported', async () => {
  server.put(services, 'web', web, 'shop');
  await source.start();
  batches.length = 0;
  server.put(services, 'web', web, 'shop');
  server.put(services, 'web', { ...web, metadata: { labels: { tier: 'front' } } }, 'shop');
  await until(() => source.snapshot.services.get('shop/web')?.metadata.labels['tier'] === 'front');
  expect(batches.flat()).toEqual([{ kind: 'Service', key: 'shop/web' }]);
  server.remove(services, 'web', 'shop');
  await until(() => source.snapshot.services.size === 0);
  expect(batches.flat()).toHaveLength(2);
});

test('after a relist only the differences are reported', async () => {
  for (const name of ['a', 'b', 'c']) server.put(services, name, web, 'shop');
  await source.start();
  await until(() => server.watchers > 10);
  batches.length = 0;
  server.silently(() => {
    server.remove(services, 'b', 'shop');
    server.put(services, 'd', web, 'shop');
  });
  server.compact();
  server.endWatches();
  await until(() => source.snapshot.services.has('shop/d') && !source.snapshot.services.has('shop/b'));
  expect(
    batches
      .flat()
      .map(({ key }) => key)
      .toSorted(),
  ).toEqual(['shop/b', 'shop/d']);
});

describe('an object that cannot be used', () => {
  const broken = { spec: { ...web.spec, ports: [{ port: 99_999 }] } };

  test('an unusable object is left out with its own problem and affects no other', async () => {
    server.put(services, 'bad', broken, 'shop');
    server.put(services, 'web', web, 'shop');
    await source.start();
    expect([...source.snapshot.services.keys()]).toEqual(['shop/web']);
    expect(source.problems().map(problemText)).toEqual([expect.stringMatching(/^Service\/shop\/bad: spec\.ports\[0\]\.port: must be/)]);
    server.put(services, 'bad', web, 'shop');
    await until(() => source.snapshot.services.has('shop/bad'));
    expect(source.problems()).toEqual([]);
  });

  test('an object that becomes unusable stays in its last good version', async () => {
    server.put(services, 'web', web, 'shop');
    await source.start();
    server.put(services, 'web', broken, 'shop');
    await until(() => source.problems().length === 1);
    expect(source.snapshot.services.get('shop/web')?.ports[0]?.port).toBe(80);
    server.remove(services, 'web', 'shop');
    await until(() => source.snapshot.services.size === 0);
    expect(source.problems()).toEqual([]);
  });

  test('the version in force of a broken peer is listed as written, without its password and copies of it', async () => {
    const written = (further: object): object => ({
      metadata: {
        annotations: {
          'kubectl.kubernetes.io/last-applied-configuration': '{"spec":{"password":"hunter2"}}',
          'kapp.k14s.io/original': '{"spec":{"password":"hunter2"}}',
        },
        managedFields: [{ manager: 'kubectl' }],
      },
      spec: { myASN: 64_512, peerASN: 64_513, peerAddress: '192.0.2.1', password: 'hunter2', ...further },
    });
    server.put(peers, 'tor', written({}));
    await source.start();
    expect(source.kept()).toEqual([]);
    server.put(peers, 'tor', written({ holdTime: '2s' }));
    await until(() => source.problems().length === 1);
    const [kept] = source.kept();
    expect(source.kept()).toHaveLength(1);
    expect(kept).toMatchObject({
      object: 'BGPPeer/tor',
      problem: { field: 'spec.holdTime', keeps: ['BGPPeer/tor'] },
      inForce: { kind: 'BGPPeer', metadata: { name: 'tor' }, spec: { peerAddress: '192.0.2.1' } },
    });
    expect(JSON.stringify(kept)).not.toContain('hunter2');
    expect(JSON.stringify(kept)).not.toContain('managedFields');
    server.put(peers, 'tor', written({ holdTime: '30s' }));
    await until(() => source.problems().length === 0);
    expect(source.kept()).toEqual([]);
  });

  test('a new object does not inherit the good version of an older one with its name', async () => {
    server.put(services, 'web', web, 'shop');
    await source.start();
    server.put(services, 'web', { ...broken, metadata: { uid: 'another' } }, 'shop');
    await until(() => source.snapshot.services.size === 0);
  });
});

test('errors are reported before warnings when there are too many problems', async () => {
  using _ = lowered(limits, { problems: 40 });
  const odd = { metadata: { annotations: { 'herald.dev/unknown': 'x' } } };
  for (let index = 0; index < limits.problems; index++) server.put(services, `odd${index}`, { ...web, ...odd }, 'shop');
  server.put(pools, 'main', { spec: { addresses: [] } });
  await source.start();
  expect(source.problems()).toHaveLength(limits.problems);
  expect(source.problems()[0]).toMatchObject({ severity: 'error', object: 'IPAddressPool/main' });
});

test('a problem is reported again only when it differs or concerns a version whose status must be written', async () => {
  let told = 0;
  source.onProblem(() => told++);
  const odd = (text: string) => ({ ...web, metadata: { annotations: { 'herald.dev/unknown': 'x', text } } });
  server.put(services, 'odd', odd('1'), 'shop');
  server.put(pools, 'bad', { spec: { addresses: [] } });
  await source.start();
  await until(() => server.watchers >= 11);
  const before = told;
  server.put(services, 'odd', odd('2'), 'shop');
  server.put(services, 'later', web, 'shop');
  await until(() => source.snapshot.services.has('shop/later'));
  expect(told).toBe(before);
  const version = source.problems().find(({ severity }) => severity === 'error')?.about?.resourceVersion;
  server.put(pools, 'bad', { spec: { addresses: [] }, metadata: { annotations: { text: '2' } } });
  await until(() => told > before);
  expect(source.problems().find(({ severity }) => severity === 'error')?.about?.resourceVersion).not.toBe(version);
});

test('an object with a field of a newer version is used without it, with a warning', async () => {
  server.put(pools, 'main', { spec: { addresses: ['192.0.2.0/24'], sharding: { factor: 2 } } });
  await source.start();
  expect(source.snapshot.pools.get('main')?.addresses).toHaveLength(1);
  const text = /^IPAddressPool\/main: spec\.sharding: is not known to this version of Herald and is ignored \(upgrade, or remove it/;
  expect(source.problems().map(problemText)).toEqual([expect.stringMatching(text)]);
  expect(source.problems()[0]?.severity).toBe('warning');
});

test('without the CRDs there are no configuration objects', async () => {
  server.absent.add(peers).add(pools);
  server.put(services, 'web', web, 'shop');
  await source.start();
  expect(source.snapshot.pools.size).toBe(0);
  expect(source.problems()).toEqual([]);
});

test('in a cluster a Service without a class is not ours unless HeraldConfig says so', async () => {
  const config = '/apis/herald.dev/v1alpha1/heraldconfigs';
  await source.start();
  expect(source.snapshot.config.defaultClass).toBe(false);
  await until(() => server.watchers >= 11);
  server.put(config, 'default', { spec: { drainSeconds: 3 } });
  await until(() => source.snapshot.config.drainSeconds === 3);
  expect(source.snapshot.config.defaultClass).toBe(false);
  server.put(config, 'default', { spec: { defaultClass: true } });
  await until(() => source.snapshot.config.defaultClass);
});

test('an unreachable API server is one problem, not one per kind, and all objects stay', async () => {
  server.put(services, 'web', web, 'shop');
  await source.start();
  server.refuseAll = true;
  server.resetConnections();
  await until(() => source.problems().length > 0);
  expect(source.problems().map(problemText)).toEqual([expect.stringMatching(/^the API server cannot be read: .*503/)]);
  expect(source.snapshot.services.size).toBe(1);
  server.refuseAll = false;
  await until(() => source.problems().length === 0);
});

test('start waits until every kind was read, and ends with its signal', async () => {
  for (let i = 0; i < 40; i++) server.next((response) => refuse(response, 403, 'services is forbidden'));
  const stop = new AbortController();
  const started = source.start(stop.signal);
  await until(() => source.problems().some(({ message }) => message.includes('403: services is forbidden')));
  expect(source.problems()[0]?.fix).toContain('manifests/base');
  stop.abort('SIGTERM');
  await expect(started).rejects.toBe('SIGTERM');
});

describe('Secrets', () => {
  beforeEach(() => {
    server.put(nodes, 'node1', { metadata: { labels: { rack: 'a' } } });
    server.put(secrets, 'tor', password('one'), 'herald-system');
    server.put(secrets, 'unrelated', password('two'), 'herald-system');
  });

  test('Secrets named by a BGPPeer of the node are read and followed', async () => {
    server.put(peers, 'tor', peer('tor'));
    server.put(peers, 'elsewhere', peer('unrelated', { nodeSelectors: [{ matchLabels: { rack: 'b' } }] }));
    await source.start();
    expect([...source.snapshot.secrets].map(([key, secret]) => [key, secret.password])).toEqual([['herald-system/tor', 'one']]);
    await until(() => server.watchers > 11);
    server.tell('/api/v1/namespaces/herald-system/secrets', 'MODIFIED', {
      ...password('three'),
      metadata: { name: 'tor', namespace: 'herald-system', uid: 'uid-tor', resourceVersion: '900' },
    });
    await until(() => source.snapshot.secrets.get('herald-system/tor')?.password === 'three');
  });

  test('Secrets are watched and forgotten with the BGPPeer that names them', async () => {
    await source.start();
    expect(source.snapshot.secrets.size).toBe(0);
    await until(() => server.watchers >= 11);
    server.put(peers, 'tor', peer('tor'));
    await until(() => source.snapshot.secrets.size === 1);
    server.put(peers, 'tor', peer('unrelated'));
    await until(() => source.snapshot.secrets.has('herald-system/unrelated'));
    expect([...source.snapshot.secrets.keys()]).toEqual(['herald-system/unrelated']);
  });

  test('a forbidden Secret is a problem, and the node starts', async () => {
    server.put(peers, 'tor', peer('tor'));
    server.forbidden.add('/api/v1/namespaces/herald-system/secrets');
    await source.start();
    expect(source.problems().map(problemText)).toEqual([expect.stringMatching(/Secret: .*herald-system\/tor.*403.*Role in herald-system/)]);
    expect(source.snapshot.secrets.size).toBe(0);
  });

  test('the number of watched Secrets is bounded', async () => {
    for (let i = 0; i <= limits.secrets; i++) server.put(peers, `peer${i}`, peer(`secret${i}`));
    server.pageItems = 1000;
    await source.start();
    expect(source.problems().filter(({ message }) => message.includes('more than'))).toHaveLength(1);
  });
});

describe('reports of other agents', () => {
  const states = '/apis/herald.dev/v1alpha1/nodestates';
  const report = { status: { updated: '2026-01-01T00:00:00Z', directReturn: { receives: ['link'], passes: ['l2'] } } };
  const asking = { ...web, metadata: { annotations: { 'herald.dev/direct-return': 'true' } } };

  test("other agents' reports are read when a Service needs them, and not before", async () => {
    server.put(states, 'node2', report);
    server.put(services, 'web', web, 'shop');
    await source.start();
    server.put(services, 'other', web, 'shop');
    await until(() => source.snapshot.services.has('shop/other'));
    expect(source.snapshot.nodeStates.size).toBe(0);
    server.put(services, 'web', asking, 'shop');
    await until(() => source.snapshot.nodeStates.size === 1);
    expect(source.snapshot.nodeStates.get('node2')?.directReturn).toMatchObject({ receives: ['link'], passes: ['l2'] });
  });

  test('a report that comes by the watch is dated by the clock of the reader, and a repeated event of it is not', async () => {
    server.put(states, 'node2', report);
    server.put('/apis/herald.dev/v1alpha1/heraldconfigs', 'default', { spec: { directReturn: true } });
    await source.start();
    await until(() => source.snapshot.nodeStates.size === 1);
    const seen = (): number | undefined => source.snapshot.nodeStates.get('node2')?.received;
    expect(seen()).toBeUndefined();
    server.put(states, 'node2', { ...report, metadata: { labels: { a: 'b' } } });
    await until(() => source.snapshot.nodeStates.get('node2')?.metadata.labels['a'] === 'b');
    expect(seen()).toBeUndefined();
    server.put(states, 'node2', { status: { ...report.status, updated: '2026-01-01T00:00:30Z' } });
    await until(() => seen() !== undefined);
  });

  const node = (annotations: Record<string, string>, more: object = {}): object => ({ metadata: { annotations }, ...more });

  test("other agents' reports are read when this node drains, and not when another does", async () => {
    server.put(states, 'node2', report);
    server.put(nodes, 'node1', node({}));
    server.put(nodes, 'node2', node({ 'herald.dev/drain': 'true' }));
    await source.start();
    server.put(services, 'web', web, 'shop');
    await until(() => source.snapshot.services.has('shop/web'));
    expect(source.snapshot.nodeStates.size).toBe(0);
    server.put(nodes, 'node1', node({ 'herald.dev/drain': 'true' }));
    await until(() => source.snapshot.nodeStates.size === 1);
  });

  test.each([
    ['the annotation', node({ 'herald.dev/drain': 'force' })],
    ['a taint that HeraldConfig names', node({}, { spec: { taints: [{ key: 'example.com/out', effect: 'NoSchedule' }] } })],
  ])("other agents' reports are read before start ends when the node drains by %s", async (_, drained) => {
    server.put(states, 'node1', {
      status: { updated: '2026-01-01T00:00:00Z', drain: { phase: 'Withdrawn', since: '2026-01-01T00:00:00Z' } },
    });
    server.put('/apis/herald.dev/v1alpha1/heraldconfigs', 'default', { spec: { nodeDrain: { taint: 'example.com/out' } } });
    server.put(nodes, 'node1', drained);
    await source.start();
    expect(source.snapshot.nodeStates.get('node1')?.drain).toEqual({ phase: 'Withdrawn', since: '2026-01-01T00:00:00Z', kept: 0 });
  });

  test("other agents' reports are read when a BGPAdvertisement has maxNextHops, and not for one without", async () => {
    const advertisements = '/apis/herald.dev/v1alpha1/bgpadvertisements';
    server.put(states, 'node2', report);
    server.put(advertisements, 'all', { spec: {} });
    await source.start();
    server.put(services, 'web', web, 'shop');
    await until(() => source.snapshot.services.has('shop/web'));
    expect(source.snapshot.nodeStates.size).toBe(0);
    server.put(advertisements, 'all', { spec: { maxNextHops: 2 } });
    await until(() => source.snapshot.nodeStates.size === 1);
  });

  test("other agents' reports are read from the start when HeraldConfig asks for direct server return", async () => {
    server.put(states, 'node2', report);
    server.put('/apis/herald.dev/v1alpha1/heraldconfigs', 'default', { spec: { directReturn: true } });
    await source.start();
    await until(() => source.snapshot.nodeStates.size === 1);
  });
});
