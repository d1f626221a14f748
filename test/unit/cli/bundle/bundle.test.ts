import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, globSync, statSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { bundleCommand } from '../../../../src/cli/bundle/bundle-command.ts';
import { Bundle } from '../../../../src/cli/bundle/bundle.ts';
import { isAgent } from '../../../../src/cli/bundle/host-parts.ts';
import { Redaction } from '../../../../src/cli/reading/redaction.ts';
import { explainCommand } from '../../../../src/cli/commands/explain-command.ts';
import { systemClock } from '../../../../src/system/clock.ts';
import { FabricCluster } from '../fabric-cluster.ts';
import { inProcess } from '../in-process.ts';
import { discard, scratch, type Outcome } from '../program.ts';

/** A bundle must contain none of these, wherever they appear. */
const secrets = {
  field: 'field-secret-1',
  object: 'object-secret-2',
  applied: 'applied-secret-3',
  variable: 'variable-secret-4',
  url: 'url-secret-5',
  argument: 'argument-secret-6',
  token: 'token-secret-7',
};
const nowhere = ['--socket', '/nonexistent/agent.sock', '--host', 'never'];
const pods = '/api/v1/namespaces/herald-system/pods/herald-agent-1';

let directory: string;
beforeEach(async () => {
  directory = await scratch();
});
afterEach(() => discard(directory));

/** Unpacks an archive with the system's tar and returns its files by path. */
async function unpacked(archive: string): Promise<Map<string, string>> {
  const into = join(directory, 'unpacked');
  await mkdir(into);
  execFileSync('tar', ['-xzf', archive, '-C', into]);
  const files = globSync('*/**/*.*', { cwd: into }).filter((file) => statSync(join(into, file)).isFile());
  return new Map(files.map((file) => [file.split('/').slice(1).join('/'), readFileSync(join(into, file), 'utf8')]));
}

function expectNoSecrets(files: ReadonlyMap<string, string>): void {
  const found = [...files].flatMap(([file, text]) =>
    Object.values(secrets)
      .flatMap((secret) => [secret, Buffer.from(secret).toString('base64')])
      .filter((form) => text.includes(form))
      .map((form) => `${file}: ${form}`),
  );
  expect(found).toEqual([]);
}

const peerWith = (name: string): object => ({
  apiVersion: 'herald.dev/v1alpha1',
  kind: 'BGPPeer',
  metadata: {
    name,
    annotations: {
      'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ kind: 'BGPPeer', spec: { password: secrets.applied } }),
    },
  },
  spec: { myASN: 64512, peerASN: 65009, peerAddress: '192.0.2.9', password: secrets.field },
});

