import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { explainCommand } from '../../../../src/cli/commands/explain-command.ts';
import { planCommand } from '../../../../src/cli/commands/plan-command.ts';
import { poolsCommand } from '../../../../src/cli/commands/tables/pools-command.ts';
import { routesCommand } from '../../../../src/cli/commands/tables/routes-command.ts';
import { statusCommand } from '../../../../src/cli/commands/tables/status-command.ts';
import { DirectorySource } from '../../../../src/sources/directory/directory-source.ts';
import { LastGoodRecorder } from '../../../../src/sources/directory/last-good/last-good-recorder.ts';
import { systemClock } from '../../../../src/system/clock.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { inProcess } from '../in-process.ts';
import { discard, scratch } from '../program.ts';

const fabric = ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml'];
const asked = ['--no-ask'];
let directory: string;

async function edit(change: (text: string) => string): Promise<void> {
  const file = join(directory, '20-herald.yaml');
  await writeFile(file, change(await readFile(file, 'utf8')));
}

const breakPool = (text: string): string => text.replace('198.51.100.10-198.51.100.99', '198.51.100.999');
const mistake = /^problem: 20-herald\.yaml:\d+:\d+: IPAddressPool\/public: spec\.addresses\[0\]: "198\.51\.100\.999"/;
/** The mistake, then what stays in force, then the output. */
const above = (stdout: string): string =>
  stdout
    .split('\n')
    .filter((line) => line.startsWith('problem: '))
    .toSorted((a, b) => Number(mistake.test(b)) - Number(mistake.test(a)))
    .join('\n');

beforeEach(async () => {
  directory = await scratch(...fabric);
  await mkdir(join(directory, '.herald/status/services/shop'), { recursive: true });
  const record = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'shop', name: 'web' },
    status: { loadBalancer: { ingress: [{ ip: '198.51.100.10' }, { ip: '2001:db8:100::10' }] } },
  };
  await writeFile(join(directory, '.herald/status/services/shop/web.yaml'), JSON.stringify(record));
});

afterEach(() => discard(directory));

/** Edits a file while a controller records what stays in force. */
async function editWhileRunning(change: (text: string) => string): Promise<void> {
  const source = new DirectorySource(directory, { clock: systemClock, log: silentLog });
  await source.start();
  const recorder = new LastGoodRecorder(directory, { source, log: silentLog });
  recorder.start();
  const broken = new Promise<void>((resolve) => void source.onProblem(() => resolve()));
  await edit(change);
  await broken;
  await recorder.stop();
  await source.close();
}

describe('a pool whose file an edit broke while a controller ran', () => {
  beforeEach(() => editWhileRunning(breakPool));

  test('stays in force in explain service, which shows the mistake first', async () => {
    const { stdout } = await inProcess(explainCommand, ['service', 'shop/web', '--source', directory, ...asked]);
    expect(stdout).toMatch(/^problem: 20-herald\.yaml:/);
    expect(above(stdout)).toMatch(mistake);
    expect(above(stdout)).toMatch(/; its last good version stays in force$/);
    expect(above(stdout).split('\n')).toHaveLength(1);
    expect(stdout).toContain('198.51.100.10 (pool public), 2001:db8:100::10 (pool public)');
    expect(stdout).not.toContain('is not announced');
    expect(stdout).not.toContain('delete');
  });

  test.each([
    ['explain pool', explainCommand, ['pool', 'public'], /2001:db8:100::10/],
    ['pools', poolsCommand, [], /public/],
    ['routes', routesCommand, asked, /198\.51\.100\.10\/32/],
    ['status', statusCommand, [], /public/],
  ])('stays in force in %s, which shows the mistake first', async (_, command, words, shown) => {
    const { stdout } = await inProcess(command, [...words, '--source', directory]);
    expect(stdout).toMatch(/^problem: 20-herald\.yaml:/);
    expect(above(stdout)).toMatch(mistake);
    expect(stdout).toMatch(shown);
    expect(stdout).not.toContain('nothing of IPAddressPool/public is in force');
  });

  test('is what plan compares with: repairing the file changes nothing', async () => {
    const proposal = await scratch(...fabric);
    const { stdout, code } = await inProcess(planCommand, ['-f', proposal, '--source', directory]);
    await discard(proposal);
    expect(stdout).toMatch(/^now: problem: 20-herald\.yaml:/);
    expect(stdout).toContain('Nothing would change.');
    expect(code).toBe(0);
  });
});

