import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../lab/command.ts';
import type { LabProcess } from '../lab/lab-process.ts';
import { inNamespace, ip, prepareNamespace } from '../lab/namespace.ts';
import { until } from '../lab/until.ts';
import { sampleOf, samplesOf } from '../unit/telemetry/scrape.ts';
import { KubernetesCluster } from './cluster.ts';
import { foreground } from './foreground.ts';
import { apply, shipped } from './manifests.ts';

/**
 * A node without kube-proxy. All programs in the cluster reach the API server at its own ClusterIP, which works only after the agent has
 * programmed it. But the agent learns of it from the API server. The flag --apiserver resolves this.
 *
 *     API server ── node: herald agent ── pod
 */
const names = { server: `hl-ku-${process.pid}-server`, node: `hl-ku-${process.pid}-node`, pod: `hl-ku-${process.pid}-pod` } as const;
const program = join(import.meta.dirname, '../../bin/herald');
const real = '192.0.2.10';

/** The Service "kubernetes" has only the cluster's first family. This one leads to the same server by the other family. */
const overIPv6 = [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'kubernetes-v6', namespace: 'default' },
    spec: { clusterIP: 'fd00:96::1', ipFamilies: ['IPv6'], ports: [{ name: 'https', port: 443, targetPort: 6443 }] },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'kubernetes-v6', namespace: 'default', labels: { 'kubernetes.io/service-name': 'kubernetes-v6' } },
    addressType: 'IPv6',
    endpoints: [{ addresses: ['2001:db8::10'] }],
    ports: [{ name: 'https', port: 6443 }],
  },
];

const node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'node1' },
  spec: { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24', 'fd00:10:1::/64'] },
};
const nodeStatus = {
  status: {
    addresses: [
      { type: 'InternalIP', address: '192.0.2.1' },
      { type: 'InternalIP', address: '2001:db8::1' },
    ],
  },
};

let cluster: KubernetesCluster;
let kubeconfig: string;
let agent: LabProcess | undefined;

beforeAll(async () => {
  await makeNetwork();
  // A cluster of its own: it is a machine of this network.
  cluster = await KubernetesCluster.start({ inside: { namespace: names.server, address: real } });
  await apply(cluster, ...shipped('base/namespace.yaml'), ...shipped('base/agent-rbac.yaml'), ...overIPv6, node);
  await cluster.request({
    method: 'PATCH',
    path: '/api/v1/nodes/node1/status',
    body: nodeStatus,
    contentType: 'application/merge-patch+json',
  });
  const token = await cluster.serviceAccountToken('herald-system', 'herald-agent');
  // A pod's configuration names the ClusterIP as the server.
  const text = cluster.kubeconfig(token).replace(`https://${real}:6443`, 'https://10.96.0.1:443');
  expect(text).toContain('10.96.0.1');
  kubeconfig = join(cluster.directory, 'agent.kubeconfig');
  await writeFile(kubeconfig, text, { mode: 0o600 });
  await writeFile(join(cluster.directory, 'ca.crt'), cluster.admin.certificateAuthority);
});

afterAll(async () => {
  agent?.kill('SIGKILL');
  await agent?.exited;
  await cluster?.stop();
  for (const name of Object.values(names)) await run(['ip', 'netns', 'del', name], { check: false });
});

async function makeNetwork(): Promise<void> {
  for (const name of Object.values(names)) {
    await ip([`netns add ${name}`]);
    await prepareNamespace(name, name !== names.pod);
  }
  await ip([
    `link add eth0 netns ${names.server} type veth peer name eth0 netns ${names.node}`,
    `link add pod0 netns ${names.node} type veth peer name eth0 netns ${names.pod}`,
  ]);
  await ip(
    [
      'addr add 192.0.2.10/24 dev eth0',
      'addr add 2001:db8::10/64 dev eth0',
      'link set eth0 up',
      'route add 10.1.0.0/24 via 192.0.2.1',
      'route add fd00:10:1::/64 via 2001:db8::1',
      // Addresses that no rule on the node translates are refused at once, so no test waits for a timeout.
      'route add unreachable 10.96.0.0/12',
      'route add unreachable fd00:96::/112',
    ],
    names.server,
  );
  await ip(
    [
      'addr add 192.0.2.1/24 dev eth0',
      'addr add 2001:db8::1/64 dev eth0',
      'addr add 10.1.0.1/24 dev pod0',
      'addr add fd00:10:1::1/64 dev pod0',
      'link set eth0 up',
      'link set pod0 up',
      'route add default via 192.0.2.10',
      'route add default via 2001:db8::10',
    ],
    names.node,
  );
  await ip(
    [
      'addr add 10.1.0.2/24 dev eth0',
      'addr add fd00:10:1::2/64 dev eth0',
      'link set eth0 up',
      'route add default via 10.1.0.1',
      'route add default via fd00:10:1::1',
    ],
    names.pod,
  );
}

