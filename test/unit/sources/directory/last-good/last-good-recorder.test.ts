import { readFile, stat } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { LastGoodRecorder } from '../../../../../src/sources/directory/last-good/last-good-recorder.ts';
import { DirectorySource } from '../../../../../src/sources/directory/directory-source.ts';
import { formatRange } from '../../../../../src/net/range.ts';
import { problemText } from '../../../../../src/sources/source.ts';
import { systemClock } from '../../../../../src/system/clock.ts';
import { silentLog } from '../../../../../src/system/log.ts';
import { poolYaml, Workbench } from '../workbench.ts';

const broken = (text: string): string => text.replace(/- [0-9a-f.:/]+/, '- 198.51.100.999');
const secret =
  'apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: default}\ntype: kubernetes.io/basic-auth\nstringData: {password: hunter2}\n';

/** Runs a recorder over a bench until the work of the callback is recorded. */
async function recording(bench: Workbench, work: () => Promise<void>): Promise<void> {
  const recorder = new LastGoodRecorder(bench.path(''), { source: bench.source, log: silentLog });
  recorder.start();
  await work();
  await recorder.stop();
}

/** Reads the directory as a starting process or a command does. */
async function readAgain(bench: Workbench): Promise<{ readonly pools: Record<string, string[]>; readonly problems: string[] }> {
  const source = new DirectorySource(bench.path(''), { clock: systemClock, log: silentLog });
  await source.start();
  const pools = [...source.snapshot.pools.values()].map(({ metadata, addresses }) => [metadata.name, addresses.map(formatRange)] as const);
  const problems = source.problems().map(problemText);
  await source.close();
  return { pools: Object.fromEntries(pools), problems };
}

describe('the record of last good versions', () => {
  test.each([
    ['one address is wrong', 'a.yaml', poolYaml('one'), '192.0.2.0/24', broken],
    ['one IPv6 address is wrong', 'a.yaml', poolYaml('one', '2001:db8::/64'), '2001:db8::/64', broken],
    ['the syntax is wrong', 'sub/a.yaml', poolYaml('one'), '192.0.2.0/24', () => 'kind: [IPAddressPool\n'],
    ['the file was emptied', 'a.yml', poolYaml('one'), '192.0.2.0/24', () => ''],
    [
      'a JSON file is cut off',
      'a.json',
      '{"apiVersion":"herald.dev/v1alpha1","kind":"IPAddressPool","metadata":{"name":"one"},"spec":{"addresses":["192.0.2.0/24"]}}',
      '192.0.2.0/24',
      (text: string) => text.slice(0, 40),
    ],
  ])('lets a starting process keep an object when %s', async (_, file, good, range, breaks) => {
    await using bench = await Workbench.started({ [file]: good, 'b.yaml': poolYaml('b', '203.0.113.0/24') });
    await recording(bench, async () => {
      await bench.write(file, breaks(good));
      await bench.until(() => bench.problems.length > 0);
    });
    const { pools, problems } = await readAgain(bench);
    expect(pools['one']).toEqual([range]);
    expect(pools['b']).toEqual(['203.0.113.0/24']);
    expect(problems.join('\n')).toContain('stays in force');
  });

  test('says where the mistake is, and that the last good version stays in force', async () => {
    await using bench = await Workbench.started({ 'a.yaml': poolYaml('one') });
    await recording(bench, async () => {
      await bench.write('a.yaml', broken(poolYaml('one')));
      await bench.until(() => bench.problems.length > 0);
    });
    const { problems } = await readAgain(bench);
    expect(problems).toEqual([
      expect.stringMatching(
        /^a.yaml:7:5: IPAddressPool\/one: spec.addresses\[0\]: "198.51.100.999".*; its last good version stays in force$/,
      ),
    ]);
  });

  test('is absent for an object that was never good', async () => {
    await using bench = await Workbench.started({ 'a.yaml': broken(poolYaml('one')) });
    await recording(bench, async () => undefined);
    await expect(stat(bench.path('.herald'))).rejects.toThrow('ENOENT');
    const { pools, problems } = await readAgain(bench);
    expect(pools).toEqual({});
    expect(problems.join('\n')).not.toContain('stays in force');
  });

  test('is removed when the file is good again, or deleted, also while no process ran', async () => {
    const files = { 'a.yaml': poolYaml('a'), 'b.yaml': poolYaml('b', '203.0.113.0/24') };
    await using bench = await Workbench.started(files);
    await recording(bench, async () => {
      await bench.write('a.yaml', 'kind: [');
      await bench.write('b.yaml', 'kind: [');
      await bench.until(() => bench.problems.some((one) => one.startsWith('a.')) && bench.problems.some((one) => one.startsWith('b.')));
    });
    await stat(bench.path('.herald/last-good/a.yaml'));
    await stat(bench.path('.herald/last-good/b.yaml'));
    await bench.source.close();
    await bench.write('a.yaml', poolYaml('a', '198.51.100.0/24'));
    await bench.remove('b.yaml');
    const source = new DirectorySource(bench.path(''), { clock: systemClock, log: silentLog });
    await source.start();
    const recorder = new LastGoodRecorder(bench.path(''), { source, log: silentLog });
    recorder.start();
    await recorder.stop();
    await source.close();
    expect([...source.snapshot.pools.keys()]).toEqual(['a']);
    await expect(stat(bench.path('.herald/last-good/a.yaml'))).rejects.toThrow('ENOENT');
    await expect(stat(bench.path('.herald/last-good/b.yaml'))).rejects.toThrow('ENOENT');
  });

  test('does not bring back an object that was removed from the broken file', async () => {
    const [a, b] = [poolYaml('a'), poolYaml('b', '203.0.113.0/24')];
    await using bench = await Workbench.started({ 'a.yaml': `${a}---\n${b}` });
    await recording(bench, async () => {
      await bench.write('a.yaml', `${broken(a)}---\n${broken(b)}`);
      await bench.until(() => bench.problems.length > 0);
    });
    await bench.write('a.yaml', broken(a));
    expect((await readAgain(bench)).pools).toEqual({ a: ['192.0.2.0/24'] });
  });

  test('is readable by its owner alone when it contains a Secret', async () => {
    await using bench = await Workbench.started({ 'a.yaml': secret, 'b.yaml': poolYaml('b') });
    await recording(bench, async () => {
      await bench.write('a.yaml', 'kind: [');
      await bench.write('b.yaml', 'kind: [');
      await bench.until(() => bench.problems.some((one) => one.startsWith('a.')) && bench.problems.some((one) => one.startsWith('b.')));
    });
    expect((await stat(bench.path('.herald/last-good/a.yaml'))).mode & 0o777).toBe(0o600);
    expect((await stat(bench.path('.herald/last-good/b.yaml'))).mode & 0o777).toBe(0o644);
    expect(await readFile(bench.path('.herald/last-good/a.yaml'), 'utf8')).toContain('hunter2');
  });

  test('takes over in an agent that started before the record was written', async () => {
    await using bench = await Workbench.started({ 'a.yaml': broken(poolYaml('one')) });
    expect(bench.source.snapshot.pools.has('one')).toBe(false);
    await bench.write('.herald/last-good/a.yaml', poolYaml('one'));
    await bench.until(() => bench.source.snapshot.pools.has('one'));
    expect(bench.problems.join('\n')).toContain('its last good version stays in force');
  });
});