describe('herald bundle of a cluster', () => {
  let cluster: FabricCluster;
  beforeEach(async () => {
    cluster = await FabricCluster.start();
    cluster.put(peerWith('planted') as Parameters<FabricCluster['put']>[0]);
    cluster.put({
      apiVersion: 'herald.dev/v1alpha1',
      kind: 'BGPPeer',
      metadata: { name: 'by-secret' },
      spec: { myASN: 64512, peerASN: 65009, peerAddress: '192.0.2.8', passwordSecret: { name: 'tor-md5', namespace: 'herald-system' } },
    });
    const secret = {
      metadata: { name: 'tor-md5', namespace: 'herald-system', resourceVersion: '7' },
      type: 'kubernetes.io/basic-auth',
      data: { password: Buffer.from(secrets.object).toString('base64') },
    };
    cluster.server.texts.set('/api/v1/namespaces/herald-system/secrets/tor-md5', JSON.stringify(secret));
    cluster.edit('web', ({ metadata }) => ({
      metadata: { ...(metadata as object), annotations: { 'example.com/hook': `https://user:${secrets.url}@example.com/` } },
    }));
    cluster.server.texts.set('/version', '{"gitVersion":"v1.99.0"}');
    const labels = { 'app.kubernetes.io/name': 'herald', 'app.kubernetes.io/component': 'agent' };
    cluster.server.put(
      '/api/v1/pods',
      'herald-agent-1',
      {
        metadata: { name: 'herald-agent-1', namespace: 'herald-system', labels },
        status: { phase: 'Running' },
        spec: {
          nodeName: 'node1',
          containers: [
            {
              name: 'agent',
              args: ['agent', '--token', secrets.argument],
              env: [{ name: 'HTTPS_PROXY', value: secrets.variable }],
              ports: [{ name: 'metrics', containerPort: 10_290 }],
            },
          ],
        },
      },
      'herald-system',
    );
    const log = [
      `{"msg":"peer password is ${secrets.object}"}`,
      `{"msg":"asked https://user:${secrets.url}@example.com","token":"${secrets.token}"}`,
      '{"msg":"session established","peer":"tor1"}',
    ];
    cluster.server.texts.set(`${pods}/log`, log.join('\n'));
    cluster.server.texts.set(`${pods}:10290/proxy/metrics`, 'herald_bgp_session_up{peer="tor1"} 1\n');
    const process = { command: 'agent', version: '0', node: 'node1', started: '2026-01-01T00:00:00Z' };
    cluster.server.texts.set(`${pods}:10290/proxy/live`, JSON.stringify({ process, paths: ['/live/v1/sessions', '/live/v1/history'] }));
    cluster.server.absent.add(`${pods}:10290/proxy/live/v1/history`);
    cluster.server.texts.set(`${pods}:10290/proxy/live/v1/sessions`, JSON.stringify({ process, at: '', items: [{ peer: 'tor1' }] }));
  });
  afterEach(() => cluster.stop());

  const bundle = (...words: readonly string[]): Promise<Outcome> => cluster.herald(bundleCommand, [...nowhere, ...words]);

  test('the bundle has objects, decisions, logs, metrics and the live API, and no planted secret', async () => {
    const archive = join(directory, 'b.tar.gz');
    const { code, stdout, stderr } = await bundle('-o', archive);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toContain('herald: explanations ...\n');
    expect(stderr).toContain(`herald: ${archive}, `);
    expect(statSync(archive).mode & 0o777).toBe(0o600);
    const files = await unpacked(archive);
    expectNoSecrets(files);
    expect([...files.keys()]).toEqual(
      expect.arrayContaining(['README.txt', 'bundle.json', 'objects/BGPPeer.json', 'objects/EndpointSlice.json', 'tables/status.txt']),
    );
    expect(files.has('objects/Secret.json')).toBe(false);
    expect(files.get('objects/BGPPeer.json')).toContain('"password":"REMOVED"');
    expect(files.get('objects/BGPPeer.json')).toContain('"passwordSecret":{"name":"tor-md5"');
    expect(files.get('explain/shop/web.txt')).toContain('Service shop/web (LoadBalancer)');
    expect(files.get('cluster/herald-agent-1/agent.log')).toContain('session established');
    expect(files.get('cluster/herald-agent-1/metrics.txt')).toContain('herald_bgp_session_up');
    expect(files.get('cluster/version.json')).toContain('v1.99.0');
    expect(JSON.parse(files.get('live/the-agent-of-node1/sessions.json') ?? '')).toMatchObject({ items: [{ peer: 'tor1' }] });
    // Logs come after the live API, because they may take all the room.
    expect(stderr.indexOf('/live/v1/sessions of the agent of node1 ...')).toBeLessThan(stderr.indexOf('log of herald-agent-1 ...'));
    // The bundle reports what failed.
    expect(files.get('README.txt')).toContain('/live/v1/history of the agent of node1: ');
    expect(JSON.parse(files.get('bundle.json') ?? '')).toMatchObject({ herald: expect.any(String), parts: expect.any(Array) });
    expect(cluster.server.methods).toEqual(new Set(['GET']));
  });

  test('herald explain reads the objects of the bundle', async () => {
    const archive = join(directory, 'b.tar.gz');
    await bundle('-o', archive);
    await unpacked(archive);
    const [objects = ''] = globSync(join(directory, 'unpacked/*/objects'));
    const { code, stdout, stderr } = await inProcess(explainCommand, ['service', 'shop/web', '-f', objects]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Endpoints  3 ready');
  });

  test('a caller without the right to one part gets the other parts, and a note of what is missing', async () => {
    cluster.server.forbidden.add('/apis/events.k8s.io/v1/events');
    cluster.server.forbidden.add(`${pods}/log`);
    const archive = join(directory, 'b.tar.gz');
    const { code, stderr } = await bundle('-o', archive);
    expect(code).toBe(0);
    expect(stderr).toMatch(/herald: \d parts are missing or incomplete/);
    const readme = (await unpacked(archive)).get('README.txt') ?? '';
    expect(readme).toMatch(/Events: .*forbidden/);
    expect(readme).toMatch(/log of herald-agent-1: .*forbidden/);
  });

  test('an unreachable cluster and an unwritable file are reported as errors', async () => {
    expect(await bundle('-o', '/nonexistent/b.tar.gz')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('herald: /nonexistent/b.tar.gz cannot be written: ENOENT'),
    });
    cluster.server.refuseAll = true;
    expect(await bundle('-o', join(directory, 'b.tar.gz'))).toMatchObject({ code: 1, stderr: expect.stringContaining('503') });
  });
});