test('a pool that was never good is reported as not in force', async () => {
  await edit(breakPool);
  const { stdout } = await inProcess(explainCommand, ['service', 'shop/web', '--source', directory, ...asked]);
  expect(above(stdout)).toMatch(mistake);
  expect(above(stdout)).toContain('nothing of IPAddressPool/public is in force: no earlier good version is known');
  expect(above(stdout)).not.toContain('stays in force');
});

test('explain -f gives the address that a Service of manifests would get, from which pool', async () => {
  await edit((text) => text.replace('spec: { serviceCIDRs', 'spec: { defaultClass: true, serviceCIDRs'));
  const files = fabric.flatMap((file) => ['-f', join(directory, file)]);
  const { stdout } = await inProcess(explainCommand, ['service', 'shop/web', ...files]);
  expect(stdout).toContain('Address    none yet: would get 198.51.100.10 from pool public, 2001:db8:100::10 from pool public\n');
  expect(stdout).toMatch(
    /^Would be served at 198\.51\.100\.10 and 2001:db8:100::10 from pool public, and at 192\.0\.2\.10 and 2001:db8:2::10 via node1, node2 and node3\.\n/,
  );
  expect(stdout).toContain('  198.51.100.10 would be announced to tor1-v4, tor2-v4\n');
  expect(stdout).toContain('  2001:db8:100::10 would be announced to tor1-v6, tor2-v6\n');
  expect(stdout).not.toMatch(/is it running|has not assigned|has no address/);
});

test.each([
  ['peer', 'tor1-v4'],
  ['node', 'node1'],
  ['pool', 'public'],
])('explain %s does not recommend itself', async (kind, name) => {
  const { stdout } = await inProcess(explainCommand, [kind, name, '--source', directory]);
  expect(stdout).toContain(name);
  expect(stdout).not.toContain(`herald explain ${kind} ${name}`);
});

describe('plan of overlapping pools, with the records of a directory', () => {
  const poolYaml = (name: string, addresses: readonly string[]): string =>
    JSON.stringify({ apiVersion: 'herald.dev/v1alpha1', kind: 'IPAddressPool', metadata: { name }, spec: { addresses } });

  /** Records that a pool is in force since a second. */
  async function record(name: string, second: number): Promise<void> {
    const folder = join(directory, '.herald/status/objects/ipaddresspool');
    await mkdir(folder, { recursive: true });
    const accepted = { type: 'Accepted', status: 'True', reason: 'Accepted', lastTransitionTime: `2026-01-01T00:00:0${second}Z` };
    await writeFile(join(folder, `${name}.yaml`), JSON.stringify({ status: { conditions: [accepted] } }));
  }

  async function planned(addresses: readonly string[]): ReturnType<typeof inProcess> {
    const proposal = await scratch(...fabric);
    await writeFile(join(proposal, 'aaa.yaml'), poolYaml('aaa', addresses));
    const result = await inProcess(planCommand, ['-f', proposal, '--source', directory, '--fail-on', 'pool-refused']);
    await discard(proposal);
    return result;
  }

  test.each(['198.51.100.0/28', '2001:db8:100::10/124'])('refuses the new one although it sorts first: %s', async (range) => {
    await record('public', 1);
    const { stdout, stderr, code } = await planned([range]);
    expect(stdout).toContain(`  ! aaa: would be refused and give none of ${range}: `);
    expect(stdout).toContain('of IPAddressPool "public", which came first');
    expect(stdout).not.toContain('! public');
    expect(stderr).toContain('refused: pool-refused: aaa\n');
    expect(code).toBe(3);
  });

  test('names the Services of a pool that an older one would grow into', async () => {
    await writeFile(join(directory, 'aaa.yaml'), poolYaml('aaa', ['203.0.113.0/28']));
    await record('aaa', 1);
    await record('public', 2);
    const { stdout, stderr } = await planned(['203.0.113.0/28', '198.51.100.0/28']);
    expect(stdout).toContain('  ! public: would be refused and give none of ');
    expect(stdout).toContain('would get no other one from it: shop/web (198.51.100.10, 2001:db8:100::10)');
    expect(stderr).toContain('refused: pool-refused: public (addresses of shop/web)\n');
  });
});
