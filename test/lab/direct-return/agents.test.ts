import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { formatAddress, address, type Family } from '../../../src/net/address.ts';
import { run } from '../command.ts';
import { until } from '../until.ts';
import {
  clientAddress,
  inside,
  namespaceOf,
  nodeAddress,
  nodes,
  podAddress,
  podPort,
  ThreeNodes,
  vip,
  type Layout,
} from './three-nodes.ts';

const families: readonly Family[] = [4, 6];
const program = join(import.meta.dirname, '../../../bin/herald');

/** Returns the cluster's manifests: three nodes, and a Service with a pod on each. */
function manifests(layout: Layout): string {
  const objects: object[] = [
    { apiVersion: 'herald.dev/v1alpha1', kind: 'HeraldConfig', metadata: { name: 'default' }, spec: { consistentHashing: true } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace: 'default', name: 'web', annotations: { 'herald.dev/direct-return': 'true' } },
      spec: {
        type: 'LoadBalancer',
        clusterIP: '10.96.0.1',
        clusterIPs: ['10.96.0.1', 'fd96::1'],
        ipFamilies: ['IPv4', 'IPv6'],
        ipFamilyPolicy: 'RequireDualStack',
        selector: { app: 'web' },
        ports: [{ port: 80, targetPort: podPort }],
        allocateLoadBalancerNodePorts: false,
      },
      status: { loadBalancer: { ingress: families.map((family) => ({ ip: vip(family), ipMode: 'VIP' })) } },
    },
  ];
  for (const n of nodes) {
    objects.push({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `node${n}` },
      spec: { podCIDRs: [`10.244.${n}.0/24`, `fd44:${n}::/64`] },
      status: {
        addresses: families.map((family) => ({ type: 'InternalIP', address: formatAddress(address(nodeAddress(layout, family, n))) })),
      },
    });
  }
  for (const family of families) {
    objects.push({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { namespace: 'default', name: `web-${family}`, labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: `IPv${family}`,
      ports: [{ name: '', port: podPort, protocol: 'TCP' }],
      endpoints: nodes.map((n) => ({
        addresses: [formatAddress(address(podAddress(family, n)))],
        nodeName: `node${n}`,
        conditions: { ready: true },
      })),
    });
  }
  return objects.map((object) => stringify(object)).join('---\n');
}

describe.each<[Layout, string]>([
  ['link', 'l2, and route for fragments'],
  ['routed', 'vxlan'],
])('agents on nodes, layout %s: mode auto chooses %s', (layout) => {
  let lab: ThreeNodes;
  let directory: string;
  const agents = new Map<number, ChildProcess>();

  beforeAll(async () => {
    lab = await ThreeNodes.start(layout);
    directory = await mkdtemp(join(tmpdir(), 'herald-dsr-'));
    await writeFile(join(directory, 'all.yaml'), manifests(layout));
    for (const n of nodes) await startAgent(n);
  });

  afterAll(async () => {
    for (const n of agents.keys()) await endAgent(n);
    lab.stop();
    await rm(directory, { recursive: true, force: true });
  });

  async function startAgent(n: number, ...options: string[]): Promise<void> {
    const place = ['netns', 'exec', namespaceOf(`node${n}`), program, 'agent', '--node', `node${n}`, '--source', directory];
    const agent = spawn('ip', [...place, '--healthz-bind-address', 'none', ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
    agents.set(n, agent);
    let text = '';
    agent.stdout.on('data', (data) => (text += String(data)));
    await until(
      `the agent of node ${n} has started`,
      (note) => {
        note(text.slice(-1_000));
        return text.includes('agent started');
      },
      60_000,
    );
  }

  async function endAgent(n: number): Promise<void> {
    const agent = agents.get(n);
    agents.delete(n);
    if (agent === undefined || agent.exitCode !== null) return;
    const exit = once(agent, 'exit');
    agent.kill('SIGKILL');
    await exit;
  }

  /** Returns the pods that answered and the clients that they saw, sorted: "pod1 10.89.0.2". */
  const pairs = async (family: Family): Promise<string[]> => {
    await lab.ask({ op: 'close' });
    await lab.ask({ op: 'open', count: 30, address: vip(family), port: 80 });
    const answers = await lab.ask<string[]>({ op: 'ask' });
    return [...new Set(answers.map((answer) => answer.split(' ').slice(0, 2).join(' ')))].toSorted();
  };
  const direct = (family: Family): string[] => nodes.map((n) => `pod${n} ${clientAddress(family)}`);
  const untilSeen = async (what: string, family: Family, expected: readonly string[]): Promise<void> => {
    await until(
      what,
      async (note) => {
        const now = await pairs(family);
        note(now.join('; '));
        return now.join() === expected.join();
      },
      60_000,
    );
  };

  test.each(families)('IPv%i: pods see the client, whichever node its packets arrive at', async (family) => {
    for (const n of nodes) {
      lab.routeTo(n);
      await untilSeen(`direct server return through node ${n}`, family, direct(family));
    }
  });

  test('each node reports the modes in which it receives packets', async () => {
    const report = await readFile(join(directory, '.herald/nodes/node1.yaml'), 'utf8');
    expect(report).toMatch(/directReturn:\n\s+receives:\n\s+- link\n\s+- vxlan/);
    expect(inside('node1', 'ip rule')).toContain('fwmark 0x68');
    expect(inside('node1', 'nft list tables').includes('netdev herald_direct')).toBe(layout === 'link');
  });

  test('an agent that is killed and restarted interrupts no connection', async () => {
    lab.routeTo(1);
    await untilSeen('direct server return', 4, direct(4));
    await endAgent(1);
    expect(await pairs(4)).toEqual(direct(4));
    const asked = (async () => {
      const seen = new Set<string>();
      for (let round = 0; round < 20; round++)
        for (const answer of await lab.ask<string[]>({ op: 'ask' })) seen.add(answer.split(' ').slice(0, 2).join(' '));
      return [...seen].toSorted();
    })();
    await startAgent(1);
    expect(await asked).toEqual(direct(4));
  });

  test('a node with a strict reverse-path filter reports it, and other nodes translate packets for it', async () => {
    await endAgent(2);
    // The agent may not change the filter. The filter applies to the tunnel as well.
    inside('node2', 'sysctl -qw net.ipv4.conf.all.rp_filter=1');
    await startAgent(2, '--kernel-settings', 'report');
    lab.routeTo(1);
    const node1 = formatAddress(address(nodeAddress(layout, 4, 1)));
    await untilSeen('node 1 translates for node 2', 4, [`pod1 ${clientAddress(4)}`, `pod2 ${node1}`, `pod3 ${clientAddress(4)}`]);
    const { stdout } = await run([program, 'explain', 'service', 'default/web', '-o', 'wide', '--source', directory], {
      timeoutMs: 60_000,
    });
    expect(stdout).toContain('direct server return: passes packets on by');
    expect(stdout).toMatch(/receives by nothing/);
    expect(stdout).toContain('host: the reverse-path filter of');
    expect(stdout).toContain('packets for node "node2" are not passed on but translated');
  });
});
