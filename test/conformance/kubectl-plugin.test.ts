import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { run, type CommandResult } from '../lab/command.ts';
import { until } from '../lab/until.ts';
import { Clients, succeeded } from './clients.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import type { KubernetesCluster } from './cluster.ts';
import { apply, configurationKinds, definition, shipped } from './manifests.ts';
import { programPath } from './programs.ts';

/** Installs `kubectl herald` as a user does, as one program in its own directory that kubectl finds, and runs it against an API server. */
const root = join(import.meta.dirname, '../..');
const directory = mkdtempSync(join(tmpdir(), 'herald-plugin-'));
const built = join(directory, 'built');
const installed = join(directory, 'installed');
const plugins = join(directory, 'plugins');
const uri = 'https://git.example.org/herald/releases/kubectl-herald.tar.gz';
let cluster: KubernetesCluster;
let clients: Clients;

const ours = (kind: string, name: string, spec: object): object => ({ apiVersion: 'herald.dev/v1alpha1', kind, metadata: { name }, spec });
const objects = [
  { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1' } },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default' },
    spec: { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald', ports: [{ port: 80 }] },
  },
  ours('IPAddressPool', 'main', { addresses: ['192.0.2.0/30'], autoAssign: false }),
  ours('BGPPeer', 'tor', { myASN: 64_512, peerASN: 64_513, peerAddress: '198.51.100.1' }),
];

beforeAll(async () => {
  await run([process.execPath, 'scripts/build-kubectl.ts', '--folder', built, '--uri', uri], { cwd: root, timeoutMs: 300_000 });
  // As krew installs it: unpacked in a directory, with a link on the PATH.
  for (const one of [installed, plugins]) mkdirSync(one);
  const archive = readdirSync(built).find((file) => file.startsWith('kubectl-herald-linux-')) ?? '';
  await run(['tar', '-xzf', join(built, archive), '-C', installed]);
  symlinkSync(join(installed, 'kubectl-herald'), join(plugins, 'kubectl-herald'));
  cluster = await borrowCluster();
  clients = new Clients(cluster);
  for (const kind of configurationKinds) await apply(cluster, definition(kind));
  await apply(cluster, ...shipped('base/namespace.yaml'));
  await until('every object is accepted', async () => {
    await apply(cluster, ...objects);
    return true;
  });
});

afterAll(async () => {
  await cluster?.stop();
  clients?.remove();
  rmSync(directory, { recursive: true, force: true });
});

/** Runs the plugin where there is no Node.js, nor any other program, on the PATH. */
const herald = (...args: readonly string[]): Promise<CommandResult> =>
  clients.run(['/usr/bin/env', `PATH=${plugins}`, programPath('kubectl'), 'herald', ...args]);

test('the archive has only the plugin file and licences', () => {
  expect(readdirSync(installed).toSorted()).toEqual(['LICENSE', 'THIRD-PARTY-LICENSES', 'kubectl-herald']);
  const licences = readFileSync(join(installed, 'THIRD-PARTY-LICENSES'), 'utf8');
  for (const name of ['commander', 'yaml', '@kubernetes/client-node']) expect(licences).toContain(`\n${name} `);
  expect(licences).toContain('Node.js is licensed for use as follows');
  // The agent and the controller need these packages, and a single file cannot contain them.
  for (const name of ['koffi', 'pino', 'prom-client']) expect(licences).not.toContain(`\n${name} `);
});

test('the krew manifest has the address and checksum of this archive', () => {
  const manifest = parse(readFileSync(join(built, 'herald.yaml'), 'utf8')) as { spec: { platforms: { uri: string; sha256: string }[] } };
  const sha256 = createHash('sha256')
    .update(readFileSync(join(built, 'kubectl-herald.tar.gz')))
    .digest('hex');
  expect(manifest.spec.platforms.at(-1)).toMatchObject({ uri, sha256, bin: 'kubectl-herald' });
});

test('a download address that krew cannot use is refused', async () => {
  const { code, stderr } = await run([process.execPath, 'scripts/build-kubectl.ts', '--folder', built, '--uri', 'kubectl-herald.zip'], {
    cwd: root,
    check: false,
  });
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('must be https://') });
});

test('kubectl completes names of objects of the plugin', async () => {
  const program = join(plugins, 'kubectl_complete-herald');
  await run(['tee', program], { input: (await herald('completion', 'kubectl')).stdout });
  chmodSync(program, 0o755);
  const path = `${plugins}:${dirname(programPath('kubectl'))}`;
  const { stdout } = await clients.run([programPath('kubectl'), '__complete', 'herald', 'explain', 'pool', ''], { path });
  expect(stdout).toBe('main\n:4\n');
});

test('kubectl lists the plugin', async () => {
  const { stdout } = await clients.run([programPath('kubectl'), 'plugin', 'list'], { path: `${plugins}:${dirname(process.execPath)}` });
  expect(stdout).toContain('kubectl-herald');
});

