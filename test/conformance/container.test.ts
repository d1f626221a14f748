import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../lab/command.ts';
import type { LabProcess } from '../lab/lab-process.ts';
import { inNamespace, ip } from '../lab/namespace.ts';
import { until } from '../lab/until.ts';
import { confined, type SecurityContext } from './container/confined.ts';
import { Image } from './container/image.ts';
import { foreground } from './foreground.ts';
import { shipped } from './manifests.ts';

/**
 * The commands of the Containerfile, carried out in a Debian of their own as there is no container engine, and what they make run as the
 * manifests say: with those capabilities, and a root that cannot be written to.
 */
const project = join(import.meta.dirname, '../..');
const namespace = `hl-ct-${process.pid}`;
const directory = mkdtempSync(join(tmpdir(), 'herald-container-'));
let image: Image;

interface Workload {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly securityContext: Partial<SecurityContext>;
        readonly containers: readonly { readonly args: readonly string[]; readonly securityContext: Partial<SecurityContext> }[];
      };
    };
  };
}

/** The security context of the only container, with what it has of its pod; and its arguments. */
function containerOf(file: string): { context: SecurityContext; args: readonly string[] } {
  const workload = shipped(file).find(({ kind }) => kind === 'Deployment' || kind === 'DaemonSet') as unknown as Workload;
  const { securityContext, containers } = workload.spec.template.spec;
  const [container] = containers;
  expect(containers).toHaveLength(1);
  return { context: { ...securityContext, ...container?.securityContext } as SecurityContext, args: container?.args ?? [] };
}

const agent = containerOf('base/agent.yaml');

const manifests = `
apiVersion: v1
kind: Node
metadata: { name: node1 }
status: { addresses: [{ type: InternalIP, address: 192.0.2.1 }, { type: InternalIP, address: "2001:db8::1" }] }
---
apiVersion: herald.dev/v1alpha1
kind: BFDProfile
metadata: { name: fast }
spec: {}
---
apiVersion: herald.dev/v1alpha1
kind: BGPPeer
metadata: { name: called }
spec: { myASN: 64512, peerASN: 64513, peerAddress: 192.0.2.2, passive: true, password: secret, ttlSecurityHops: 1, bfdProfile: fast }
---
apiVersion: herald.dev/v1alpha1
kind: BGPPeer
metadata: { name: unnumbered }
spec: { myASN: 64512, dynamicASN: external, interface: uplink, bfdProfile: fast }
---
apiVersion: v1
kind: Service
metadata: { namespace: default, name: web }
spec:
  type: LoadBalancer
  clusterIP: 10.96.0.10
  ports: [{ port: 80, targetPort: 8080 }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: default, name: web, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
ports: [{ port: 8080 }]
endpoints: [{ addresses: [10.244.1.10], nodeName: node1 }]
`;

const mounts = (data: string) => [
  { from: data, to: '/data' },
  { from: '/proc/sys/net', to: '/host/proc/sys/net' },
];

/** An agent as the DaemonSet has it, but for where its objects come from. */
function startAgent(name: string, capabilities: readonly string[]): { process: LabProcess; data: string } {
  const data = join(directory, name);
  mkdirSync(data);
  writeFileSync(join(data, 'all.yaml'), manifests);
  const context = { ...agent.context, capabilities: { drop: ['ALL'], add: capabilities } };
  const args = [...agent.args.map((each) => each.replace('$(NODE_NAME)', 'node1')), '--source=/data'];
  const argv = inNamespace(namespace, confined(image, context, mounts(data), args));
  return { process: foreground(argv, join(directory, `${name}.log`)), data };
}

/** What this machine's npm is configured to, for the npm of the image. */
async function npmSettings(): Promise<Record<string, string>> {
  const { stdout } = await run(['npm', 'config', 'get', 'registry']);
  return { npm_config_registry: stdout.trim() };
}

beforeAll(async () => {
  image = await Image.build(project, await npmSettings());
}, 900_000);

beforeAll(async () => {
  await run(['ip', 'netns', 'add', namespace]);
  await ip(['link set lo up', 'link add uplink type veth peer name other', 'link set uplink up', 'link set other up'], namespace);
  await ip(['addr add 192.0.2.1/24 dev uplink', 'addr add 2001:db8::1/64 dev uplink nodad'], namespace);
});

afterAll(async () => {
  await run(['ip', 'netns', 'delete', namespace], { check: false });
  image?.remove();
  rmSync(directory, { recursive: true, force: true });
});

/** What an unprivileged user gets. */
const asController = (...args: string[]): Promise<{ stdout: string; stderr: string; code: number }> =>
  run(confined(image, containerOf('base/controller.yaml').context, [], args), { check: false });

