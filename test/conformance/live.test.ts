import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { MergedHistory } from '../../src/explain/history/merged-history.ts';
import { run } from '../lab/command.ts';
import type { LabProcess } from '../lab/lab-process.ts';
import { inNamespace, ip, prepareNamespace } from '../lab/namespace.ts';
import { until } from '../lab/until.ts';
import { KubernetesCluster } from './cluster.ts';
import { foreground } from './foreground.ts';
import { apply, configurationKinds, definition, shipped } from './manifests.ts';

/**
 * Queries running processes through the API server's pod proxy, with the rights of the caller. The API server and the agent share a
 * namespace.
 */
const namespace = `hl-ku-${process.pid}-live`;
const program = join(import.meta.dirname, '../../bin/herald');
const address = '192.0.2.10';

const ours = (kind: string, name: string, spec: object): object => ({ apiVersion: 'herald.dev/v1alpha1', kind, metadata: { name }, spec });
const binding = (name: string, role: 'ClusterRole' | 'Role', of: string): object => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: role === 'Role' ? 'RoleBinding' : 'ClusterRoleBinding',
  metadata: { name: `${of}-${name}`, ...(role === 'Role' ? { namespace: 'herald-system' } : {}) },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: role, name },
  subjects: [{ kind: 'ServiceAccount', name: of, namespace: 'default' }],
});

const objects = [
  { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1' } },
  ours('HeraldConfig', 'default', { drainSeconds: 7 }),
  ours('BGPPeer', 'tor1', { myASN: 64_512, peerASN: 64_513, peerAddress: '192.0.2.99' }),
  ours('IPAddressPool', 'main', { addresses: ['198.51.100.0/24'] }),
  ours('BGPAdvertisement', 'all', {}),
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default' },
    spec: { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald', allocateLoadBalancerNodePorts: false, ports: [{ port: 80 }] },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'web-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.1.0.1'], conditions: { ready: true } }],
    ports: [{ name: '', port: 8080 }],
  },
  binding('herald-explain', 'ClusterRole', 'asker'),
  binding('herald-explain-live', 'Role', 'asker'),
  binding('herald-explain', 'ClusterRole', 'stranger'),
];

/** The labels and ports of pods of the DaemonSet and the Deployment. */
const pod = (name: string, component: string, port: number): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'herald-system', labels: { 'app.kubernetes.io/name': 'herald', 'app.kubernetes.io/component': component } },
  spec: {
    nodeName: 'node1',
    hostNetwork: true,
    serviceAccountName: 'herald-agent',
    automountServiceAccountToken: false,
    containers: [{ name: component, image: 'herald', ports: [{ name: 'metrics', containerPort: port, hostPort: port }] }],
  },
});

let cluster: KubernetesCluster;
let agent: LabProcess | undefined;
const kubeconfigs = new Map<string, string>();

