import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');
/** The directory of a program that uses the package and has nothing else, neither koffi nor Herald. */
let consumer: string;
let built: string;

beforeAll(() => {
  consumer = mkdtempSync(join(tmpdir(), 'herald-bgp-'));
  built = join(consumer, 'node_modules/herald-bgp');
  // In place of an earlier build.
  mkdirSync(built, { recursive: true });
  writeFileSync(join(built, 'package.json'), '{ "name": "herald-bgp" }');
  writeFileSync(join(built, 'earlier.js'), '');
  build(built);
  writeFileSync(join(consumer, 'package.json'), '{ "type": "module" }');
});

afterAll(() => rmSync(consumer, { recursive: true }));

function build(folder: string): void {
  execFileSync(process.execPath, [join(root, 'scripts/build-library.ts'), 'bgp', folder], { encoding: 'utf8', stdio: 'pipe' });
}

/** Runs a program in the consumer directory with plain Node and parses its output as JSON. */
function run(program: string): unknown {
  writeFileSync(join(consumer, 'program.js'), program);
  return JSON.parse(execFileSync(process.execPath, ['program.js'], { cwd: consumer, encoding: 'utf8', timeout: 30_000 }));
}

test("inside the repository the package's names resolve to the source", async () => {
  const [source, testing, wire] = await Promise.all([import('herald-bgp'), import('herald-bgp/testing'), import('herald-bgp/wire')]);
  expect(source.Speaker).toBe((await import('../../../src/bgp/index.ts')).Speaker);
  expect([typeof testing.VirtualClock, typeof wire.decodeOpen]).toEqual(['function', 'function']);
});

test('the package holds the compiled library, its leaf rooms, types, README and licence', () => {
  const files = globSync('**/*.*', { cwd: built });
  expect(new Set(files.filter((file) => file.includes('/')).map((file) => file.split('/')[0]))).toEqual(
    new Set(['bgp', 'lang', 'net', 'system']),
  );
  expect(files.filter((file) => !/\.(?:d\.ts|js)$/.test(file)).toSorted()).toEqual(['README.md', 'package.json']);
  expect(readFileSync(join(built, 'LICENSE'), 'utf8')).toContain('Apache License');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  expect(JSON.parse(readFileSync(join(built, 'package.json'), 'utf8'))).toMatchObject({ name: 'herald-bgp', version });
});

