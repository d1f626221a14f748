import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { defined } from '../../src/lang/defined.ts';
import { KubeClient } from '../../src/kube/client/client.ts';
import type { Connection } from '../../src/kube/client/connection.ts';
import { InCluster } from '../../src/kube/client/in-cluster.ts';
import { readKubeconfig } from '../../src/kube/client/kubeconfig.ts';
import type { Change } from '../../src/model/store/snapshot.ts';
import { KubernetesSource } from '../../src/sources/kubernetes/kubernetes-source.ts';
import { systemClock } from '../../src/system/clock.ts';
import type { Log } from '../../src/system/log.ts';
import { systemRandom } from '../../src/system/random.ts';
import { until } from '../lab/until.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import type { KubernetesCluster } from './cluster.ts';
import { apply, definition, shipped } from './manifests.ts';
import { Wire } from './wire.ts';

let cluster: KubernetesCluster;
let folder: string;

beforeAll(async () => {
  cluster = await borrowCluster();
  await apply(cluster, ...shipped('base/namespace.yaml'), ...shipped('base/agent-rbac.yaml'));
});

afterAll(async () => {
  await cluster?.stop();
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'herald-account-'));
  await writeFile(join(folder, 'ca.crt'), cluster.admin.certificateAuthority);
  await writeFile(join(folder, 'token'), await cluster.serviceAccountToken('herald-system', 'herald-agent'));
});

afterEach(async () => {
  for (const close of closes.splice(0)) await close();
  await rm(folder, { recursive: true });
});

const closes: (() => Promise<void>)[] = [];

const inPod = (server: string): Connection => new InCluster(new URL(server), { clock: systemClock, folder });

interface Reading {
  readonly source: KubernetesSource;
  readonly changes: Change[];
  readonly lines: string[];
}

/** Creates a source as the agent of node1 has it in a pod. */
function reading(connection = inPod(cluster.admin.server)): Reading {
  const lines: string[] = [];
  const line = (fields: object, message: string): void => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { debug: line, info: line, warn: line, error: line };
  const client = new KubeClient(connection, { clock: systemClock });
  const source = new KubernetesSource({ client, clock: systemClock, random: systemRandom, log }, { node: 'node1' });
  const changes: Change[] = [];
  source.onChange((batch) => void changes.push(...batch));
  closes.push(async () => {
    await source.close();
    client.close();
  });
  return { source, changes, lines };
}

async function started(): Promise<Reading> {
  const result = reading();
  await result.source.start();
  result.changes.length = 0;
  return result;
}

const service = (name: string, further: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'default', ...further },
  spec: { ports: [{ port: 80 }] },
});
const remove = (name: string): Promise<unknown> =>
  cluster.request({ method: 'DELETE', path: `/api/v1/namespaces/default/services/${name}` });

test('objects that the API server creates itself are in the first snapshot', async () => {
  const { source } = await started();
  const { snapshot } = source;
  expect(snapshot.services.get('default/kubernetes')?.clusterIPs).toHaveLength(1);
  expect(snapshot.endpointSlices('default/kubernetes')).toHaveLength(1);
  expect([...snapshot.serviceCIDRs.values()].flatMap(({ cidrs }) => cidrs)).toHaveLength(2);
  expect(snapshot.namespaces.get('herald-system')?.metadata.labels).toMatchObject({ 'kubernetes.io/metadata.name': 'herald-system' });
  expect(source.problems()).toEqual([]);
});

test('the source streams lists and sends no list request', async () => {
  await started();
  const account = 'system:serviceaccount:herald-system:herald-agent';
  const verbs = cluster.auditedCalls().filter(({ user }) => user === account);
  expect(new Set(verbs.map(({ verb }) => verb))).toEqual(new Set(['watch']));
});

test('created, changed and deleted objects reach the snapshot', async () => {
  const { source, changes } = await started();
  await apply(cluster, service('web'));
  await until('the Service is in the snapshot', () => source.snapshot.services.has('default/web'));
  await apply(cluster, service('web', { labels: { tier: 'front' } }));
  await until('the change is in the snapshot', () => source.snapshot.services.get('default/web')?.metadata.labels['tier'] === 'front');
  await remove('web');
  await until('the Service has left the snapshot', () => !source.snapshot.services.has('default/web'));
  expect(changes.map(({ kind, key }) => `${kind} ${key}`)).toEqual(Array.from({ length: 3 }, () => 'Service default/web'));
});