describe('kubectl herald', () => {
  test('the plugin explains a Service', async () => {
    const { stdout, stderr, code } = await herald('explain', 'service', 'default/web');
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toContain('default/web');
    expect(stdout).toContain('main');
  });

  test.each(['status', 'peers', 'routes', 'pools'])('the plugin prints the table %s', async (table) => {
    const { code, stderr } = await herald(table, '-o', 'json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  test('history names the processes that it could not query', async () => {
    const { stdout, code } = await herald('history', 'service', 'default/web', '-o', 'json');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      kind: 'Service',
      name: 'default/web',
      unasked: [{ why: expect.stringContaining('no pods') }],
    });
  });

  test('history prints YAML, and --watch ends when no process can be queried', async () => {
    const { stdout, stderr, code } = await herald('history', 'peer', 'tor', '-o', 'yaml', '--watch');
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(parse(stdout)).toMatchObject({ kind: 'BGPPeer', name: 'tor', told: [], unasked: [{ why: expect.stringContaining('no pods') }] });
  });

  test("a provider module is loaded, and gets Herald's functions from the one file", async () => {
    const module = join(directory, 'acme.mjs');
    await writeFile(
      module,
      `import { createProvider as make } from ${JSON.stringify(join(root, 'examples/provider/provider.ts'))};
       export const createProvider = (components) => make({ ...components, variables: { BALANCER_API: 'http://127.0.0.1:1' } });`,
    );
    const { stdout, stderr, code } = await herald('explain', 'service', 'default/web', '--provider', module);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('not example: spec.loadBalancerClass is "herald.dev/herald"');
  });

  test('bundle writes an archive', async () => {
    const file = join(directory, 'bundle.tar.gz');
    expect((await herald('bundle', '-o', file, '--host', 'never')).code).toBe(0);
    const { stdout } = await run(['tar', '-tzf', file]);
    expect(stdout).toContain('objects/IPAddressPool.json');
  });

  test('bgp trace connects to the socket of an agent', async () => {
    const { stderr, code } = await herald('bgp', 'trace', '--peer', 'tor', '--socket', join(directory, 'none.sock'));
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no socket') });
  });

  test('plan shows what an edit would change', async () => {
    const manifest = join(directory, 'pool.yaml');
    const { stdout: pool } = await clients.kubectl('get', 'ipaddresspool', 'main', '-o', 'yaml');
    await run(['tee', manifest], { input: pool.replace('autoAssign: false', 'autoAssign: true') });
    const { stdout, code } = await herald('plan', '-f', manifest);
    expect(code).toBe(2);
    expect(stdout).toMatch(/default\/web: none -> 192\.0\.2\.\d/);
  });

  test('ui serves the console of the cluster with its page, until Ctrl-C', async () => {
    const env = { PATH: plugins, HOME: clients.directory, KUBECONFIG: join(clients.directory, 'kubeconfig') };
    const running = spawn(programPath('kubectl'), ['herald', 'ui', '--no-open'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(running, 'exit');
    try {
      const address = await addressIn(createInterface({ input: running.stdout }));
      const entered = await fetch(address);
      const headers = { Cookie: entered.headers.get('set-cookie')?.split(';')[0] ?? '' };
      const page = await (await fetch(new URL('/', address), { headers })).text();
      const [script = ''] = /\/[^"]+\.js/.exec(page) ?? [];
      const file = await fetch(new URL(script, address), { headers });
      expect({ status: file.status, type: file.headers.get('content-type') }).toMatchObject({
        status: 200,
        type: expect.stringContaining('javascript'),
      });
      const services = await fetch(new URL('/api/services', address), { headers });
      expect(await services.json()).toMatchObject({ kind: 'cluster', rows: [{ namespace: 'default', name: 'web', outcome: 'notServed' }] });
    } finally {
      running.kill('SIGINT');
    }
    expect(await ended).toEqual([0, null]);
  });

  test('drain writes the annotation', async () => {
    expect((await herald('drain', 'node1', '--wait=false')).code).toBe(0);
    const annotation = '{.metadata.annotations.herald\\.dev/drain}';
    expect(succeeded(await clients.kubectl('get', 'node', 'node1', '-o', `jsonpath=${annotation}`))).toBe('true');
  });

  test("import translates MetalLB's objects", async () => {
    const manifest = join(directory, 'metallb.yaml');
    const theirs =
      'apiVersion: metallb.io/v1beta1\nkind: IPAddressPool\nmetadata: { name: old, namespace: metallb-system }\nspec: { addresses: [203.0.113.0/24] }\n';
    await run(['tee', manifest], { input: theirs });
    const { stdout } = await herald('import', 'metallb', '-f', manifest);
    expect(stdout).toContain('203.0.113.0/24');
  });

  test('the commands of agent and controller are missing', async () => {
    const { code, stderr } = await herald('agent', '--node', 'node1');
    expect({ code, stderr }).toMatchObject({ code: 64, stderr: expect.stringContaining("unknown command 'agent'") });
  });

  test('the file for other systems names the Node.js version that it needs when an older one comes first', async () => {
    const [old, file] = [join(directory, 'old'), join(directory, 'file')];
    for (const one of [old, file]) mkdirSync(one);
    await run(['tar', '-xzf', join(built, 'kubectl-herald.tar.gz'), '-C', file]);
    // Stands for an old Node.js: it runs the beginning of the file with version 22.1.0.
    await run(['tee', join(old, 'node')], {
      input: `#!/bin/sh\nexec ${process.execPath} --import 'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"22.1.0"})' "$@"\n`,
    });
    chmodSync(join(old, 'node'), 0o755);
    const { code, stderr } = await clients.run([programPath('kubectl'), 'herald', 'status'], { path: `${file}:${old}` });
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('needs Node.js 24 or later') });
  });
});

async function addressIn(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) {
    const found = /http:\S+/.exec(line)?.[0];
    if (found !== undefined) return found;
  }
  throw new Error('the plugin printed no address');
}
