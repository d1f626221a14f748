import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { defined } from '../../src/lang/defined.ts';
import { drainCommand } from '../../src/cli/drain/drain-command.ts';
import { nodeStateManifest } from '../../src/model/status-manifest.ts';
import type { NodeDrainReport, NodeState } from '../../src/model/objects/node-state.ts';
import { until } from '../lab/until.ts';
import { inProcess } from '../unit/cli/in-process.ts';
import type { Outcome } from '../unit/cli/program.ts';
import type { AuditedCall } from './audit.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import type { KubernetesCluster } from './cluster.ts';
import { apply, configurationKinds, definition, ours, shipped } from './manifests.ts';

const annotation = 'herald.dev/drain';
const mergePatch = 'application/merge-patch+json';

let cluster: KubernetesCluster;
let kubeconfig: string;

/** Creates a Service with policy Local and with endpoints on these nodes. */
async function serve(name: string, ip: string, ...nodes: readonly string[]): Promise<void> {
  const metadata = { name, namespace: 'shop', labels: { 'kubernetes.io/service-name': name } };
  await apply(
    cluster,
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: 'shop' },
      spec: { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald', externalTrafficPolicy: 'Local', ports: [{ port: 80 }] },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata,
      addressType: 'IPv4',
      ports: [{ port: 8080, protocol: 'TCP', name: '' }],
      endpoints: nodes.map((nodeName, index) => ({ addresses: [`10.244.${index + 1}.1`], nodeName, conditions: { ready: true } })),
    },
  );
  const status = { loadBalancer: { ingress: [{ ip, ipMode: 'VIP' }] } };
  await cluster.request({
    method: 'PATCH',
    path: `/api/v1/namespaces/shop/services/${name}/status`,
    body: { status },
    contentType: mergePatch,
  });
}

interface Node {
  readonly metadata: { readonly resourceVersion: string; readonly annotations?: Readonly<Record<string, string>> };
}

async function node1(): Promise<Node> {
  const { body } = await cluster.attempt({ path: '/api/v1/nodes/node1' });
  return body as Node;
}

/** Writes the report that the node's agent would write. `drain`: its progress. */
async function report(node: string, sent: number, drain?: NodeDrainReport): Promise<void> {
  const session = {
    peer: 'tor',
    address: '10.1.0.1',
    state: 'Established',
    since: '',
    localASN: 64_512,
    peerASN: 65_101,
    prefixesSent: sent,
  } as const;
  const state = {
    kind: 'NodeState',
    metadata: { name: node } as NodeState['metadata'],
    updated: new Date().toISOString(),
    consumed: { Node: (await node1()).metadata.resourceVersion },
    sessions: [session],
    differing: [],
    ...defined({ drain }),
  } satisfies NodeState;
  const path = `/apis/herald.dev/v1alpha1/nodestates/${node}`;
  const { status, ...object } = nodeStateManifest(state) as { status: object };
  await apply(cluster, object);
  // Applying as the agent's field manager also removes fields that are no longer reported.
  const query = '?fieldManager=herald-agent&force=true';
  await cluster.request({
    method: 'PATCH',
    path: `${path}/status${query}`,
    body: { ...object, status },
    contentType: 'application/apply-patch+yaml',
  });
}

const drain = (...words: readonly string[]): Promise<Outcome> =>
  inProcess(drainCommand, ['node1', '--kubeconfig', kubeconfig, '--timeout', '60s', ...words]);

const calls = (): readonly AuditedCall[] =>
  cluster.auditedCalls().filter(({ user }) => user === 'system:serviceaccount:herald-system:operator');

