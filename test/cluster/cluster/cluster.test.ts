import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { afterEach, expect, test } from 'vitest';
import { until } from '../../lab/until.ts';
import { imageNames } from '../images/index.ts';
import { defaultMinor } from '../programs.ts';
import { createCluster, type Cluster } from './cluster.ts';
import { valuesOf } from './description.ts';

/** The cluster itself, without Herald: that it works in each family, and that nothing of it is left. */
let cluster: Cluster | undefined;

afterEach(async () => {
  await cluster?.remove();
  cluster = undefined;
});

const { Agnhost: agnhost } = imageNames(defaultMinor);

const daemonSet = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        containers: [
          {
            name: 'web',
            image: agnhost,
            args: ['netexec', '--http-port=8080'],
            readinessProbe: { httpGet: { path: '/hostname', port: 8080 }, periodSeconds: 1 },
          },
        ],
      },
    },
  },
};

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'default' },
  spec: { ipFamilyPolicy: 'PreferDualStack', selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
};

interface Pod {
  readonly metadata: { readonly name: string };
  readonly status: {
    readonly podIPs?: readonly { readonly ip: string }[];
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** Waits until there is a Ready pod for each node, and returns the pods. */
async function readyPods(of: Cluster): Promise<readonly Pod[]> {
  return until(
    'each node has a Ready pod',
    async (note) => {
      const { items } = (await of.request({ path: '/api/v1/namespaces/default/pods' })) as { readonly items: readonly Pod[] };
      const ready = items.filter(({ status }) => status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'));
      return note(items.map(({ status }) => status)).length === of.plan.nodes.length && ready.length === items.length && items;
    },
    300_000,
  );
}

const inUrl = (address: string): string => (address.includes(':') ? `[${address}]` : address);

test.each([
  ['ipv4', 'iptables'],
  ['ipv6', 'nftables'],
  ['dual', 'nftables'],
] as const)('in a cluster of %s with kube-proxy in mode %s, pods reach each other by Service and DNS', async (families, kubeProxy) => {
  cluster = await createCluster({ families, kubeProxy });
  const { plan } = cluster;
  await cluster.apply(daemonSet);
  await cluster.apply(service);
  const running = await readyPods(cluster);
  for (const { metadata, status } of running) {
    expect(status.podIPs ?? []).toHaveLength(plan.families.length);
    const url = 'http://web.default.svc.cluster.local/hostname';
    const { stdout } = await cluster.kubectl(['exec', metadata.name, '--', 'curl', '-sS', '--max-time', '20', url]);
    expect(running.map((pod) => pod.metadata.name)).toContain(stdout);
    for (const { ip } of status.podIPs ?? []) {
      // The client reaches a pod over the ToR.
      const answer = await cluster.lab.machine('client').exec(['curl', '-sS', '--max-time', '20', `http://${inUrl(ip)}:8080/hostname`]);
      expect(answer.stdout).toBe(metadata.name);
    }
  }
});

test('a node whose power was cut comes back with another boot id, its pods and none of its old rules', async () => {
  cluster = await createCluster({ families: 'dual', kubeProxy: 'none' });
  const node = cluster.node('node2');
  await cluster.apply(daemonSet);
  await readyPods(cluster);
  await node.machine.exec(['nft', 'add', 'table', 'inet', 'left-behind']);
  const bootId = async (): Promise<string> =>
    (await cluster?.kubectl(['get', 'node', 'node2', '-o', 'jsonpath={.status.nodeInfo.bootID}']))?.stdout ?? '';
  const before = await bootId();

  await node.powerOff();
  expect((await cluster.lab.machine('client').exec(['ping', '-c1', '-W1', '172.30.0.12'], { check: false })).code).not.toBe(0);
  await node.powerOn();

  await until('the kubelet reports the new boot', async (note) => note(await bootId()) !== before, 120_000);
  await cluster.untilReady('node2');
  await until(
    'the pods of all nodes answer',
    async (note) => {
      if (cluster === undefined) return false;
      const addresses = (await readyPods(cluster)).flatMap(({ status }) => status.podIPs ?? []);
      for (const { ip } of addresses) {
        const curl = ['curl', '-sS', '--max-time', '2', `http://${inUrl(ip)}:8080/hostname`];
        if ((await cluster.lab.machine('client').exec(curl, { check: false })).code !== 0) return note(ip) === '';
      }
      return addresses.length === 6;
    },
    120_000,
  );
  expect((await node.machine.exec(['nft', 'list', 'tables'])).stdout).not.toContain('left-behind');
});

/** Returns what exists of a cluster: processes that belong to it, namespaces, cgroups and data. */
function traces(id: string): string[] {
  const own = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return [`/proc/${pid}/cmdline`, `/proc/${pid}/cgroup`].some((file) => readFileSync(file, 'utf8').includes(id));
      } catch {
        return false;
      }
    });
  const folders = [
    '/run/netns',
    '/sys/fs/cgroup/memory',
    '/sys/fs/cgroup',
    '/var/tmp/herald-cluster',
    '/run/herald-lab',
    '/run/frr',
    '/etc/frr',
  ];
  const files = folders.filter(existsSync).flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
  return [...own.map((pid) => `process ${pid}`), ...files.filter((file) => file.includes(id))];
}

/** Starts the program that creates a cluster. Resolves with its process and the id of its cluster when the nodes are Ready. */
async function startProgram(): Promise<{ readonly child: ReturnType<typeof spawn>; readonly id: string }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), 'dual', 'none'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let id = '';
  for await (const line of createInterface({ input: child.stdout })) {
    id = /network (hl\w+)/.exec(line)?.[1] ?? id;
    if (line.startsWith('logs:')) break;
  }
  return { child, id };
}

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('the program removes its cluster at %s', async (signal) => {
  const { child, id } = await startProgram();
  expect(traces(id)).not.toEqual([]);
  const ended = once(child, 'exit');
  child.kill(signal);
  const [code] = await ended;
  expect(code).toBe({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }[signal]);
  expect(traces(id)).toEqual([]);
});

test('the next cluster removes what a killed program left, whose nodes have ended with it', async () => {
  const { child, id } = await startProgram();
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  const programs = new Set(['kubelet', 'containerd', 'etcd', 'kube-apiserver']);
  await until('the programs of the cluster have ended', (note) => {
    const left = traces(id).filter((trace) => trace.startsWith('process '));
    const names = left.map((trace) => nameOf(trace.slice('process '.length)));
    return !note(names).some((name) => programs.has(name));
  });
  cluster = await createCluster({ families: 'ipv4', kubeProxy: 'none', nodes: 1 });
  expect(traces(id)).toEqual([]);
  expect(valuesOf(cluster.plan.tor)).toEqual(['172.30.0.1']);
});

function nameOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}
