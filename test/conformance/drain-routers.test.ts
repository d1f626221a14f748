import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NodeDrainReport } from '../../src/model/objects/node-state.ts';
import { Lab, type LabProcess } from '../lab/lab.ts';
import { pathFrom, untilNextHops, viaNodes } from '../lab/routes.ts';
import { standardTopology } from '../lab/standard-topology.ts';
import { patience, until } from '../lab/until.ts';
import { KubernetesCluster } from './cluster.ts';
import { apply, configurationKinds, definition, ours, shipped } from './manifests.ts';

/**
 * Runs `herald drain` as an operator does: the command writes to a real API server, two agents read from it, and FRR gets their routes. The
 * API server is in the namespace of the lab's client, which nodes reach like any address outside.
 */
const program = join(import.meta.dirname, '../../bin/herald');
const nodes = ['node1', 'node2'];
const tor = 'tor1';
/** Longer than the test: it sets a short settle time once it has checked the step before. */
const longSettleSeconds = 600;
const web = ['198.51.100.10', '2001:db8:100::10'];
const ledger = ['198.51.100.11', '2001:db8:100::11'];

let lab: Lab;
let cluster: KubernetesCluster;
let operator: string;

const settle = (settleSeconds: number): object => ours('HeraldConfig', 'default', { nodeDrain: { settleSeconds, deadlineSeconds: 300 } });

async function status(path: string, content: object): Promise<void> {
  await cluster.request({
    method: 'PATCH',
    path: `${path}/status`,
    body: { status: content },
    contentType: 'application/merge-patch+json',
  });
}

async function serve(name: string, policy: 'Cluster' | 'Local', addresses: readonly string[], on: readonly string[]): Promise<void> {
  await apply(cluster, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'shop' },
    spec: {
      type: 'LoadBalancer',
      loadBalancerClass: 'herald.dev/herald',
      externalTrafficPolicy: policy,
      ipFamilyPolicy: 'RequireDualStack',
      ipFamilies: ['IPv4', 'IPv6'],
      ports: [{ port: 80, targetPort: 8080 }],
    },
  });
  for (const family of ['ipv4', 'ipv6'] as const) {
    await apply(cluster, {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: `${name}-${family}`, namespace: 'shop', labels: { 'kubernetes.io/service-name': name } },
      addressType: family === 'ipv4' ? 'IPv4' : 'IPv6',
      ports: [{ port: 8080, protocol: 'TCP', name: '' }],
      endpoints: on.map((node) => ({ addresses: [lab.pod(`web-${node}`).address[family]], nodeName: node, conditions: { ready: true } })),
    });
  }
  await status(`/api/v1/namespaces/shop/services/${name}`, {
    loadBalancer: { ingress: addresses.map((ip) => ({ ip, ipMode: 'VIP' })) },
  });
}

async function kubeconfigOf(account: string): Promise<string> {
  const file = join(cluster.directory, `${account}.kubeconfig`);
  await writeFile(file, cluster.kubeconfig(await cluster.serviceAccountToken('herald-system', account)), { mode: 0o600 });
  return file;
}

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ nodes: nodes.length, pods: nodes.map((node) => ({ name: `web-${node}`, node })) }));
  // A cluster of its own: it is a machine of the lab.
  cluster = await KubernetesCluster.start({ inside: { namespace: lab.machine('client').namespace, address: '10.9.0.2' } });
  for (const kind of configurationKinds) await apply(cluster, definition(kind));
  await apply(cluster, ...shipped('base/namespace.yaml'), ...shipped('base/agent-rbac.yaml'), ...shipped('base/drain-rbac.yaml'));
  operator = await kubeconfigOf('operator');
  await apply(
    cluster,
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'operator' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'herald-drain' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'herald-system', name: 'operator' }],
    },
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
  );
  for (const name of nodes) {
    const { podCidr, internal } = lab.node(name).plan;
    const podCIDRs = [podCidr.ipv4, podCidr.ipv6];
    await apply(cluster, { apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: { podCIDR: podCIDRs[0], podCIDRs } });
    await status(`/api/v1/nodes/${name}`, {
      addresses: [internal.ipv4, internal.ipv6].map((address) => ({ type: 'InternalIP', address })),
    });
  }
  const peer = { myASN: 64_512, peerASN: 65_101, holdTime: '60s', connectTime: '1s' };
  await until(
    'every object is taken',
    async () => {
      await apply(
        cluster,
        ours('IPAddressPool', 'main', { addresses: ['198.51.100.0/24', '2001:db8:100::/120'] }),
        ours('BGPPeer', 'tor1-v4', { ...peer, peerAddress: '10.1.0.1' }),
        ours('BGPPeer', 'tor1-v6', { ...peer, peerAddress: 'fd00:1::1' }),
        ours('BGPAdvertisement', 'all', { communities: ['64512:100'] }),
        settle(longSettleSeconds),
      );
      return true;
    },
    patience,
  );
  await serve('web', 'Cluster', web, nodes);
  await serve('ledger', 'Local', ledger, ['node1']);
  const agentConfig = await kubeconfigOf('herald-agent');
  for (const node of nodes) {
    lab
      .node(node)
      .spawn([program, 'agent', '--node', node, '--kubeconfig', agentConfig, '--healthz-bind-address', 'none'], { name: `agent-${node}` });
  }
  await untilServed(web, nodes);
  await untilServed(ledger, ['node1']);
});