function startAgent(...server: readonly string[]): LabProcess {
  const command = [program, 'agent', '--node', 'node1', '--kubeconfig', kubeconfig, ...server, '--healthz-bind-address', 'none'];
  return foreground(inNamespace(names.node, command), join(cluster.directory, `agent-${++agents}.log`));
}
let agents = 0;

/** Returns the version of the API server at an address, or the error code of the request. */
async function ask(from: 'pod' | 'node', host: string): Promise<string> {
  const script = `
    const request = require('node:https').get({ host: ${JSON.stringify(host)}, port: 443, path: '/version', servername: 'kubernetes.default.svc',
      ca: require('node:fs').readFileSync(${JSON.stringify(join(cluster.directory, 'ca.crt'))}), headers: { authorization: 'Bearer ${cluster.admin.token}' } });
    request.on('response', (response) => response.toArray().then((chunks) => console.log(JSON.parse(Buffer.concat(chunks)).gitVersion)));
    request.on('error', (error) => console.log(error.code));`;
  const { stdout } = await run(inNamespace(names[from], [process.execPath, '-e', script]));
  return stdout.trim();
}

/** Returns the agent's rules without packet counters and without the owner of the tables. */
async function rules(): Promise<string> {
  const { stdout } = await run(inNamespace(names.node, ['nft', '-s', 'list', 'ruleset']));
  return stdout.replaceAll(/ # progname .*|^\tflags.*\n/gm, '');
}

test('the ClusterIP is unreachable before the agent ran, and an agent that knows only it says so', async () => {
  expect(await ask('pod', '10.96.0.1')).toMatch(/^E(HOST|NET)UNREACH$/);
  expect(await ask('node', 'fd00:96::1')).toMatch(/^E(HOST|NET)UNREACH$/);
  const lost = startAgent();
  const line = await lost.waitForLine(/cannot be read/);
  expect(line).toContain('10.96.0.1');
  lost.kill();
  expect(await lost.exited).toMatchObject({ code: 0 });
});

describe('an agent with --apiserver', () => {
  beforeAll(async () => {
    agent = startAgent('--apiserver', `https://${real}:6443`);
    await agent.waitForLine(/agent started/);
  });

  test.each([
    ['pod', '10.96.0.1'],
    ['pod', 'fd00:96::1'],
    ['node', '10.96.0.1'],
    ['node', 'fd00:96::1'],
  ] as const)('the %s reaches the API server at %s', async (from, address) => {
    expect(await ask(from, address)).toMatch(/^v1\.\d+/);
  });

  test('another process connects with the environment of a pod', async () => {
    const token = await cluster.serviceAccountToken('herald-system', 'herald-agent');
    const files =
      'd=/run/secrets/kubernetes.io/serviceaccount; mount -t tmpfs none /run && mkdir -p $d && cp "$1" $d/ca.crt && printf %s "$2" > $d/token; shift 2; exec "$@"';
    const command = [program, 'agent', '--node', 'node2', '--healthz-bind-address', 'none', '--kernel-settings', 'report'];
    const inside = inNamespace(names.pod, ['sh', '-c', files, 'sh', join(cluster.directory, 'ca.crt'), token, ...command]);
    const environment = ['env', 'KUBERNETES_SERVICE_HOST=10.96.0.1', 'KUBERNETES_SERVICE_PORT=443'];
    const second = foreground([...environment, ...inside], join(cluster.directory, 'second.log'));
    await second.waitForLine(/agent started/);
    expect(second.lines().find((line) => line.includes('reading the API server'))).toContain('"10.96.0.1"');
    second.kill();
    expect(await second.exited).toMatchObject({ code: 0 });
  });

  test('a restart of the API server removes no rules', async () => {
    const before = await rules();
    await cluster.stopApiServer();
    // The rules lead to a stopped server. Its kernel refuses the connection, which shows that packets still arrive.
    expect(await ask('pod', '10.96.0.1')).toBe('ECONNREFUSED');
    await until('the agent has noticed', () => agent?.lines().some((line) => line.includes('cannot be read')) === true);
    expect(await rules()).toBe(before);
    await cluster.startApiServer();
    await apply(cluster, marker('after-api-server'));
    await untilProgrammed('10.100.0.1');
    expect(await ask('pod', '10.96.0.1')).toMatch(/^v1\./);
    expect(await ask('pod', 'fd00:96::1')).toMatch(/^v1\./);
  });

  test('metrics count lists, changes and programming, and the outage of the API server', async () => {
    const text = await scrape();
    expect(sampleOf(text, 'herald_watch_lists_total{resource="services"}')).toBeGreaterThan(0);
    expect(sampleOf(text, 'herald_watch_lists_total{resource="endpointslices.discovery.k8s.io"}')).toBeGreaterThan(0);
    expect([...samplesOf(text, 'herald_watch_failures_total').values()].some((count) => count > 0)).toBe(true);
    await apply(cluster, { ...marker('counted'), spec: { clusterIP: '10.100.0.2', ports: [{ port: 80 }] } });
    await untilProgrammed('10.100.0.2');
    const moved = ['herald_change_to_rule_duration_seconds_count{kind="Service"}', 'kubeproxy_sync_proxy_rules_service_changes_total'];
    await until('the metrics have counted the change', async (note) => {
      const after = note(await scrape());
      return moved.every((series) => (sampleOf(after, series) ?? 0) > (sampleOf(text, series) ?? 0));
    });
    const heard = 'herald_watch_last_heard_timestamp_seconds{resource="services"}';
    expect(sampleOf(await scrape(), heard)).toBeGreaterThan(Number(sampleOf(text, heard)) - 1);
    expect(sampleOf(text, 'herald_dataplane_up')).toBe(1);
  });

  test('a restart of the agent removes no rules, whether the API server runs or not', async () => {
    const before = await rules();
    agent?.kill();
    expect(await agent?.exited).toMatchObject({ code: 0 });
    expect(await rules()).toBe(before);
    expect(await ask('pod', '10.96.0.1')).toMatch(/^v1\./);
    await cluster.stopApiServer();
    agent = startAgent('--apiserver', `https://${real}:6443`);
    await agent.waitForLine(/cannot be read/);
    expect(await rules()).toBe(before);
    await cluster.startApiServer();
    await agent.waitForLine(/agent started/);
    expect(await ask('pod', '10.96.0.1')).toMatch(/^v1\./);
    expect(await ask('pod', 'fd00:96::1')).toMatch(/^v1\./);
  });

  test('an agent that was killed leaves its rules, and the next agent adopts them', async () => {
    agent?.kill('SIGKILL');
    await agent?.exited;
    expect(await ask('pod', '10.96.0.1')).toMatch(/^v1\./);
    // Its own rules in the kernel lead it to the API server at the ClusterIP.
    agent = startAgent();
    await agent.waitForLine(/agent started/);
    expect(await ask('pod', 'fd00:96::1')).toMatch(/^v1\./);
  });
});

/** Scrapes the agent from the node, at the node's InternalIP. */
async function scrape(): Promise<string> {
  const script = `fetch('http://192.0.2.1:10290/metrics').then(async (answer) => process.stdout.write(await answer.text()))`;
  return (await run(inNamespace(names.node, [process.execPath, '-e', script]))).stdout;
}

/** A Service that marks a point in time: once its ClusterIP is programmed, all earlier changes are too. */
function marker(name: string): object {
  const spec = { clusterIP: '10.100.0.1', ports: [{ port: 80 }] };
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'default' }, spec };
}

function untilProgrammed(address: string): Promise<unknown> {
  return until(`${address} is programmed`, async () => (await rules()).includes(address));
}