beforeAll(async () => {
  await ip([`netns add ${namespace}`]);
  await prepareNamespace(namespace, true);
  await ip(
    [
      'link add eth0 type veth peer name other',
      'link set other up',
      `addr add ${address}/24 dev eth0`,
      'link set eth0 up',
      'route add default dev eth0',
    ],
    namespace,
  );
  // A cluster of its own, because the API server connects to the agent.
  cluster = await KubernetesCluster.start({ inside: { namespace, address } });
  const tokenOf = async (account: string, of = 'default'): Promise<void> => {
    const token = await cluster.serviceAccountToken(of, account);
    const path = join(cluster.directory, `${account}.kubeconfig`);
    await writeFile(path, cluster.kubeconfig(token), { mode: 0o600 });
    kubeconfigs.set(account, path);
  };
  await tokenOf('asker');
  await tokenOf('stranger');
  const manifests = ['base/namespace.yaml', 'base/agent-rbac.yaml', 'base/explain-rbac.yaml'].flatMap((file) => shipped(file));
  for (const kind of configurationKinds) await apply(cluster, definition(kind));
  await apply(cluster, ...manifests);
  await until('every object is accepted', async () => {
    await apply(cluster, ...objects);
    return true;
  });
  await apply(cluster, pod('herald-agent-1', 'agent', 10_290), pod('herald-controller-1', 'controller', 10_292));
  await tokenOf('herald-agent', 'herald-system');
  const patch = (path: string, status: object): Promise<unknown> =>
    cluster.request({ method: 'PATCH', path: `/api/v1/${path}/status`, body: { status }, contentType: 'application/merge-patch+json' });
  await patch('nodes/node1', { addresses: [{ type: 'InternalIP', address }] });
  await patch('namespaces/default/services/web', { loadBalancer: { ingress: [{ ip: '198.51.100.1' }] } });
  for (const name of ['herald-agent-1', 'herald-controller-1'])
    await patch(`namespaces/herald-system/pods/${name}`, { phase: 'Running', podIP: address, podIPs: [{ ip: address }] });
  const command = [
    'agent',
    '--node',
    'node1',
    '--wait-for-config',
    '--kubeconfig',
    kubeconfigs.get('herald-agent') ?? '',
    '--socket',
    'none',
  ];
  agent = foreground(inNamespace(namespace, [program, ...command, '--healthz-bind-address', 'none']), join(cluster.directory, 'agent.log'));
  await agent.waitForLine(/agent started/);
});

afterAll(async () => {
  agent?.kill('SIGKILL');
  await agent?.exited;
  await cluster?.stop();
  await run(['ip', 'netns', 'del', namespace], { check: false });
});

async function herald(as: string, ...command: readonly string[]): Promise<{ stdout: string; stderr: string; code: number }> {
  const argv = [program, ...command, '--kubeconfig', kubeconfigs.get(as) ?? ''];
  return run(inNamespace(namespace, argv), { check: false });
}

async function historyOf(as: string, ...of: readonly string[]): Promise<MergedHistory & { code: number }> {
  const { stdout, stderr, code } = await herald(as, 'history', ...of, '-o', 'json');
  expect(stderr).toBe('');
  return { ...(JSON.parse(stdout) as MergedHistory), code };
}

test("history of a Service comes through the pod proxy, and causes have the API server's versions", async () => {
  const slice = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-1';
  const body = {
    endpoints: [
      { addresses: ['10.1.0.1'], conditions: { ready: true } },
      { addresses: ['10.1.0.2'], conditions: { ready: true } },
    ],
  };
  const changed = (await cluster.request({ method: 'PATCH', path: slice, body, contentType: 'application/merge-patch+json' })) as {
    metadata: { resourceVersion: string };
  };
  await until('the change is in the history', async (note) =>
    note(await historyOf('asker', 'service', 'default/web')).entries.some(({ text }) => text.includes('2 endpoints')),
  );
  const { entries, told, unasked, code } = await historyOf('asker', 'service', 'default/web');
  expect(code).toBe(0);
  expect(entries.slice(0, 2).map(({ what, by }) => `${by} ${what}`)).toEqual(['node1 Programmed', 'node1 Announced']);
  expect(entries.find(({ text }) => text.includes('2 endpoints'))?.causes).toEqual([
    { kind: 'EndpointSlice', name: 'default/web-1', resourceVersion: changed.metadata.resourceVersion },
  ]);
  expect(told.map(({ who }) => who)).toEqual(['the agent of node1']);
  // No process listens on its port.
  expect(unasked).toEqual([
    {
      who: 'the controller herald-controller-1',
      why: expect.stringContaining('the API server does not reach pod herald-controller-1'),
      fix: expect.stringContaining('port 10292'),
    },
  ]);
});

test('routes show what the agent has sent, which is nothing while the session is down', async () => {
  const { stdout, code } = await herald('asker', 'routes', '-o', 'json');
  expect(code).toBe(0);
  const { routes } = JSON.parse(stdout) as { routes: readonly object[] };
  expect(routes).toMatchObject([{ node: 'node1', prefix: '198.51.100.1/32', live: true, reason: {} }]);
});