test('the bundle of a directory has its objects and records without secrets, broken objects included', async () => {
  const manifests = await scratch('10-cluster.yaml', '20-herald.yaml', '30-web.yaml');
  try {
    await writeFile(join(manifests, 'peer.yaml'), JSON.stringify(peerWith('planted')));
    await writeFile(join(manifests, 'broken.yaml'), `kind: BGPPeer\nspec:\n  pasword: ${secrets.url}\n`);
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { password: secrets.object } };
    await writeFile(join(manifests, 'secret.yaml'), JSON.stringify(secret));
    await mkdir(join(manifests, '.herald/nodes'), { recursive: true });
    await writeFile(join(manifests, '.herald/nodes/node1.yaml'), `lastError: refused ${secrets.object}\n`);
    const archive = join(directory, 'b.tar.gz');
    const { code } = await inProcess(bundleCommand, [...nowhere, '--source', manifests, '-o', archive]);
    expect(code).toBe(0);
    const files = await unpacked(archive);
    expectNoSecrets(files);
    expect(files.get('objects/BGPPeer.json')).toContain('"pasword":"REMOVED"');
    expect(files.get('records/nodes/node1.yaml')).toBe('lastError: refused REMOVED\n');
    expect(files.get('README.txt')).toContain('Nothing is missing.');
  } finally {
    await discard(manifests);
  }
});

test('bundle reports a missing directory and writes nothing, also on a node', async () => {
  const archive = join(directory, 'b.tar.gz');
  expect(await inProcess(bundleCommand, [...nowhere, '--source', '/no/such/place', '--host', 'always', '-o', archive])).toEqual({
    code: 1,
    stdout: '',
    stderr: 'herald: there is no directory /no/such/place\n',
  });
  expect(existsSync(archive)).toBe(false);
});

test("the host part has the kernel's tables and settings, and lists what it could not collect", async () => {
  const archive = join(directory, 'b.tar.gz');
  const words = ['--socket', '/nonexistent/agent.sock', '--host', 'always', '--source', 'examples/fabric', '-o', archive];
  const other = spawn('sh', ['-c', 'echo; read line', 'herald', '--token', secrets.argument], { stdio: ['pipe', 'pipe', 'ignore'] });
  try {
    await once(other.stdout, 'data');
    expect((await inProcess(bundleCommand, words)).code).toBe(0);
  } finally {
    other.kill();
  }
  const files = await unpacked(archive);
  expectNoSecrets(files);
  expect(files.get('host/processes.txt')).toContain(`${other.pid} sh -c echo; read line herald --token REMOVED`);
  expect(files.get('host/settings.txt')).toMatch(/^net\.ipv4\.ip_forward = [01]$/m);
  expect(files.get('README.txt')).toContain('the agent of this host: there is no socket /nonexistent/agent.sock');
});

