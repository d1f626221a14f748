import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../../lab/command.ts';
import type { LabProcess } from '../../lab/lab-process.ts';
import { inNamespace, ip } from '../../lab/namespace.ts';
import { until } from '../../lab/until.ts';
import { confined, type SecurityContext } from './confined.ts';
import type { Image } from './image.ts';
import { foreground } from '../foreground.ts';
import { shipped } from '../manifests.ts';

const project = join(import.meta.dirname, '../../..');
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

/** Returns the arguments of the only container, and its security context combined with its pod's. */
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

/** Starts an agent as the DaemonSet does, except that its objects come from a directory. */
function startAgent(name: string, capabilities: readonly string[]): { process: LabProcess; data: string } {
  const data = join(directory, name);
  mkdirSync(data);
  writeFileSync(join(data, 'all.yaml'), manifests);
  const context = { ...agent.context, capabilities: { drop: ['ALL'], add: capabilities } };
  const args = [
    ...agent.args.map((each) => each.replace('$(NODE_NAME)', 'node1').replace('$(POD_NAMESPACE)', 'herald-system')),
    '--source=/data',
  ];
  const argv = inNamespace(namespace, confined(image, context, mounts(data), args));
  return { process: foreground(argv, join(directory, `${name}.log`)), data };
}

/** Runs the image's program with the security context of the controller, as an unprivileged user. */
const asController = (...args: string[]): Promise<{ stdout: string; stderr: string; code: number }> =>
  run(confined(image, containerOf('base/controller.yaml').context, [], args), { check: false });

/**
 * Runs the program of an image as the manifests say: with their capabilities and a read-only root. `build` is called once, before the tests;
 * the image is removed after them.
 */
export function testImage(build: () => Promise<Image>, version: string): void {
  beforeAll(async () => {
    image = await build();
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

  describe('the image', () => {
    test('the image has the program and runs it as a user without rights', async () => {
      expect(image.user).toBe('65532:65532');
      const { stdout, code } = await asController('--version');
      expect(code).toBe(0);
      expect(stdout.trim()).toBe(version);
    });

    test('the image has the bundled program, Node.js and koffi, their licences, and nothing else', () => {
      expect(readdirSync(join(image.root, 'opt/herald/node_modules')).toSorted()).toEqual(['.bin', '@koromix', 'koffi']);
      expect(readdirSync(join(image.root, 'opt/herald')).toSorted()).toEqual([
        'LICENSE',
        'LICENSE-nodejs',
        'bin',
        'node_modules',
        'package.json',
        'program',
        'sbom.cdx.json',
      ]);
      expect(readdirSync(join(image.root, 'opt/herald/program'))).toContain('THIRD-PARTY-LICENSES');
    });

    const variants = ['iptables-nft', 'iptables-legacy', 'ip6tables-nft', 'ip6tables-legacy'];
    const tools = ['nft', 'ip', 'conntrack', 'ipset', 'ipvsadm', ...variants.flatMap((tool) => [`${tool}-save`, `${tool}-restore`])];

    test.each(tools)('the image has %s, which the agent runs', (tool) => {
      expect(['usr/sbin', 'usr/bin'].some((directory) => existsSync(join(image.root, directory, tool)))).toBe(true);
    });

    test('the image lists its components in CycloneDX', () => {
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

    test('the controller reports without a stack trace that it has no cluster', async () => {
      const { code, stderr } = await asController('controller');
      expect(code).toBe(1);
      expect(stderr).toContain('this is not a pod');
      expect(stderr).not.toMatch(/^ +at /m);
    });

    test('a mistake on the command line is reported without a stack trace', async () => {
      const { code, stderr } = await asController('controller', '--unknown');
      expect(code).toBe(64);
      expect(stderr).toContain("unknown option '--unknown'");
      expect(stderr).not.toMatch(/^ +at /m);
    });
  });

  describe('an agent with the rights of the DaemonSet', () => {
    let running: ReturnType<typeof startAgent>;

    test('the agent starts with a read-only root', async () => {
      running = startAgent('all', agent.context.capabilities.add ?? []);
      await expect(running.process.waitForLine(/agent started/)).resolves.toBeDefined();
    });

    test('the agent programs Services', async () => {
      const { stdout } = await run([...inNamespace(namespace, ['nft', 'list', 'ruleset'])]);
      expect(stdout).toContain('table ip herald');
      expect(stdout).toContain('10.96.0.10');
    });

    test('the agent changes kernel settings, although /proc/sys is read-only in its container', async () => {
      for (const name of ['net.ipv4.ip_forward', 'net.ipv6.conf.all.forwarding']) {
        expect((await run([...inNamespace(namespace, ['sysctl', '-n', name])])).stdout.trim()).toBe('1');
      }
    });

    test('the agent listens on port 179 and meets no missing right', async () => {
      await until('the agent listens', async (note) =>
        note((await run([...inNamespace(namespace, ['ss', '-Hltn'])])).stdout).includes(':179 '),
      );
      expect(complaints(running)).toEqual([]);
    });

    test('the agent ends with status 0 on SIGTERM', async () => {
      running.process.kill('SIGTERM');
      expect((await running.process.exited).code).toBe(0);
    });
  });

  describe('an agent that lacks one capability', () => {
    const all = agent.context.capabilities.add ?? [];

    test.each(all.map((name) => [name]))('the agent reports what fails without %s', async (name) => {
      const without = startAgent(
        `without-${name}`,
        all.filter((each) => each !== name),
      );
      await until('the agent reports a missing right', async (note) => note(complaints(without)).length > 0 || !without.process.running);
      without.process.kill('SIGTERM');
      await without.process.exited;
    });
  });
}

/** Returns the lines of the agent's log and report that name a missing right. */
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
