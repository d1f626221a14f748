import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Write } from '../../src/kube/client/client.ts';
import { answerError } from '../../src/kube/error.ts';
import { Store } from '../../src/model/store/store.ts';
import type { ObjectVersion } from '../../src/sources/kubernetes/records/own-writes.ts';
import { KubernetesStatusWriter } from '../../src/sources/kubernetes/records/status-writer.ts';
import { systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../../src/system/log.ts';
import { run } from '../lab/command.ts';
import type { LabProcess } from '../lab/lab-process.ts';
import { inNamespace, ip, prepareNamespace } from '../lab/namespace.ts';
import { until } from '../lab/until.ts';
import type { AuditedCall } from './audit.ts';
import { KubernetesCluster } from './cluster.ts';
import { foreground } from './foreground.ts';
import { apply, configurationKinds, definition, shipped } from './manifests.ts';

/** Runs Herald with only the Roles of manifests/base: every request is granted, and every granted right is used. */
const namespace = `hl-ku-${process.pid}-rbac`;
const program = join(import.meta.dirname, '../../bin/herald');
let cluster: KubernetesCluster;
let agent: LabProcess;
let controller: LabProcess;

const ours = (kind: string, name: string, spec: object): object => ({ apiVersion: 'herald.dev/v1alpha1', kind, metadata: { name }, spec });
const basicAuth = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/basic-auth', stringData: { password: 'swordfish' } };
const peer = (name: string, namespace: string, peerAddress: string): object =>
  ours('BGPPeer', name, { myASN: 64_512, peerASN: 64_513, peerAddress, passwordSecret: { namespace, name } });

/** Objects that an administrator adds for a Secret outside of Herald's namespace. */
const role = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'herald', namespace: 'network' } };
const networkNamespaceObjects = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'network' } },
  { ...role, kind: 'Role', rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['spine'], verbs: ['list', 'watch'] }] },
  {
    ...role,
    kind: 'RoleBinding',
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'herald' },
    subjects: ['herald-agent', 'herald-controller'].map((name) => ({ kind: 'ServiceAccount', name, namespace: 'herald-system' })),
  },
  { ...basicAuth, metadata: { name: 'spine', namespace: 'network' } },
  { ...basicAuth, metadata: { name: 'unrelated', namespace: 'network' } },
];

