import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { ClusterNode } from '../cluster/node.ts';
import type { Bed } from './bed.ts';

interface Workload {
  readonly kind: string;
  readonly spec: { readonly template: { readonly spec: PodSpec } };
}

interface PodSpec {
  readonly priorityClassName: string;
  readonly containers: readonly [
    {
      readonly resources: { readonly limits: { readonly memory: string } };
      readonly securityContext: { readonly capabilities: { readonly add?: readonly string[] } };
    },
  ];
}

/** Bits of CapEff: include/uapi/linux/capability.h. */
const capabilityBits: Readonly<Record<string, bigint>> = { NET_BIND_SERVICE: 10n, NET_ADMIN: 12n, NET_RAW: 13n, SYS_NICE: 23n };

const gibibyte = 1024 ** 3;

/** What runs after an installation, seen from the kernel of the nodes, the ToR and the client. */
export function testFirstInstallation(bed: () => Bed): void {
  test('the ToR has each node as a next hop of every address, and all of them answer by TCP and UDP', async () => {
    await bed().untilAnnounced();
    const { cluster } = bed();
    for (const address of await bed().addresses()) {
      const { pods, failed } = await cluster.client.tcp({ address, port: 80, count: 60 });
      expect(failed).toBe(0);
      expect(Object.keys(pods)).toHaveLength(cluster.nodes.length);
    }
  });

  test('FRR has a path from each node, and no node has a problem', async () => {
    const { cluster } = bed();
    for (const address of await bed().addresses()) {
      const [family, length] = address.includes(':') ? ['ipv6', 128] : ['ipv4', 32];
      const route = await cluster.tor.show<{ paths: readonly unknown[] }>(`show bgp ${family} unicast ${address}/${length} json`);
      expect(route.paths).toHaveLength(cluster.nodes.length);
    }
    const { code, stdout } = await bed().herald(['status', '--problems']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.not.stringContaining('node') });
  });

  describe.each([
    ['agent', 'agent.yaml'],
    ['controller', 'controller.yaml'],
  ] as const)('the process of each %s', (component, file) => {
    const manifest = parseAllDocuments(readFileSync(join(import.meta.dirname, '../../../manifests/base', file), 'utf8'))
      .map((document) => document.toJS() as Workload)
      .find(({ kind }) => kind === 'DaemonSet' || kind === 'Deployment');
    if (manifest === undefined) throw new Error(`${file} has no workload`);
    const { containers, priorityClassName } = manifest.spec.template.spec;
    const [{ resources, securityContext }] = containers;

    test('has exactly the capabilities of the manifest, a seccomp filter, and no way to more rights', async () => {
      const added = securityContext.capabilities.add ?? [];
      const wanted = added.reduce((bits, name) => bits | (1n << (capabilityBits[name] ?? 63n)), 0n);
      for (const status of await statuses(bed(), component)) {
        expect(BigInt(`0x${status.get('CapEff')}`)).toBe(wanted);
        expect(BigInt(`0x${status.get('CapBnd')}`)).toBe(wanted);
        // 2 is SECCOMP_MODE_FILTER.
        expect(status.get('Seccomp')).toBe('2');
        expect(status.get('NoNewPrivs')).toBe('1');
      }
    });

    test('has the priority and the memory limit of the manifest, and uses less than the half of it', async () => {
      const selector = `--selector=app.kubernetes.io/component=${component}`;
      const classes = await bed().kubectl('get', 'pods', selector, '--output=jsonpath={.items[*].spec.priorityClassName}');
      expect(new Set(classes.split(' '))).toEqual(new Set([priorityClassName]));
      const limits = await bed().kubectl(
        'get',
        'pods',
        selector,
        '--output=jsonpath={.items[*].spec.containers[0].resources.limits.memory}',
      );
      expect(new Set(limits.split(' '))).toEqual(new Set([resources.limits.memory]));
      expect(resources.limits.memory).toBe('1Gi');
      for (const status of await statuses(bed(), component))
        expect(1024 * Number.parseInt(status.get('VmRSS') ?? '', 10)).toBeLessThan(gibibyte / 2);
    });
  });
}

/** Returns /proc/PID/status of the processes of a component on all nodes. */
async function statuses(bed: Bed, component: 'agent' | 'controller'): Promise<readonly ReadonlyMap<string, string>[]> {
  const output = '--output=jsonpath={range .items[*]}{.spec.nodeName} {.status.containerStatuses[0].containerID}{"\\n"}{end}';
  const pods = await bed.kubectl('get', 'pods', `--selector=app.kubernetes.io/component=${component}`, output);
  const all = pods.split('\n').map((line) => line.split(' '));
  expect(all.length).toBeGreaterThan(1);
  return all.map(([nodeName = '', id = '']) => statusOf(bed.cluster.node(nodeName), id.replace('containerd://', '')));
}

function statusOf(node: ClusterNode, containerId: string): ReadonlyMap<string, string> {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    if (!inCgroup(pid, node.cgroup, containerId)) continue;
    const lines = readFileSync(`/proc/${pid}/status`, 'utf8').split('\n');
    return new Map(lines.map((line) => line.split(/:\s*/)).map(([name = '', value = '']) => [name, value]));
  }
  throw new Error(`${node.name} has no process of the container ${containerId}`);
}

function inCgroup(pid: string, cgroup: string, containerId: string): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
    return text.includes(`${cgroup}/`) && text.includes(containerId);
  } catch {
    return false;
  }
}