beforeAll(async () => {
  cluster = await borrowCluster();
  for (const kind of configurationKinds) await apply(cluster, definition(kind));
  await apply(cluster, ...shipped('base/namespace.yaml'), ...shipped('base/drain-rbac.yaml'));
  await apply(cluster, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  const token = await cluster.serviceAccountToken('herald-system', 'operator');
  await apply(cluster, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'operator' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'herald-drain' },
    subjects: [{ kind: 'ServiceAccount', namespace: 'herald-system', name: 'operator' }],
  });
  kubeconfig = join(cluster.directory, 'operator.kubeconfig');
  await writeFile(kubeconfig, cluster.kubeconfig(token), { mode: 0o600 });
  await until('every object is accepted', async () => {
    await apply(
      cluster,
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1', annotations: { 'example.com/other': 'stays' } } },
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node2' } },
      ours('IPAddressPool', 'main', { addresses: ['192.0.2.0/28'] }),
      ours('BGPPeer', 'tor', { myASN: 64_512, peerASN: 65_101, peerAddress: '10.1.0.1' }),
      ours('BGPAdvertisement', 'all', {}),
    );
    return true;
  });
  await serve('web', '192.0.2.1', 'node1', 'node2');
  await serve('ledger', '192.0.2.2', 'node1');
  await until('the role is in force', async () => (await cluster.attempt({ path: '/api/v1/services' }, token)).status === 200);
});

beforeEach(async () => {
  await report('node1', 2);
  await report('node2', 1);
});

afterAll(async () => {
  await cluster?.stop();
});

test('a Service that only this node announces is named, and nothing is written', async () => {
  const { code, stdout, stderr } = await drain();
  expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
  expect(stdout).toContain('no other node announces 1 Service of node1\n  shop/ledger: 192.0.2.2\n');
  expect((await node1()).metadata.annotations).toEqual({ 'example.com/other': 'stays' });
  expect(new Set(calls().map(({ verb }) => verb))).toEqual(new Set(['list']));
});

test('the shipped ClusterRole is enough to drain a node and undo it', async () => {
  await serve('ledger', '192.0.2.2', 'node1', 'node2');
  const drained = drain();
  await until('the annotation is written', async () => (await node1()).metadata.annotations?.[annotation] === 'true');
  const since = new Date().toISOString();
  await report('node1', 2, { phase: 'Draining', since, kept: 0 });
  const callsBefore = calls().length;
  await until('the command has read the reports', () => calls().length > callsBefore + 1);
  await report('node1', 0, { phase: 'Drained', since, kept: 0, connections: 0 });
  const { code, stdout, stderr } = await drained;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.split('\n')).toEqual([
    'herald.dev/drain: "true" is written to the Node',
    'routes to tor carry GRACEFUL_SHUTDOWN: routers have 10 s to choose other routes',
    'all routes are withdrawn; connections that still arrive are forwarded, for 300 s at most',
    'drained: no connection is left',
    '',
  ]);

  const undone = drain('--uncordon');
  await until('the annotation is gone', async () => (await node1()).metadata.annotations?.[annotation] === undefined);
  await report('node1', 2);
  expect(await undone).toMatchObject({ code: 0, stdout: expect.stringContaining('announced again: tor: 2 of 2 routes\n') });
  expect((await node1()).metadata.annotations).toEqual({ 'example.com/other': 'stays' });
});

test('the command lists and patches one Node, and its role grants nothing else', async () => {
  const asked = calls();
  expect(asked.filter(({ code }) => code >= 400)).toEqual([]);
  const written = asked.filter(({ verb }) => verb !== 'list').map(({ verb, resource, name }) => `${verb} ${resource} ${name}`);
  expect(new Set(written)).toEqual(new Set(['patch nodes node1']));
  const [role] = shipped('base/drain-rbac.yaml') as unknown as readonly {
    rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
  }[];
  const allowed = (role?.rules ?? []).flatMap(({ apiGroups: [group = ''], resources, verbs: [verb = ''] }) => {
    return resources.map((one) => `${verb} ${group}/${one}`);
  });
  expect(new Set(asked.map(({ verb, group, resource }) => `${verb} ${group}/${resource}`))).toEqual(new Set(allowed));
});