test('a user without the proxy right gets decided and reported state, the reason and the fix', async () => {
  const refused = await historyOf('stranger', 'service', 'default/web');
  expect(refused).toMatchObject({ code: 1, entries: [], told: [] });
  expect(refused.unasked[0]).toMatchObject({
    why: 'you may not get pods/proxy in the namespace herald-system',
    fix: expect.stringContaining('Role herald-explain-live'),
  });
  const { stdout, code } = await herald('stranger', 'routes', '--service', 'default/web');
  expect(code).toBe(0);
  expect(stdout).toMatch(/node1 .* 198\.51\.100\.1\/32/);
  expect(stdout).toMatch(/the agent of node1 could not be queried, so routes are as decided and reported: you may not get pods\/proxy/);
});

test('a user without rights in the namespace cannot reach the live API', async () => {
  const path = '/api/v1/namespaces/herald-system/pods/herald-agent-1:10290/proxy/live/v1/history';
  const token = await cluster.serviceAccountToken('default', 'stranger');
  await expect(cluster.request({ method: 'GET', path }, token)).rejects.toThrow(/403|forbidden/);
});

test('a pool mistake that the API server accepts comes first, the rest follows from the version in force', async () => {
  const path = '/apis/herald.dev/v1alpha1/ipaddresspools/main';
  const write = (addresses: readonly string[]): Promise<unknown> =>
    cluster.request({ method: 'PATCH', path, body: { spec: { addresses } }, contentType: 'application/merge-patch+json' });
  // The API server cannot compare the ranges of a pool with each other.
  await write(['198.51.100.0/24', '198.51.100.0/25']);
  const explained = async (...words: readonly string[]): Promise<string> =>
    (await herald('asker', 'explain', 'service', 'default/web', ...words)).stdout;
  await until('the agent keeps the earlier version', async (note) => note(await explained()).includes('in force: the last good'));
  const lines = (await explained()).split('\n');
  expect(lines[0]).toMatch(/^problem: IPAddressPool\/main: spec\.addresses: /);
  expect(lines[1]).toMatch(
    /^in force: the last good version of IPAddressPool\/main, for \d+ s, in the agent of node1: what follows is decided from it$/,
  );
  expect(lines.join('\n')).toContain('Address    198.51.100.1 (pool main)');
  // Without the right to query the agent nothing is known of earlier versions.
  const { stdout: unknown } = await herald('stranger', 'explain', 'service', 'default/web');
  expect(unknown).toContain('an earlier version of IPAddressPool/main may be in force there');
  await write(['198.51.100.0/24']);
  await until('no object is broken', async (note) => !note(await explained()).includes('problem: '));
});

test('a deleted HeraldConfig is named first while an agent keeps it in force, and a new one ends that', async () => {
  const path = '/apis/herald.dev/v1alpha1/heraldconfigs/default';
  await cluster.request({ method: 'DELETE', path });
  const status = async (): Promise<{ code: number; stdout: string }> => herald('asker', 'status', '--problems');
  await until('the agent keeps it', async (note) => note((await status()).stdout).includes('HeraldConfig/default'));
  const text = 'HeraldConfig/default: was deleted, and agents keep it in force (--wait-for-config) (create it again)';
  const { code, stdout: problems } = await status();
  expect(code).toBe(3);
  expect(problems).toContain(text);
  const { stdout } = await herald('asker', 'explain', 'service', 'default/web');
  const lines = stdout.split('\n');
  expect(lines[0]).toBe(`problem: ${text}`);
  expect(lines[1]).toMatch(
    /^in force: the last good version of HeraldConfig\/default, for \d+ s, in the agent of node1: what follows is decided from it$/,
  );
  await apply(cluster, ours('HeraldConfig', 'default', { drainSeconds: 7 }));
  await until('no object is missing', async (note) => !note((await status()).stdout).includes('HeraldConfig/default'));
});
