import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { InCluster, inClusterServer, podNamespace } from '../../../../src/kube/client/in-cluster.ts';
import { limits } from '../../../../src/kube/limits.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

let folder: string;
let clock: VirtualClock;
let connection: InCluster;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'herald-account-'));
  clock = new VirtualClock();
  connection = new InCluster(new URL('https://10.96.0.1:443'), { clock, folder });
  await writeFile(join(folder, 'ca.crt'), 'the authority');
  await writeFile(join(folder, 'token'), 'first\n');
});

afterEach(() => rm(folder, { recursive: true }));

const token = async (): Promise<string | undefined> => (await connection.credentials()).authorization;

test('a pod uses the CA and the token from the kubelet', async () => {
  expect(await connection.credentials()).toEqual({ ca: 'the authority', authorization: 'Bearer first' });
});

test('a replaced token is read in time, and not for each request', async () => {
  await token();
  await writeFile(join(folder, 'token'), 'second');
  expect(await token()).toBe('Bearer first');
  clock.advance(limits.credentialsMilliseconds);
  expect(await token()).toBe('Bearer second');
});

test('a refused token is read again at once', async () => {
  await token();
  await writeFile(join(folder, 'token'), 'second');
  connection.expired();
  expect(await token()).toBe('Bearer second');
});

test('a missing token is reported with its fix and looked for again', async () => {
  await rm(join(folder, 'token'));
  await expect(connection.credentials()).rejects.toMatchObject({ code: 'credentials', fix: expect.stringContaining('--kubeconfig') });
  await writeFile(join(folder, 'token'), 'late');
  expect(await token()).toBe('Bearer late');
});

test('podNamespace returns the namespace in a pod and undefined outside', async () => {
  await writeFile(join(folder, 'namespace'), 'herald-system\n');
  expect(await podNamespace(folder)).toBe('herald-system');
  expect(await podNamespace(join(folder, 'nowhere'))).toBeUndefined();
});

test.each([
  [{ KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '6443' }, 'https://10.96.0.1:6443/'],
  [{ KUBERNETES_SERVICE_HOST: 'fd00:96::1', KUBERNETES_SERVICE_PORT: '443' }, 'https://[fd00:96::1]/'],
])('inClusterServer reads the environment of a pod %j', (variables, url) => {
  expect(inClusterServer(variables)?.href).toBe(url);
});

test('inClusterServer returns undefined outside a pod', () => {
  expect(inClusterServer({})).toBeUndefined();
});