afterAll(async () => {
  await cluster?.stop();
  await lab?.stop();
});

async function untilServed(addresses: readonly string[], via: readonly string[]): Promise<void> {
  for (const address of addresses) await untilNextHops(lab, tor, address, viaNodes(tor, via, address), patience);
}

/** Runs the command as an operator does, outside of the cluster. */
function drain(...words: readonly string[]): LabProcess {
  return lab
    .machine('client')
    .spawn([program, 'drain', 'node1', '--kubeconfig', operator, '--timeout', '10m', ...words], { name: `drain-${++drains}` });
}
let drains = 0;

interface Reported {
  readonly drain?: NodeDrainReport;
  readonly sessions?: readonly { readonly prefixesSent?: number }[];
}

async function reported(node: string): Promise<Reported> {
  const { body } = await cluster.attempt({ path: `/apis/herald.dev/v1alpha1/nodestates/${node}` });
  return (body as { status?: Reported } | undefined)?.status ?? {};
}

async function annotation(): Promise<string | undefined> {
  const { body } = await cluster.attempt({ path: '/api/v1/nodes/node1' });
  return (body as { metadata: { annotations?: Record<string, string> } }).metadata.annotations?.['herald.dev/drain'];
}

async function errorsOf(address: string): Promise<Readonly<Record<string, number>>> {
  return (await lab.client.tcp({ address, port: 80, count: 20, parallel: 2, timeoutMs: 10_000 })).errors;
}

test('a Service that only this node announces is named, and the router keeps its routes', async () => {
  const seen = async (node: string): Promise<number> => {
    const { sessions = [] } = await reported(node);
    return sessions.reduce((sum, { prefixesSent = 0 }) => sum + prefixesSent, 0);
  };
  await until('both agents have reported', async (note) => note([await seen('node1'), await seen('node2')]).join() === '4,2', patience);
  const refused = drain();
  expect(await refused.exited).toMatchObject({ code: 3 });
  expect(refused.lines().join('\n')).toContain(
    'no other node announces 1 Service of node1\n  shop/ledger: 198.51.100.11, 2001:db8:100::11',
  );
  expect(await annotation()).toBeUndefined();
  for (const address of [...web, ...ledger]) expect((await pathFrom(lab, tor, 'node1', address))?.community).toBe('64512:100');
});

test('the router gets GRACEFUL_SHUTDOWN, then the withdrawal, and --uncordon undoes both', async () => {
  await serve('ledger', 'Local', ledger, nodes);
  await untilServed(ledger, nodes);
  const all = [...web, ...ledger];

  const drained = drain();
  for (const address of all) {
    await lab.until(
      `${tor} gets GRACEFUL_SHUTDOWN for ${address} from node1`,
      async (note) => {
        const path = note(await pathFrom(lab, tor, 'node1', address));
        return path?.localPref === 0 && path.community.includes('graceful-shutdown') && path.community.includes('64512:100');
      },
      patience,
    );
  }
  // The router prefers other paths but could return to these: routes stay until the settle time is over.
  await untilServed(all, ['node2']);
  expect(await annotation()).toBe('true');
  await until('the agent reports the drain', async (note) => note(await reported('node1')).drain?.phase === 'Draining', patience);
  // The command asks once a second. The phase must last until it has asked.
  await drained.waitForLine(/routes to tor1-v4, tor1-v6 carry GRACEFUL_SHUTDOWN/, patience);
  for (const address of all) expect(await pathFrom(lab, tor, 'node1', address)).toBeDefined();
  for (const address of all) expect((await pathFrom(lab, tor, 'node2', address))?.community).toBe('64512:100');

  await apply(cluster, settle(1));
  for (const address of all) {
    await lab.until(`node1 withdraws ${address}`, async () => (await pathFrom(lab, tor, 'node1', address)) === undefined, patience);
  }
  expect(await drained.exited).toMatchObject({ code: 0 });
  const output = drained.lines().join('\n');
  expect(output).toContain('herald.dev/drain: "true" is written to the Node');
  expect(output).toMatch(/drained: no connection is left$/);
  expect((await reported('node1')).drain).toMatchObject({ phase: 'Drained', kept: 0 });
  for (const address of all) expect(await errorsOf(address)).toEqual({});

  const back = drain('--uncordon');
  expect(await back.exited).toMatchObject({ code: 0 });
  expect(back.lines().join('\n')).toContain('announced again: tor1-v4: 2 of 2 routes, tor1-v6: 2 of 2 routes');
  expect(await annotation()).toBeUndefined();
  await untilServed(all, nodes);
  for (const address of all) expect((await pathFrom(lab, tor, 'node1', address))?.community).toBe('64512:100');
  for (const address of all) expect(await errorsOf(address)).toEqual({});
});