test('changes during an outage of the API server are found, and only they are reported', async () => {
  await apply(cluster, service('stays'), service('goes'));
  const { source, changes, lines } = await started();
  await cluster.stopApiServer();
  await until('the outage is noticed', () => source.problems().length > 0);
  expect(source.snapshot.services.has('default/goes')).toBe(true);
  await cluster.startApiServer();
  await remove('goes');
  await until('the differences are in the snapshot', () => !source.snapshot.services.has('default/goes'));
  await until('the source has no problem', () => source.problems().length === 0);
  expect(keysOf(changes)).toEqual(['default/goes']);
  expect(lines.some((line) => line.includes('the API server is read again'))).toBe(true);
  await remove('stays');
});

test('the source lists again after 410, and reports only the differences', async () => {
  await apply(cluster, service('stays'), service('goes'));
  const wire = await Wire.to(Number(new URL(cluster.admin.server).port));
  closes.push(() => wire.stop());
  const { source, changes, lines } = reading(inPod(`https://127.0.0.1:${wire.port}`));
  await source.start();
  changes.length = 0;
  wire.cut();
  await remove('goes');
  await apply(cluster, service('comes'));
  // A restarted API server remembers versions only from its start on.
  await cluster.stopApiServer();
  await cluster.startApiServer();
  wire.mend();
  const { services } = source.snapshot;
  await until('the differences are in the snapshot', () => services.has('default/comes') && !services.has('default/goes'));
  expect(lines.filter((line) => line.includes('410'))).not.toEqual([]);
  expect(keysOf(changes)).toEqual(['default/comes', 'default/goes']);
  await remove('stays');
  await remove('comes');
});

const keysOf = (changes: readonly Change[]): string[] => changes.flatMap(({ kind, key }) => (kind === 'Service' ? [key] : [])).toSorted();

test('a kind whose CRD is installed later is found', async () => {
  const { source } = await started();
  expect(source.problems()).toEqual([]);
  await apply(cluster, definition('IPAddressPool'));
  const pool = {
    apiVersion: 'herald.dev/v1alpha1',
    kind: 'IPAddressPool',
    metadata: { name: 'main' },
    spec: { addresses: ['192.0.2.0/24'] },
  };
  await until('the pool is accepted', async () => {
    await apply(cluster, pool);
    return true;
  });
  await until('the pool is in the snapshot', () => source.snapshot.pools.has('main'));
  // Objects of a kind disappear after its CRD is deleted. The source first checks for a while whether the kind stays away.
  await cluster.request({ method: 'DELETE', path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ipaddresspools.herald.dev' });
  await until('the pool is gone', () => !source.snapshot.pools.has('main'));
});

describe('credentials', () => {
  test('an expired token is replaced by the one that the kubelet has written', async () => {
    const good = await cluster.serviceAccountToken('herald-system', 'herald-agent');
    await writeFile(join(folder, 'token'), `${good.slice(0, -6)}AAAAAA`);
    const { source, lines } = reading();
    const start = source.start();
    await until('the token is refused', () => lines.some((line) => line.includes('401')));
    await writeFile(join(folder, 'token'), good);
    await start;
    expect(source.snapshot.services.has('default/kubernetes')).toBe(true);
  });

  test('the credentials of a kubeconfig are used', async () => {
    const { source } = reading(await readKubeconfig(join(cluster.directory, 'kubeconfig')));
    await source.start();
    expect(source.snapshot.services.has('default/kubernetes')).toBe(true);
  });

  test.each([
    ['not there', '/no/such/file', 'ENOENT'],
    ['no kubeconfig', import.meta.filename, 'cannot be used'],
  ])('a kubeconfig is rejected that is %s', async (_, file, says) => {
    await expect(readKubeconfig(file)).rejects.toMatchObject({ code: 'credentials', message: expect.stringContaining(says) });
  });
});

describe('an API server with a wrong certificate', () => {
  const refusal = (server: string, ca: string, servername?: string): Promise<unknown> => {
    const credentials = async () => ({ ca, authorization: 'Bearer secret', ...defined({ servername }) });
    return new KubeClient({ server: new URL(server), credentials, expired: () => undefined }, { clock: systemClock }).get('/version');
  };

  test('a certificate of another authority is refused', async () => {
    const [other = ''] = rootCertificates;
    const error = refusal(cluster.admin.server, other);
    await expect(error).rejects.toMatchObject({ code: 'untrusted', fix: expect.stringContaining('certificate-authority') });
  });

  test('a certificate for other names is refused', async () => {
    const error = refusal(cluster.admin.server, cluster.admin.certificateAuthority, 'api.example.net');
    await expect(error).rejects.toMatchObject({ code: 'untrusted', fix: expect.stringContaining('certSANs') });
  });
});