test('every import is inside the package, of Node, or of koffi', () => {
  const foreign = globSync('**/*.{js,d.ts}', { cwd: built }).flatMap((file) => {
    const targets = readFileSync(join(built, file), 'utf8').matchAll(/^\s*(?:import|export)\b[^'";]*?from '([^']+)'/gm);
    return [...targets].map(([, target = '']) => target).filter((target) => !/^(?:\.{1,2}\/|node:|koffi$)/.test(target));
  });
  expect(foreign).toEqual([]);
});

test('the README has no link to a place outside the package', () => {
  const text = readFileSync(join(built, 'README.md'), 'utf8');
  expect(text).not.toContain('](../');
  expect(text).not.toContain('herald/bgp');
});

test('the entry of the speaker loads no extension', () => {
  const seen = new Set<string>();
  const load = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    const targets = readFileSync(file, 'utf8').matchAll(/^\s*(?:import|export)\b[^'";]*?from '(\.[^']+)'/gm);
    for (const [, target = ''] of targets) load(join(file, '..', target));
  };
  load(join(built, 'bgp/index.js'));
  expect(seen.size).toBeGreaterThan(50);
  expect([...seen].filter((file) => file.includes('/extensions/'))).toEqual([]);
});

test('plain Node imports the codec', () => {
  const program = `
    import { decodeOpen, encodeOpen, Framer } from 'herald-bgp/wire';
    const framer = new Framer();
    framer.push(encodeOpen({ version: 4, asn: 64512, holdTime: 9, routerId: 0x0a00000b, capabilities: [{ kind: 'routeRefresh' }] }));
    const { type, body } = framer.next();
    console.log(JSON.stringify({ type, open: decodeOpen(body).value }));
  `;
  expect(run(program)).toEqual({
    type: 1,
    open: { version: 4, asn: 64512, holdTime: 9, routerId: 0x0a00000b, capabilities: [{ kind: 'routeRefresh' }] },
  });
});

/** Returns an example of the README as it is written there. */
function example(index: 0 | 1 | 2): string {
  const examples = readFileSync(join(built, 'README.md'), 'utf8').matchAll(/```ts\n(.*?)```/gs);
  return [...examples][index]?.[1] ?? '';
}

/** The begin of a module that replaces the package: a network in memory, with a router at 10.0.0.1. */
const network = `
  import { parseAddress, Speaker as RealSpeaker } from 'herald-bgp';
  export { formatPrefix } from 'herald-bgp';
  import { MemoryNetwork } from 'herald-bgp/testing';
  const after = (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  };
  const network = new MemoryNetwork({ now: () => performance.now(), date: () => new Date(), after });
  const host = (address) => network.host([parseAddress(address).value]);
  const transport = host('10.0.0.11');
  export class Speaker extends RealSpeaker {
    constructor(options) {
      super({ ...options, transport });
    }
  }
  const routerAt = (address) => new RealSpeaker({ asn: 65001, routerId: address, listen: [{}], transport: host(address) });
  const router = routerAt('10.0.0.1');
  const node = router.addPeer({ address: '10.0.0.11', peerAsn: 64512, passive: true });
`;

/** The router shuts the session down when it has the route. */
const shutsDown = `${network}
  node.on('endOfRib', () => {
    const { ipv4 } = node.status().prefixesReceived;
    setTimeout(() => router.stop({ message: \`\${ipv4} route received\` }), 20);
  });
`;

/** This router and another one announce a default route, which both rules accept, and another route, which they refuse. */
const announces = `${network}
  const other = routerAt('10.0.0.2');
  other.addPeer({ address: '10.0.0.11', peerAsn: 64512, passive: true });
  for (const each of [router, other]) each.rib.set([{ prefix: '0.0.0.0/0', communities: ['65001:7'] }, { prefix: '10.0.0.0/8' }]);
  node.on('down', () => Promise.all([router.stop(), other.stop()]));
`;

test("the README's example has ten lines and prints the output that the README shows", () => {
  expect(
    example(0)
      .split('\n')
      .filter((line) => line !== ''),
  ).toHaveLength(10);
  writeFileSync(join(consumer, 'in-memory.js'), shutsDown);
  writeFileSync(join(consumer, 'example.js'), example(0).replace("'herald-bgp'", "'./in-memory.js'"));
  const printed = execFileSync(process.execPath, ['example.js'], { cwd: consumer, encoding: 'utf8', timeout: 30_000 });
  expect(printed).toMatch(/^established, hold time 9 s$/m);
  expect(printed).toMatch(/type: 'notification'.*name: 'Cease: Administrative Shutdown \(6\/2\)'.*text: '1 route received'/s);
  expect(printed).toMatch(/type: 'down',\s+reason: 'the peer closed the session:/);
});

test("the README's example of received routes prints the output that the README shows", () => {
  writeFileSync(join(consumer, 'in-memory.js'), announces);
  writeFileSync(join(consumer, 'example.js'), example(1).replace("'herald-bgp'", "'./in-memory.js'"));
  const printed = execFileSync(process.execPath, ['example.js'], { cwd: consumer, encoding: 'utf8', timeout: 30_000 });
  const lines = printed.trimEnd().split('\n');
  expect(lines.slice(0, 2).toSorted()).toEqual(['announced 0.0.0.0/0 from 10.0.0.1', 'announced 0.0.0.0/0 from 10.0.0.2']);
  expect(lines.slice(2, 4)).toEqual(['best 10.0.0.2', '10.0.0.1 lost: localPref 100 200']);
  // At the end of the block the speaker stops, and the routes go with the sessions.
  expect(lines.slice(4)).toHaveLength(2);
});

test("the README's test example runs and prints the output in its last comment", () => {
  writeFileSync(join(consumer, 'example.js'), example(2));
  const printed = execFileSync(process.execPath, ['example.js'], { cwd: consumer, encoding: 'utf8', timeout: 30_000 });
  const [, promised = 'nothing'] = /\/\/ (.*)\n$/.exec(example(2)) ?? [];
  expect(printed).toBe(`${promised}\n`);
});

test('a TypeScript program finds the types of all entries', () => {
  mkdirSync(join(consumer, 'node_modules/@types'), { recursive: true });
  for (const name of ['@types/node', 'undici-types']) symlinkSync(join(root, 'node_modules', name), join(consumer, 'node_modules', name));
  const options = {
    module: 'nodenext',
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable'],
    types: ['node'],
    strict: true,
    noEmit: true,
  };
  const program = `
    import { Speaker, type PeerStatus } from 'herald-bgp';
    import { bmp } from 'herald-bgp/bmp';
    import { tcpAo } from 'herald-bgp/tcp-ao';
    import { VirtualClock } from 'herald-bgp/testing';
    import { decodeOpen } from 'herald-bgp/wire';
    export const speaker = new Speaker({ extensions: [bmp({ host: '10.0.0.50', port: 11019 })] });
    speaker.addPeer({ address: '10.0.0.1', peerAsn: 65001, tcpAo: tcpAo([{ sendId: 1, receiveId: 2, secret: 'text' }]) });
    export const status = (speaker: Speaker): PeerStatus[] => speaker.peers.map((peer) => peer.status());
    export const pending: number = new VirtualClock().pending;
    export const { ok } = decodeOpen(new Uint8Array(0));
  `;
  const wrong = program.replace('pending: number', 'pending: string');
  const programs = { program, first: example(0), second: example(1), third: example(2), wrong };
  for (const [name, text] of Object.entries(programs)) writeFileSync(join(consumer, `${name}.ts`), text);
  const files = Object.keys(programs).map((name) => `${name}.ts`);
  writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }));
  const { stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', consumer], { encoding: 'utf8' });
  // The only complaint is the one about the wrong program.
  expect(stdout.match(/^\S.*: error TS\d+/gm)).toEqual([expect.stringMatching(/wrong\.ts.*TS2322$/)]);
});

test('the build refuses to overwrite a folder that holds other files', () => {
  const folder = join(consumer, 'precious');
  mkdirSync(folder);
  writeFileSync(join(folder, 'thesis.txt'), 'years of work');
  expect(() => build(folder)).toThrow('nothing was written');
  expect(readFileSync(join(folder, 'thesis.txt'), 'utf8')).toBe('years of work');
});

test('the build replaces an earlier build of the package', () => {
  expect(existsSync(join(built, 'earlier.js'))).toBe(false);
});
