import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { KubeClient } from '../../src/kube/client/client.ts';
import { readKubeconfig } from '../../src/kube/client/kubeconfig.ts';
import { parseObject } from '../../src/model/parse.ts';
import { Store } from '../../src/model/store/store.ts';
import { KubernetesServiceMetadata } from '../../src/sources/kubernetes/records/service-metadata.ts';
import { systemClock } from '../../src/system/clock.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import type { KubernetesCluster } from './cluster.ts';

const path = '/api/v1/namespaces/default/services';
const ours = 'herald.dev/test';
const theirs = 'example.net/theirs';

let cluster: KubernetesCluster;
let client: KubeClient;
let folder: string;
let store: Store;
let metadata: KubernetesServiceMetadata;

beforeAll(async () => {
  cluster = await borrowCluster();
  folder = await mkdtemp(join(tmpdir(), 'herald-metadata-'));
  const file = join(folder, 'kubeconfig');
  await writeFile(file, cluster.kubeconfig(), { mode: 0o600 });
  client = new KubeClient(await readKubeconfig(file), { clock: systemClock });
});
afterAll(async () => {
  client?.close();
  await cluster?.stop();
  await rm(folder, { recursive: true });
});

interface Service {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly finalizers?: readonly string[];
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

const read = async (): Promise<Service> => (await cluster.request({ path: `${path}/web` })) as Service;

/** Brings the store up to date, as a watch does. */
async function see(): Promise<void> {
  const { object } = parseObject({ ...(await read()), apiVersion: 'v1', kind: 'Service' });
  if (object === undefined) throw new Error('the Service cannot be read');
  store.upsert(object);
}

beforeEach(async () => {
  const body = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default', finalizers: [theirs], annotations: { 'example.net/a': '1', 'herald.dev/old': 'x' } },
    spec: { ports: [{ port: 80 }] },
  };
  await remove();
  await cluster.request({ method: 'POST', path, body });
  store = new Store();
  await see();
  metadata = new KubernetesServiceMetadata({ client, snapshot: store }, ours);
});

async function remove(): Promise<void> {
  const contentType = 'application/merge-patch+json';
  await cluster.attempt({ method: 'PATCH', path: `${path}/web`, contentType, body: { metadata: { finalizers: null } } });
  await cluster.attempt({ method: 'DELETE', path: `${path}/web` });
}

test('a finalizer is added and removed, and those of others stay', async () => {
  await metadata.addFinalizer('default/web');
  expect((await read()).metadata.finalizers?.toSorted()).toEqual([theirs, ours].toSorted());
  await see();
  await metadata.removeFinalizer('default/web');
  expect((await read()).metadata.finalizers).toEqual([theirs]);
});

test('an unchanged finalizer or annotation is not written', async () => {
  await metadata.addFinalizer('default/web');
  await see();
  const { resourceVersion } = (await read()).metadata;
  await metadata.addFinalizer('default/web');
  await metadata.annotate('default/web', { 'example.net/a': '1', 'herald.dev/none': undefined });
  expect((await read()).metadata.resourceVersion).toBe(resourceVersion);
});

test('an existing finalizer is not added twice, even before the watch shows it', async () => {
  await metadata.addFinalizer('default/web');
  await metadata.addFinalizer('default/web');
  expect((await read()).metadata.finalizers).toHaveLength(2);
});

test('annotations are set and removed, and those of others stay', async () => {
  await metadata.annotate('default/web', { 'herald.dev/new': 'arn:aws:x', 'herald.dev/old': undefined });
  expect((await read()).metadata.annotations).toEqual({ 'example.net/a': '1', 'herald.dev/new': 'arn:aws:x' });
});

test('an annotation is not written when the Service changed after the decision', async () => {
  const contentType = 'application/merge-patch+json';
  await cluster.request({ method: 'PATCH', path: `${path}/web`, contentType, body: { metadata: { labels: { team: 'a' } } } });
  expect(await metadata.annotate('default/web', { 'herald.dev/new': 'late' })).toBe(false);
  expect((await read()).metadata.annotations?.['herald.dev/new']).toBeUndefined();
  await see();
  expect(await metadata.annotate('default/web', { 'herald.dev/new': 'in time' })).toBe(true);
  expect((await read()).metadata.annotations?.['herald.dev/new']).toBe('in time');
});

test('another Service of the same name is left alone', async () => {
  await remove();
  await cluster.request({
    method: 'POST',
    path,
    body: { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'default' }, spec: { ports: [{ port: 80 }] } },
  });
  await expect(metadata.addFinalizer('default/web')).rejects.toMatchObject({ status: 422 });
  expect((await read()).metadata.finalizers).toBeUndefined();
});

test('adding a finalizer to a deleted Service fails with a conflict', async () => {
  await remove();
  await expect(metadata.addFinalizer('default/web')).rejects.toMatchObject({ code: 'conflict' });
});

test('adding a finalizer to a Service that is being deleted is refused', async () => {
  await cluster.request({ method: 'DELETE', path: `${path}/web` });
  await expect(metadata.addFinalizer('default/web')).rejects.toMatchObject({ status: 422 });
  expect((await read()).metadata.finalizers).toEqual([theirs]);
});

test('removing the last finalizer completes a deletion, and a missing Service is no error', async () => {
  await metadata.addFinalizer('default/web');
  await see();
  const contentType = 'application/merge-patch+json';
  await cluster.request({ method: 'PATCH', path: `${path}/web`, contentType, body: { metadata: { finalizers: [ours] } } });
  await cluster.request({ method: 'DELETE', path: `${path}/web` });
  expect((await read()).metadata.finalizers).toEqual([ours]);
  await metadata.removeFinalizer('default/web');
  expect((await cluster.attempt({ path: `${path}/web` })).status).toBe(404);
  await metadata.removeFinalizer('default/web');
  await metadata.annotate('default/web', { 'herald.dev/new': 'late' });
});
