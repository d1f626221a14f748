import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defined } from '../../src/lang/defined.ts';
import { answerError } from '../../src/kube/error.ts';
import type { Requests } from '../../src/kube/client/fenced-client.ts';
import { makeConfig } from '../../src/sources/kubernetes/create-config.ts';
import { run } from '../lab/command.ts';
import type { LabProcess } from '../lab/lab-process.ts';
import { inNamespace, ip, prepareNamespace } from '../lab/namespace.ts';
import { until } from '../lab/until.ts';
import { Clients, objectsOf, clientTimeoutMs, succeeded, type Manifest } from './clients.ts';
import { KubernetesCluster } from './cluster.ts';
import { apply } from './manifests.ts';
import { metallbDefinitions } from './metallb-definitions.ts';
import { foreground } from './foreground.ts';

/**
 * Installs the chart in a cluster without Herald's CRDs. The CRD of HeraldConfig comes with the release, so its object can only be created
 * afterwards. The processes run with the arguments of the release and the rights of its service accounts.
 */
const namespace = `hl-ku-${process.pid}-first`;
const program = join(import.meta.dirname, '../../bin/herald');
const chart = join(import.meta.dirname, '../../manifests/chart');
const release = ['herald', chart, '--namespace', 'herald-system'];
let cluster: KubernetesCluster;
let clients: Clients;
let running: LabProcess[] = [];
let started = 0;

beforeAll(async () => {
  await ip([`netns add ${namespace}`]);
  await prepareNamespace(namespace, true);
  // A cluster of its own, in the network namespace of the agent.
  cluster = await KubernetesCluster.start({
    controllerManager: true,
    audit: true,
    inside: { namespace, address: '127.0.0.1' },
  });
  clients = new Clients(cluster, { namespace });
});

afterAll(async () => {
  await stopProcesses();
  await cluster?.stop();
  await run(['ip', 'netns', 'del', namespace], { check: false });
  clients?.remove();
});

const install = async (...values: string[]): Promise<string> =>
  succeeded(await clients.helm('install', ...release, '--create-namespace', ...values));
const upgrade = async (...values: string[]): Promise<string> => succeeded(await clients.helm('upgrade', ...release, ...values));

interface Workload extends Manifest {
  readonly spec: {
    readonly template: { readonly metadata: object; readonly spec: { readonly containers: readonly [{ args: string[] }] } };
  };
}

/** Returns the arguments of a process in the release, with variables replaced as the kubelet does. */
async function argumentsOf(workload: string): Promise<string[]> {
  const [object] = objectsOf(succeeded(await clients.kubectl('get', workload, '-n', 'herald-system', '-o', 'yaml'))) as Workload[];
  const args = object?.spec.template.spec.containers[0].args ?? [];
  return args.map((one) =>
    one
      .replace('$(NODE_NAME)', 'node1')
      .replace('$(POD_NAMESPACE)', 'herald-system')
      .replaceAll('$$', '$')
      .replace('/host/proc/sys', '/proc/sys'),
  );
}

/** Starts a process of the release. `stopProcesses` ends it. */
async function start(component: 'agent' | 'controller'): Promise<LabProcess> {
  const args = await argumentsOf(component === 'agent' ? 'daemonset/herald-agent' : 'deployment/herald-controller');
  const token = await cluster.serviceAccountToken('herald-system', `herald-${component}`);
  const kubeconfig = join(cluster.directory, `${component}.kubeconfig`);
  await writeFile(kubeconfig, cluster.kubeconfig(token).replace('127.0.0.1', 'localhost'), { mode: 0o600 });
  const argv = inNamespace(namespace, [program, ...args, '--kubeconfig', kubeconfig]);
  const one = foreground(argv, join(cluster.directory, `${component}-${++started}.log`));
  running.push(one);
  return one;
}

async function stopProcesses(): Promise<void> {
  for (const one of running) {
    one.kill('SIGTERM');
    await one.exited;
  }
  running = [];
}

const configPath = '/apis/herald.dev/v1alpha1/heraldconfigs/default';

