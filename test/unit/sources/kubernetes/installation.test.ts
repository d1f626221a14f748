import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KubeClient } from '../../../../src/kube/client/client.ts';
import { Installation } from '../../../../src/sources/kubernetes/installation.ts';
import { systemClock } from '../../../../src/system/clock.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { FakeApiServer } from '../../kube/fake-api-server.ts';

const daemonSets = '/apis/apps/v1/daemonsets';
const watched = '/apis/apps/v1/namespaces/herald-system/daemonsets';
const namespaces = '/api/v1/namespaces';
const deletionTimestamp = '2026-01-01T00:00:00Z';

let server: FakeApiServer;
let client: KubeClient;
let installation: Installation;

beforeEach(async () => {
  server = await FakeApiServer.start();
  server.put(namespaces, 'herald-system', {});
  server.put(daemonSets, 'herald-agent', {}, 'herald-system');
  client = new KubeClient({ server: server.url, credentials: async () => ({}), expired: () => undefined }, { clock: systemClock });
  installation = new Installation(
    { namespace: 'herald-system', name: 'herald-agent' },
    { client, clock: systemClock, random: () => 0, log: silentLog },
  );
  await until(() => [watched, namespaces].every((path) => server.watched.includes(path)));
});

afterEach(async () => {
  await installation.close();
  client.close();
  await server.stop();
});

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await pause(2);
}

const remove = (): void => server.remove(daemonSets, 'herald-agent', 'herald-system');
const put = (content: object = {}): void => server.put(daemonSets, 'herald-agent', content, 'herald-system');

test('an installation is there while its DaemonSet changes', async () => {
  put({ spec: { changed: true } });
  server.put(namespaces, 'herald-system', { spec: {} });
  await pause(50);
  expect(installation.removed).toBe(false);
});

test('an installation is removed when its DaemonSet is deleted, also if the right to read it goes as well', async () => {
  remove();
  server.forbidden.add(watched);
  server.endWatches();
  await until(() => installation.removed);
  await pause(50);
  expect(installation.removed).toBe(true);
});

test('an installation is there again when its DaemonSet is created anew', async () => {
  remove();
  await until(() => installation.removed);
  put();
  await until(() => !installation.removed);
});

test('an installation is removed when its DaemonSet waits for the deletion of its pods', async () => {
  put({ metadata: { deletionTimestamp, finalizers: ['foregroundDeletion'] } });
  await until(() => installation.removed);
});

test('an installation is there when its DaemonSet is deleted without its pods', async () => {
  put({ metadata: { deletionTimestamp, finalizers: ['orphan'] } });
  await pause(50);
  expect(installation.removed).toBe(false);
});

test('an installation is removed when its namespace is being deleted', async () => {
  server.put(namespaces, 'herald-system', { metadata: { deletionTimestamp } });
  await until(() => installation.removed);
});

test('without the right to watch, or without a DaemonSet, a stop is never a removal', async () => {
  await installation.close();
  remove();
  server.forbidden.add(watched);
  const components = { client, clock: systemClock, random: () => 0, log: silentLog };
  installation = new Installation({ namespace: 'herald-system', name: 'herald-agent' }, components);
  await until(() => server.watched.includes(namespaces));
  await pause(50);
  expect(installation.removed).toBe(false);
});
