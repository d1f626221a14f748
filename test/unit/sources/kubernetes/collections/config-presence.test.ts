import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KubeClient } from '../../../../../src/kube/client/client.ts';
import { KubernetesSource } from '../../../../../src/sources/kubernetes/kubernetes-source.ts';
import { problemText } from '../../../../../src/sources/source.ts';
import { systemClock } from '../../../../../src/system/clock.ts';
import { silentLog } from '../../../../../src/system/log.ts';
import { FakeApiServer } from '../../../kube/fake-api-server.ts';

const configs = '/apis/herald.dev/v1alpha1/heraldconfigs';
let server: FakeApiServer;
let client: KubeClient;
let source: KubernetesSource;
/** The notifications that listeners received. */
let told: string[];

beforeEach(async () => {
  server = await FakeApiServer.start();
  client = new KubeClient({ server: server.url, credentials: async () => ({}), expired: () => undefined }, { clock: systemClock });
  source = new KubernetesSource({ client, clock: systemClock, random: () => 0, log: silentLog }, { node: 'node1', waitForConfig: true });
  told = [];
  source.onProblem((problems) => void told.push(problems.map(problemText).join('; ')));
});

afterEach(async () => {
  await source.close();
  client.close();
  await server.stop();
});

const problems = (): string => source.problems().map(problemText).join('; ');

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await pause(2);
}

test('the source reads nothing before there are settings, and names what it waits for', async () => {
  let isStarted = false;
  const started = source.start().then(() => (isStarted = true));
  await until(() => told.some((text) => text.includes('HeraldConfig/default: is not there')));
  expect(server.paths.filter((path) => path !== configs)).toEqual([]);
  expect(isStarted).toBe(false);
  expect(source.missingPrerequisite()).toContain('HeraldConfig/default is not there');
  server.put(configs, 'default', { spec: { services: 'external' } });
  await started;
  expect(source.missingPrerequisite()).toBeUndefined();
  expect(source.snapshot.config.services).toBe('external');
  expect(source.problems()).toEqual([]);
  expect(told.at(-1)).toBe('');
});

test('invalid settings do not count as settings', async () => {
  server.put(configs, 'default', { spec: { services: 'some' } });
  const started = source.start();
  await until(() => problems().includes('is not there, or cannot be used'));
  expect(problems()).toContain('spec.services');
  server.put(configs, 'default', { spec: { services: 'none' } });
  await started;
  expect(source.snapshot.config.services).toBe('none');
});

test('existing settings are not waited for', async () => {
  server.put(configs, 'default', { spec: { services: 'external' } });
  await source.start();
  expect(told.filter((text) => text !== '')).toEqual([]);
});

test('deleted settings stay in force until there are new ones', async () => {
  server.put(configs, 'default', { spec: { services: 'external' } });
  await source.start();
  server.remove(configs, 'default');
  await until(() => problems().includes('was deleted: what it said stays in force'));
  expect(source.snapshot.config.services).toBe('external');
  server.put(configs, 'default', { spec: { services: 'none' } });
  await until(() => source.snapshot.config.services === 'none');
  expect(source.problems()).toEqual([]);
});

test('deleted settings are listed among the objects of which an earlier version is in force', async () => {
  server.put(configs, 'default', { spec: { services: 'external' } });
  await source.start();
  expect(source.kept()).toEqual([]);
  const before = Date.now();
  server.remove(configs, 'default');
  await until(() => problems().includes('was deleted'));
  expect(source.kept()).toEqual([
    {
      object: 'HeraldConfig/default',
      problem: expect.objectContaining({ message: 'was deleted: what it said stays in force' }),
      since: expect.toSatisfy((since: number) => since >= before),
      inForce: expect.objectContaining({ kind: 'HeraldConfig', spec: { services: 'external' } }),
    },
  ]);
  // A version that cannot be used changes nothing of it.
  server.put(configs, 'default', { spec: { services: 'some' } });
  await until(() => problems().includes('spec.services'));
  expect(source.kept().map(({ object, inForce }) => [object, inForce])).toEqual([
    ['HeraldConfig/default', expect.objectContaining({ spec: { services: 'external' } })],
  ]);
  server.put(configs, 'default', { spec: { services: 'none' } });
  await until(() => source.problems().length === 0);
  expect(source.kept()).toEqual([]);
});

test('a source that is stopped while it waits stops', async () => {
  const stop = new AbortController();
  const started = source.start(stop.signal);
  await until(() => problems() !== '');
  stop.abort(new Error('SIGTERM'));
  await expect(started).rejects.toThrow('SIGTERM');
});

test('without waitForConfig, defaults count while there are no settings', async () => {
  await source.close();
  source = new KubernetesSource({ client, clock: systemClock, random: () => 0, log: silentLog }, { node: 'node1' });
  await source.start();
  expect(source.snapshot.config.services).toBe('all');
  expect(source.problems()).toEqual([]);
  server.put(configs, 'default', { spec: { services: 'none' } });
  await until(() => source.snapshot.config.services === 'none');
  server.remove(configs, 'default');
  await until(() => source.snapshot.config.services === 'all');
});
