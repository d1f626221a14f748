import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { FixtureApiServer } from '../../kube-fixture/api-server.ts';
import { startKubeProxy, type KubeProxy } from '../../kube-fixture/kube-proxy.ts';
import type { ApiObject } from '../../kube-fixture/object.ts';
import { median } from '../runner/statistics.ts';
import { Generation, untilQuiet } from './generation.ts';
import { sharePriority } from './priority.ts';

/** Figures of kube-proxy (nftables mode) for a number of Services, in milliseconds and megabytes. */
export interface KubeProxyFigures {
  readonly services: number;
  readonly endpoints: number;
  /** From the start of the process to the commit after which all Services are in the kernel. */
  readonly load: number;
  /** Replacing one endpoint of one Service, from the event to the kernel's commit: median. `slowestChange` is the largest. */
  readonly change: number;
  readonly slowestChange: number;
  /** Resident memory of the process at the end, and its peak. Memory of nft processes is not counted. */
  readonly memory: number;
  readonly peakMemory: number;
}

export interface KubeProxyMeasurement {
  readonly services: number;
  /** Number of endpoints that are replaced, one after the other. */
  readonly changes: number;
  /**
   * The time that kube-proxy waits from one sync to the next; its default is "1s". Nearly zero here, so that its work is measured and not
   * the wait.
   */
  readonly minSyncPeriod?: string;
}

const nodeName = 'node';
/** Timeout for a change. */
const patienceMs = 300_000;

/**
 * Runs kube-proxy in an empty network namespace, as a node with one address, with a fixture of an API server in this process. The Services
 * are those of measure.ts: a ClusterIP with 2 to 10 endpoints on one port, 6 on average. Needs root and a built kube-proxy.
 */
export async function measureKubeProxy({ services, changes, minSyncPeriod = '1ms' }: KubeProxyMeasurement): Promise<KubeProxyFigures> {
  const namespace = `hl-kpb-${process.pid}`;
  makeNamespace(namespace);
  const generation = new Generation(`/run/netns/${namespace}`);
  let api: FixtureApiServer | undefined;
  let proxy: KubeProxy | undefined;
  try {
    api = await FixtureApiServer.start(namespace);
    const slices = Array.from({ length: services }, (_, index) => slice(index));
    api.put(node, ...Array.from({ length: services }, (_, index) => service(index)), ...slices);
    const start = performance.now();
    proxy = startKubeProxy({
      namespace,
      apiServer: api.url,
      nodeName,
      config: {
        detectLocalMode: 'ClusterCIDR',
        clusterCIDR: '10.0.0.0/8',
        nftables: { minSyncPeriod },
        logging: { vmodule: [{ filePattern: 'proxier', verbosity: 2 }] },
      },
    });
    sharePriority(proxy.process.pid);
    const load = (await loaded(proxy, generation, namespace, services)) - start;
    const times: number[] = [];
    for (let round = 1; round <= changes; round++) {
      // Waits for delayed work of the previous change, such as chains that are deleted a second later.
      const before = await untilQuiet(generation);
      const from = performance.now();
      api.put(slice((round * 7_919) % services, round));
      times.push((await generation.after(before, patienceMs)).at - from);
    }
    const status = readFileSync(`/proc/${proxy.process.pid}/status`, 'utf8');
    const megabytes = (field: string): number => (Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1_024) / 1e6;
    return {
      services,
      endpoints: slices.reduce((sum, each) => sum + (each['endpoints'] as unknown[]).length, 0),
      load,
      change: times.length === 0 ? 0 : median(times),
      slowestChange: Math.max(0, ...times),
      memory: megabytes('VmRSS'),
      peakMemory: megabytes('VmHWM'),
    };
  } finally {
    await proxy?.stop('SIGKILL');
    await api?.stop();
    generation.close();
    execFileSync('ip', ['netns', 'del', namespace]);
  }
}

/** Returns the time of the commit that added the last Service. */
async function loaded(proxy: KubeProxy, generation: Generation, namespace: string, services: number): Promise<number> {
  let [last, at, counted] = [await generation.now(), 0, 0];
  for (;;) {
    if (!proxy.process.running) throw new Error(`kube-proxy has ended: ${proxy.process.lines().slice(-10).join('\n')}`);
    const now = await generation.now();
    if (now !== last) [last, at] = [now, performance.now()];
    const syncs = syncsOf(proxy);
    if (syncs > counted) {
      counted = syncs;
      // Only after a sync, because listing the rules takes a second itself.
      const listed = execFileSync('ip', ['netns', 'exec', namespace, 'nft', 'list', 'map', 'ip', 'kube-proxy', 'service-ips'], {
        encoding: 'utf8',
        maxBuffer: 1 << 28,
      });
      if (listed.split('goto ').length > services) return at;
    }
    await sleep(1);
  }
}

function syncsOf(proxy: KubeProxy): number {
  return proxy.process.lines().filter((line) => line.includes('"SyncProxyRules complete" ipFamily="IPv4"')).length;
}

function makeNamespace(name: string): void {
  execFileSync('ip', ['netns', 'add', name]);
  const lines = [
    'link set lo up',
    'link add eth0 type veth peer name eth1',
    'link set eth0 up',
    'link set eth1 up',
    'addr add 192.0.2.1/24 dev eth0',
    'route add default via 192.0.2.254',
  ];
  execFileSync('ip', ['-n', name, '-batch', '-'], { input: lines.join('\n') });
}

const node: ApiObject = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: nodeName },
  spec: {},
  status: { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }] },
};

function service(index: number): ApiObject {
  const clusterIP = `172.${16 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: `s${index}`, namespace: 'default' },
    spec: {
      type: 'ClusterIP',
      clusterIP,
      clusterIPs: [clusterIP],
      ipFamilies: ['IPv4'],
      ports: [{ name: '', protocol: 'TCP', port: 80, targetPort: 8_080 }],
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
    },
  };
}

/** The first endpoint is on the node, and is another one in every version. */
function slice(index: number, version = 0): ApiObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `s${index}`, namespace: 'default', labels: { 'kubernetes.io/service-name': `s${index}` } },
    addressType: 'IPv4',
    ports: [{ name: '', protocol: 'TCP', port: 8_080 }],
    endpoints: Array.from({ length: 2 + ((index * 7) % 9) }, (_, slot) => {
      const pod = index * 10 + slot + (slot === 0 ? version * 600_000 : 0);
      return {
        addresses: [`10.${(pod >> 16) & 255}.${(pod >> 8) & 255}.${pod & 255}`],
        conditions: { ready: true, serving: true, terminating: false },
        nodeName: slot === 0 ? nodeName : 'other',
      };
    }),
  };
}