interface Config {
  readonly metadata: { readonly labels?: Record<string, string>; readonly annotations?: Record<string, string>; readonly uid: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Undefined: there is no HeraldConfig. */
async function config(): Promise<Config | undefined> {
  const { status, body } = await cluster.attempt({ path: configPath });
  return status === 200 ? (body as Config) : undefined;
}

const untilMade = (): Promise<Config> => until('HeraldConfig exists', config);

async function removeEverything(): Promise<void> {
  await stopProcesses();
  const { code } = await clients.helm('uninstall', 'herald', '--namespace', 'herald-system', '--wait');
  expect(code).toBe(0);
  const names = succeeded(await clients.kubectl('get', 'crds', '-o', 'name')).split('\n');
  const ours = names.filter((name) => name.endsWith('.herald.dev'));
  succeeded(await clients.kubectl('delete', ...ours, '--wait=true'));
  await until('the kind is gone', async () => (await cluster.attempt({ path: configPath })).status === 404, clientTimeoutMs);
}

describe.each([1, 2, 3, 4, 5])('installation %i into a cluster without CRDs of Herald', (round) => {
  test(
    'the installation succeeds, and the controller creates the HeraldConfig of the release',
    async () => {
      await install('--set', 'config.spec.drainSeconds=7');
      await start('controller');
      const { metadata, spec } = await untilMade();
      // No other load balancer controller is found.
      expect(spec).toMatchObject({ services: 'external', drainSeconds: 7, defaultClass: true });
      // Helm knows its own objects by these labels and annotations.
      expect(metadata.labels).toMatchObject({ 'app.kubernetes.io/managed-by': 'Helm', 'app.kubernetes.io/instance': 'herald' });
      expect(metadata.annotations).toMatchObject({
        'meta.helm.sh/release-name': 'herald',
        'meta.helm.sh/release-namespace': 'herald-system',
      });
      if (round < 5) await removeEverything();
    },
    2 * clientTimeoutMs,
  );
});

describe('a HeraldConfig that the controller created', () => {
  const ofRelease = async (): Promise<boolean> =>
    /^kind: HeraldConfig$/m.test(succeeded(await clients.helm('get', 'manifest', 'herald', '-n', 'herald-system')));

  test('the object is not part of the release at first, and the right to create covers only it', async () => {
    expect(await ofRelease()).toBe(false);
    const can = async (...what: string[]): Promise<string> =>
      (await clients.kubectl('auth', 'can-i', ...what, '--as=system:serviceaccount:herald-system:herald-controller')).stdout.trim();
    expect(await can('create', 'heraldconfigs.herald.dev/default')).toBe('yes');
    expect(await can('create', 'heraldconfigs.herald.dev')).toBe('no');
    expect(await can('delete', 'heraldconfigs.herald.dev/default')).toBe('no');
  });

  test('the creation needed no right that the controller did not have', () => {
    const calls = cluster.auditedCalls().filter(({ user }) => user === 'system:serviceaccount:herald-system:herald-controller');
    // The controller starts after the installation, so its bindings exist before its first request.
    expect(calls.filter(({ code }) => code === 401 || code === 403)).toEqual([]);
    const made = calls.filter(({ resource, verb, code }) => resource === 'heraldconfigs' && verb === 'patch' && code === 201);
    expect(made).toHaveLength(5);
  });

  test('a deleted object stays deleted while this controller leads, and the next one creates it', async () => {
    await cluster.request({ method: 'DELETE', path: configPath });
    // The status of a later object shows that the controller has seen the deletion.
    const pool = { apiVersion: 'herald.dev/v1alpha1', kind: 'BFDProfile', metadata: { name: 'later' }, spec: {} };
    await cluster.request({ method: 'POST', path: '/apis/herald.dev/v1alpha1/bfdprofiles', body: pool });
    await until(
      'the controller has processed a later object',
      async (note) => 'status' in (note((await cluster.attempt({ path: '/apis/herald.dev/v1alpha1/bfdprofiles/later' })).body) as object),
    );
    expect(await config()).toBeUndefined();
    await stopProcesses();
    await start('controller');
    await untilMade();
  });

  test('the next upgrade adopts the object into the release, and every later one changes it', async () => {
    const { uid } = (await untilMade()).metadata;
    await upgrade('--set', 'config.spec.services=none,config.spec.drainSeconds=7');
    expect(await config()).toMatchObject({ metadata: { uid }, spec: { services: 'none', drainSeconds: 7, defaultClass: true } });
    expect(await ofRelease()).toBe(true);
    await upgrade('--set', 'config.spec.services=external');
    const { metadata, spec } = await untilMade();
    expect(metadata.uid).toBe(uid);
    expect(spec).not.toHaveProperty('drainSeconds', 7);
    expect(spec).toMatchObject({ services: 'external', defaultClass: true });
  });

  test('the right to create the object is gone after the upgrade', async () => {
    expect((await argumentsOf('deployment/herald-controller')).filter((one) => one.startsWith('--initial-config'))).toEqual([]);
    expect((await clients.kubectl('get', 'clusterrole', 'herald-initial-config')).stderr).toContain('NotFound');
    expect((await clients.kubectl('get', 'clusterrolebinding', 'herald-initial-config')).stderr).toContain('NotFound');
  });

  test(
    'upgrades adopt and change the object without server-side apply too',
    async () => {
      await removeEverything();
      await install('--server-side=false');
      await start('controller');
      await untilMade();
      await upgrade();
      expect(await ofRelease()).toBe(true);
      await upgrade('--set', 'config.spec.services=none');
      expect(await config()).toMatchObject({ spec: { services: 'none' } });
      await removeEverything();
    },
    3 * clientTimeoutMs,
  );
});

describe('a HeraldConfig that the controller creates beside MetalLB', () => {
  test(
    'Services without a class are left to MetalLB, and an upgrade keeps that',
    async () => {
      const [definition] = metallbDefinitions() as { readonly metadata: { readonly name: string } }[];
      const name = definition?.metadata.name ?? '';
      await apply(cluster, definition ?? {});
      await until('the group is served', async () => (await cluster.attempt({ path: '/apis/metallb.io' })).status === 200);
      await install();
      const controller = await start('controller');
      expect((await untilMade()).spec).toMatchObject({ defaultClass: false });
      await controller.waitForLine(/the API group metallb\.io of MetalLB/);
      await upgrade();
      expect((await config())?.spec).toMatchObject({ services: 'external', defaultClass: false });
      await removeEverything();
      await cluster.request({ method: 'DELETE', path: `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}` });
    },
    2 * clientTimeoutMs,
  );
});

describe('a HeraldConfig that existed before', () => {
  test('an existing object is not changed', async () => {
    await install();
    await until('the kind is served', async () => (await clients.kubectl('get', 'heraldconfigs')).code === 0);
    const own = { apiVersion: 'herald.dev/v1alpha1', kind: 'HeraldConfig', metadata: { name: 'default' }, spec: { drainSeconds: 3 } };
    await cluster.request({ method: 'POST', path: '/apis/herald.dev/v1alpha1/heraldconfigs', body: own });
    const controller = await start('controller');
    await controller.waitForLine(/controller started/);
    expect(await config()).toMatchObject({ spec: { drainSeconds: 3 } });
    expect((await config())?.metadata.annotations ?? {}).not.toHaveProperty(['meta.helm.sh/release-name']);
    await stopProcesses();
    await cluster.request({ method: 'DELETE', path: configPath });
  });

  const manifest = {
    apiVersion: 'herald.dev/v1alpha1',
    kind: 'HeraldConfig',
    metadata: { name: 'default' },
    spec: { services: 'external' },
  };

  /** Sends the controller's own request as cluster-admin. */
  const make = (): Promise<void> => {
    const write: Requests['write'] = async ({ method, path, query = {}, body, contentType }) => {
      const parameters = Object.entries(query).map(([name, value]) => `${name}=${String(value)}`);
      const whole = `${path}?${parameters.join('&')}`;
      const answer = await cluster.attempt({ method, path: whole, body, ...defined({ contentType }) });
      if (answer.status >= 300) throw answerError(answer.status, JSON.stringify(answer.body));
      return answer.body;
    };
    return makeConfig({ write, get: () => Promise.reject(new Error('nothing is read')) }, manifest, new AbortController().signal);
  };

  test.each([
    ['says something else', { drainSeconds: 3 }],
    ['contradicts', { services: 'all' }],
    ['says the same', { services: 'external' }],
    ['says nothing', {}],
  ])('an object created between the check and the request is not changed: one that %s', async (_, spec) => {
    await cluster.request({ method: 'POST', path: '/apis/herald.dev/v1alpha1/heraldconfigs', body: { ...manifest, spec } });
    const before = await config();
    await expect(make()).rejects.toMatchObject({ code: 'conflict' });
    expect(await config()).toEqual(before);
    await cluster.request({ method: 'DELETE', path: configPath });
  });

  test('an object that the controller created is not created twice', async () => {
    await make();
    const before = await config();
    await expect(make()).rejects.toMatchObject({ code: 'conflict' });
    expect(await config()).toEqual(before);
    await cluster.request({ method: 'DELETE', path: configPath });
  });
});

describe('an agent on a node with kube-proxy', () => {
  const tables = async (): Promise<string> => (await clients.run(['nft', 'list', 'tables'])).stdout;
  let agent: LabProcess;

  test('the agent does nothing on the node while there is no HeraldConfig', async () => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1' } };
    await cluster.request({ method: 'POST', path: '/api/v1/nodes', body: node });
    agent = await start('agent');
    await agent.waitForLine(/HeraldConfig\/default.*nothing is done on this node/);
    expect(await tables()).toBe('');
    expect(agent.lines().join('\n')).not.toContain('agent started');
  });

  test('the agent works by the HeraldConfig once the controller has created it', async () => {
    await start('controller');
    await agent.waitForLine(/agent started/);
    expect(await tables()).toContain('table ip herald');
    // kube-proxy forwards the ClusterIP of the API server's own Service.
    expect((await clients.run(['nft', 'list', 'ruleset'])).stdout).not.toContain('10.96.0.1');
  });

  test('the agent keeps the settings when HeraldConfig is deleted, as an uninstall does first', async () => {
    await cluster.request({ method: 'DELETE', path: configPath });
    await agent.waitForLine(/HeraldConfig\/default.*was deleted/);
    expect((await clients.run(['nft', 'list', 'ruleset'])).stdout).not.toContain('10.96.0.1');
  });
});