const objects = [
  { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1' } },
  { ...basicAuth, metadata: { name: 'tor', namespace: 'herald-system' } },
  ...networkNamespaceObjects,
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default', annotations: { 'herald.dev/direct-return': 'true' } },
    spec: { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald', ports: [{ port: 80 }] },
  },
  ours('IPAddressPool', 'main', { addresses: ['192.0.2.0/24'] }),
  ours('BGPAdvertisement', 'all', {}),
  ours('L2Advertisement', 'lan', {}),
  ours('BFDProfile', 'fast', {}),
  ours('Community', 'named', { communities: [{ name: 'internal', value: '64512:1' }] }),
  ours('ExternalIPPolicy', 'office', { namespaceSelector: {}, cidrs: ['198.51.100.0/24'] }),
  ours('HeraldConfig', 'default', {}),
  peer('spine', 'network', '198.51.100.2'),
  peer('tor', 'herald-system', '198.51.100.1'),
];

beforeAll(async () => {
  await ip([`netns add ${namespace}`]);
  await prepareNamespace(namespace, true);
  // A cluster of its own, in the network namespace of the agent.
  cluster = await KubernetesCluster.start({ audit: true, inside: { namespace, address: '127.0.0.1' } });
  for (const kind of configurationKinds) await apply(cluster, definition(kind));
  await until('the kinds are served', async () => {
    const { status } = await cluster.attempt({ path: '/apis/herald.dev/v1alpha1/nodestates' });
    return status === 200;
  });
  for (const file of ['namespace', 'agent-rbac', 'controller-rbac']) await apply(cluster, ...shipped(`base/${file}.yaml`));
  await until('every object is accepted', async () => {
    await apply(cluster, ...objects);
    return true;
  });
  agent = await start('agent', '--node', 'node1', '--healthz-bind-address', 'none', '--daemonset', 'herald-system/herald-agent');
  controller = await start('controller');
  await agent.waitForLine(/agent started/);
  await controller.waitForLine(/controller started/);
});

afterAll(async () => {
  for (const one of [agent, controller]) {
    one?.kill('SIGKILL');
    await one?.exited;
  }
  await cluster?.stop();
  await run(['ip', 'netns', 'del', namespace], { check: false });
});

async function start(command: 'agent' | 'controller', ...further: readonly string[]): Promise<LabProcess> {
  const token = await cluster.serviceAccountToken('herald-system', `herald-${command}`);
  const kubeconfig = join(cluster.directory, `${command}.kubeconfig`);
  // The server's certificate covers loopback only by the name localhost.
  await writeFile(kubeconfig, cluster.kubeconfig(token).replace('127.0.0.1', 'localhost'), { mode: 0o600 });
  const argv = [program, command, ...further, '--kubeconfig', kubeconfig];
  return foreground(inNamespace(namespace, argv), join(cluster.directory, `${command}.log`));
}

const callsOf = (account: string): readonly AuditedCall[] =>
  cluster.auditedCalls().filter(({ user }) => user === `system:serviceaccount:herald-system:herald-${account}`);

async function get(path: string): Promise<{ readonly status?: Record<string, unknown> }> {
  return (await cluster.request({ path })) as { readonly status?: Record<string, unknown> };
}

test('the controller assigns an address and writes it into the status', async () => {
  const service = '/api/v1/namespaces/default/services/web';
  const status = await until('the Service has an address', async () => {
    const { status } = await get(service);
    return (status?.['conditions'] as unknown[] | undefined)?.length === 3 && status;
  });
  expect(status).toMatchObject({
    loadBalancer: { ingress: [{ ip: expect.stringMatching(/^192\.0\.2\./), ipMode: 'VIP' }] },
    conditions: expect.arrayContaining([expect.objectContaining({ type: 'herald.dev/AddressAssigned', status: 'True' })]),
  });
});

test('a Service that becomes ClusterIP loses address and conditions, and the next one gets the address', async () => {
  const path = '/api/v1/namespaces/default/services';
  const spec = { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald', loadBalancerIP: '192.0.2.77', ports: [{ port: 80 }] };
  const make = (name: string): object => ({ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'default' }, spec });
  const holds = (name: string) => async () =>
    JSON.stringify((await get(`${path}/${name}`)).status?.['loadBalancer']).includes('192.0.2.77');
  await apply(cluster, make('first'));
  await until('the first Service has the address', holds('first'));
  await apply(cluster, make('second'));
  await cluster.request({
    method: 'PATCH',
    path: `${path}/first`,
    body: { spec: { type: 'ClusterIP', loadBalancerClass: null, loadBalancerIP: null } },
    contentType: 'application/merge-patch+json',
  });
  await until('the second Service has the address', holds('second'));
  await until('the first Service has no status left', async () => {
    const { status } = await get(`${path}/first`);
    return status?.['conditions'] === undefined && JSON.stringify(status?.['loadBalancer']) === '{}';
  });
});

test('a repeated Event becomes a series', async () => {
  const path = '/api/v1/namespaces/default/services';
  const spec = { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald', loadBalancerIP: '192.0.2.77' };
  await cluster.request({ method: 'DELETE', path: `${path}/second` });
  await cluster.request({ method: 'PATCH', path: `${path}/first`, body: { spec }, contentType: 'application/merge-patch+json' });
  await until('an Event has a series', async () => {
    const { items } = (await cluster.request({ path: '/apis/events.k8s.io/v1/namespaces/default/events' })) as { items: object[] };
    return items.some((event) => 'series' in event && JSON.stringify(event).includes('The Service has 192.0.2.77'));
  });
});

test('every configuration object says whether it is accepted', async () => {
  for (const path of [
    'ipaddresspools/main',
    'bgppeers/tor',
    'bgpadvertisements/all',
    'bfdprofiles/fast',
    'communities/named',
    'externalippolicies/office',
    'heraldconfigs/default',
  ]) {
    await until(`${path} has the condition Accepted`, async () => {
      const { status } = await get(`/apis/herald.dev/v1alpha1/${path}`);
      return JSON.stringify(status ?? {}).includes('"Accepted"');
    });
  }
});

test('an agent reports its node', async () => {
  const { status } = await get('/apis/herald.dev/v1alpha1/nodestates/node1');
  expect(status).toMatchObject({ sessions: [{ peer: 'spine' }, { peer: 'tor', localASN: 64_512 }] });
});

test('a Node owns its NodeState, also one that was written before without an owner', async () => {
  const path = '/apis/herald.dev/v1alpha1/nodestates/node1';
  const ownerOf = async (): Promise<unknown> =>
    ((await cluster.request({ path })) as { metadata: { ownerReferences?: unknown } }).metadata.ownerReferences;
  const { metadata } = (await cluster.request({ path: '/api/v1/nodes/node1' })) as { metadata: { uid: string } };
  const owner = [{ apiVersion: 'v1', kind: 'Node', name: 'node1', uid: metadata.uid }];
  expect(await ownerOf()).toEqual(owner);
  agent.kill('SIGTERM');
  await agent.exited;
  const patch = { method: 'PATCH', contentType: 'application/merge-patch+json' } as const;
  await cluster.request({ ...patch, path, body: { metadata: { ownerReferences: null } } });
  expect(await ownerOf()).toBeUndefined();
  agent = await start('agent', '--node', 'node1', '--healthz-bind-address', 'none', '--daemonset', 'herald-system/herald-agent');
  await agent.waitForLine(/agent started/);
  await until('the NodeState has its owner', async () => (await ownerOf()) !== undefined);
  expect(await ownerOf()).toEqual(owner);
});

test('the controller may delete a NodeState, but not one that was written meanwhile', async () => {
  const path = '/apis/herald.dev/v1alpha1/nodestates';
  const stray = { apiVersion: 'herald.dev/v1alpha1', kind: 'NodeState', metadata: { name: 'gone' } };
  const { metadata } = (await cluster.request({ method: 'POST', path, body: stray })) as { metadata: ObjectVersion };
  const token = await cluster.serviceAccountToken('herald-system', 'herald-controller');
  const client = {
    get: never,
    page: never,
    async write({ method, path, body }: Write): Promise<unknown> {
      const answer = await cluster.attempt({ method, path, body }, token);
      if (answer.status >= 300) throw answerError(answer.status, JSON.stringify(answer.body));
      return answer.body;
    },
  };
  const writer = new KubernetesStatusWriter({ client, snapshot: new Store(), clock: systemClock, log: silentLog });
  await writer.removeNodeState('gone', { ...metadata, resourceVersion: '1' });
  expect((await cluster.attempt({ path: `${path}/gone` })).status).toBe(200);
  await writer.removeNodeState('gone', metadata);
  expect((await cluster.attempt({ path: `${path}/gone` })).status).toBe(404);
});

async function never(): Promise<never> {
  throw new Error('not asked');
}

test('sessions use the passwords of the Secrets', async () => {
  // The agent refuses a session without its password: PeerPasswordMissing.
  expect(agent.lines().filter((line) => line.includes('PeerPasswordMissing') || line.includes('no session with the peer'))).toEqual([]);
});

describe.each(['agent', 'controller'])('the Roles of the %s', (account) => {
  test('the Roles are enough, and no request is refused', () => {
    const calls = callsOf(account);
    expect(calls.length).toBeGreaterThan(10);
    expect(calls.filter(({ code }) => code === 401 || code === 403)).toEqual([]);
  });

  test('the Roles grant no unused right', async () => {
    // A Lease is renewed only every two seconds.
    await until('every right was used', async () => unusedRights(account).length === 0).catch(() => undefined);
    expect(unusedRights(account)).toEqual([]);
  });
});

function unusedRights(account: string): readonly string[] {
  const calls = callsOf(account);
  const used = new Set(calls.map(({ verb, group, resource }) => `${verb} ${group}/${resource}`));
  // Applying an object that does not exist creates it. That needs the right to create, but the audit log calls it a patch.
  for (const { verb, group, resource, code } of calls) if (verb === 'patch' && code === 201) used.add(`create ${group}/${resource}`);
  // Servers without WatchList get a list request, so that right is needed although this server does not use it.
  const listed = new Set([...used].filter((one) => one.startsWith('watch ')).map((one) => one.replace('watch', 'list')));
  const roles = shipped(`base/${account}-rbac.yaml`) as readonly { kind: string; rules?: readonly Record<string, readonly string[]>[] }[];
  const granted = roles.flatMap(({ rules = [] }) =>
    rules.flatMap(({ apiGroups = [], resources = [], verbs = [] }) =>
      apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`))),
    ),
  );
  return granted.filter((one) => !used.has(one) && !listed.has(one));
}

test('Herald reads only the Secrets that peers name', () => {
  const secrets = cluster
    .auditedCalls()
    .filter(({ user, resource }) => user.startsWith('system:serviceaccount:') && resource === 'secrets');
  expect(new Set(secrets.map(({ namespace, name }) => `${namespace}/${name}`))).toEqual(new Set(['herald-system/tor', 'network/spine']));
});