/** Makes a bundle of a host on which some programs are replaced by scripts. */
async function whereProgramsSay(programs: Readonly<Record<string, string>>, ...words: readonly string[]): Promise<Map<string, string>> {
  const folder = join(directory, 'programs');
  await mkdir(folder);
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(folder, name), 0o755);
  }
  const archive = join(directory, 'b.tar.gz');
  vi.stubEnv('PATH', `${folder}:${process.env['PATH']}`);
  try {
    expect((await inProcess(bundleCommand, ['--socket', '/nonexistent/agent.sock', ...words, '-o', archive])).code).toBe(0);
  } finally {
    vi.unstubAllEnvs();
  }
  return unpacked(archive);
}

test('the bundle never asks ss for TCP MD5 keys, as it could not redact them without the Secret', async () => {
  // Like ss as root: with -i it prints the key of each session in clear text.
  const ss = `case "$1" in *i*) printf '%s' ${secrets.object} ;; esac\necho "ESTAB 0 0 10.1.0.2:40000 10.1.0.1:179 timer:(keepalive,9sec,0)"`;
  const files = await whereProgramsSay({ ss }, '--host', 'always', '--source', 'examples/fabric');
  expectNoSecrets(files);
  expect(files.get('host/tcp-179.txt')).toContain('timer:(keepalive');
});

test('the bundle keeps the latest history entries and the first items of other lists, for every process', async () => {
  const bundle = new Bundle({ clock: systemClock, redaction: new Redaction(), progress: () => undefined });
  const items = Array.from({ length: 20 }, (_, index) => ({ index, text: 'x '.repeat(600_000), password: secrets.field }));
  bundle.addList('live/a/history.json', { more: false }, items, 'last');
  bundle.addList('live/a/routes.json', { more: false }, items, 'first');
  bundle.addList('live/b/history.json', { more: false }, items, 'last');
  const archive = join(directory, 'b.tar.gz');
  await writeFile(archive, await bundle.archive('b', {}));
  const files = await unpacked(archive);
  expectNoSecrets(files);
  const indexes = (file: string): number[] =>
    (JSON.parse(files.get(file) ?? '') as { items: { index: number }[] }).items.map(({ index }) => index);
  expect(indexes('live/a/history.json')).toEqual([7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
  expect(indexes('live/a/routes.json')).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(indexes('live/b/history.json')).toEqual([17, 18, 19]);
  expect(files.get('README.txt')).toContain('live/a/history.json: the first 7 of 20 items are left out: they do not fit');
});

test('nftables tables identify a node without an agent socket, also when the cluster is unreachable', async () => {
  const kubeconfig = join(directory, 'kubeconfig');
  await writeFile(kubeconfig, '');
  const files = await whereProgramsSay({ nft: 'echo "table inet herald"' }, '--kubeconfig', kubeconfig);
  expect(files.get('host/nft-inet-herald.txt')).toBe('table inet herald\n');
  expect(files.get('README.txt')).toContain('objects: ');
});

test.each([
  [['/usr/bin/node', '/opt/herald/src/cli/main.js', 'agent', '--node', 'node1'], true],
  [['/opt/herald/node_modules/.bin/node', '/opt/herald/program/herald.js', 'agent', '--node', 'node1'], true],
  [['/usr/local/bin/herald', 'run', '/etc/herald'], true],
  [['node', 'src/cli/main.ts', 'bundle'], false],
  [['herald', 'controller'], false],
  [['vi', 'herald', 'agents'], false],
])('the command line identifies an agent: %j', (words, expected) => {
  expect(isAgent(words)).toBe(expected);
});