describe('the image', () => {
  test('has the program, and runs it as a user without rights', async () => {
    expect(image.user).toBe('65532:65532');
    const { stdout, code } = await asController('--version');
    expect(code).toBe(0);
    expect(stdout.trim()).toBe((JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { version: string }).version);
  });

  test('has what runs, and neither the tools of its making nor the sources', async () => {
    const packages = readdirSync(join(image.root, 'opt/herald/node_modules'));
    expect(packages).toContain('koffi');
    expect(packages).not.toContain('typescript');
    expect(packages).not.toContain('vitest');
    expect(readdirSync(join(image.root, 'opt/herald')).toSorted()).toEqual([
      'LICENSE',
      'bin',
      'dist',
      'node_modules',
      'package-lock.json',
      'package.json',
      'sbom.cdx.json',
    ]);
    const { stdout } = await run(['du', '-sm', join(image.root, 'opt/herald')]);
    console.log(`Herald in the image: ${stdout.split('\t')[0]} MB`);
  });

  const variants = ['iptables-nft', 'iptables-legacy', 'ip6tables-nft', 'ip6tables-legacy'];
  const tools = ['nft', 'ip', 'conntrack', 'ipset', 'ipvsadm', ...variants.flatMap((tool) => [`${tool}-save`, `${tool}-restore`])];

  test.each(tools)('has %s, which the agent runs', (tool) => {
    expect(['usr/sbin', 'usr/bin'].some((directory) => existsSync(join(image.root, directory, tool)))).toBe(true);
  });

  test('says in CycloneDX what is in it', () => {
    const bill = JSON.parse(readFileSync(join(image.root, 'opt/herald/sbom.cdx.json'), 'utf8')) as {
      bomFormat: string;
      components: { group?: string; name: string }[];
    };
    expect(bill.bomFormat).toBe('CycloneDX');
    const names = bill.components.map(({ group, name }) => (group === undefined || group === '' ? name : `${group}/${name}`));
    const { dependencies } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { dependencies: object };
    for (const name of Object.keys(dependencies)) expect(names).toContain(name);
    expect(names).not.toContain('vitest');
  });

  test('tells who makes a mistake on the command line, without a stack', async () => {
    const { code, stderr } = await asController('controller');
    expect(code).toBe(2);
    expect(stderr).toContain('this is not a pod');
  });
});

describe('the agent, with the rights of the DaemonSet', () => {
  let running: ReturnType<typeof startAgent>;

  test('starts, with its root read-only', async () => {
    running = startAgent('all', agent.context.capabilities.add ?? []);
    await expect(running.process.waitForLine(/agent started/, 60_000)).resolves.toBeDefined();
  });

  test('forwards', async () => {
    const { stdout } = await run([...inNamespace(namespace, ['nft', 'list', 'ruleset'])]);
    expect(stdout).toContain('table ip herald');
    expect(stdout).toContain('10.96.0.10');
  });

  test('sets the settings of the network, which its container has read-only elsewhere', async () => {
    for (const name of ['net.ipv4.ip_forward', 'net.ipv6.conf.all.forwarding']) {
      expect((await run([...inNamespace(namespace, ['sysctl', '-n', name])])).stdout.trim()).toBe('1');
    }
  });

  test('listens on port 179, and can do all that its peers ask', async () => {
    await until('it listens', async (note) => note((await run([...inNamespace(namespace, ['ss', '-Hltn'])])).stdout).includes(':179 '));
    expect(complaints(running)).toEqual([]);
  });

  test('ends when it is told to', async () => {
    running.process.kill('SIGTERM');
    expect((await running.process.exited).code).toBe(0);
  });
});

describe('each capability is needed:', () => {
  const all = agent.context.capabilities.add ?? [];

  test.each(all.map((name) => [name]))('without %s something is missing, and the agent says so', async (name) => {
    const without = startAgent(
      `without-${name}`,
      all.filter((each) => each !== name),
    );
    await until('it complains', async (note) => note(complaints(without)).length > 0 || !without.process.running, 60_000);
    without.process.kill('SIGTERM');
    await without.process.exited;
  });
});

/** What the kernel did not let it do, in its log and in its report. */
function complaints({ process: agentProcess, data }: ReturnType<typeof startAgent>): string[] {
  const report = ((): string => {
    try {
      return readFileSync(join(data, '.herald/nodes/node1.yaml'), 'utf8');
    } catch {
      return '';
    }
  })();
  return [...agentProcess.lines(), ...report.split('\n')].filter((line) =>
    /CAP_[A-Z]+|EPERM|EACCES|EROFS|not permitted|read-only|denied/i.test(line),
  );
}
