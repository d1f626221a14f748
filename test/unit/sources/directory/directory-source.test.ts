import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { formatRange } from '../../../../src/net/range.ts';
import { DirectorySource } from '../../../../src/sources/directory/directory-source.ts';
import { systemClock } from '../../../../src/system/clock.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { poolYaml, serviceYaml, Workbench } from './workbench.ts';

const rangesOf = (bench: Workbench, pool: string): string[] | undefined =>
  bench.source.snapshot.pools.get(pool)?.addresses.map(formatRange);

describe('a directory as a source', () => {
  test('the source reads YAML and JSON files, and ignores hidden folders and other files', async () => {
    await using bench = await Workbench.started({
      'a.yaml': `${poolYaml('a')}---\n# nothing\n---\n${poolYaml('b', '198.51.100.0/24')}`,
      'deep/er/c.yml': poolYaml('c', '2001:db8::/64'),
      'd.json': JSON.stringify({
        apiVersion: 'v1',
        kind: 'List',
        items: [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }],
      }),
      'e.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n',
      '.hidden/f.yaml': poolYaml('f'),
      '.g.yaml': poolYaml('g'),
      '.herald/h.yaml': poolYaml('h'),
      'notes.txt': 'kind: none of it',
    });
    expect([...bench.source.snapshot.pools.keys()].sort()).toEqual(['a', 'b', 'c']);
    expect([...bench.source.snapshot.namespaces.keys()]).toEqual(['shop']);
    expect(bench.problems).toEqual([]);
    expect(bench.source.ignored).toBe(1);
    const { uid, resourceVersion } = bench.source.snapshot.pools.get('a')?.metadata ?? {};
    expect(uid).toBe('standalone:IPAddressPool:a');
    expect(resourceVersion).toMatch(/^[0-9]{19}$/);
  });

  test('the source applies edits when they are saved, in place or by rename', async () => {
    await using bench = await Workbench.started({ 'pools.yaml': poolYaml('main') });
    bench.batches.length = 0;
    await bench.write('pools.yaml', poolYaml('main', '198.51.100.0/24'));
    await bench.until(() => rangesOf(bench, 'main')?.[0] === '198.51.100.0/24');
    await bench.replace('pools.yaml', poolYaml('main', '203.0.113.0/24'));
    await bench.until(() => rangesOf(bench, 'main')?.[0] === '203.0.113.0/24');
    expect(bench.batches).toEqual([[{ kind: 'IPAddressPool', key: 'main' }], [{ kind: 'IPAddressPool', key: 'main' }]]);
  });

  test('the source sees the last of many quick edits', async () => {
    await using bench = await Workbench.started({ 'pools.yaml': poolYaml('main') });
    for (let edit = 1; edit <= 40; edit++) await bench.replace('pools.yaml', poolYaml('main', `198.51.100.${edit}/32`));
    await bench.until(() => rangesOf(bench, 'main')?.[0] === '198.51.100.40/32');
    expect(bench.problems).toEqual([]);
  });

  test('the source finds new folders and files and drops deleted ones', async () => {
    await using bench = await Workbench.started({ 'a.yaml': poolYaml('a') });
    await bench.write('more/b.yaml', poolYaml('b', '198.51.100.0/24'));
    await bench.until(() => bench.source.snapshot.pools.has('b'));
    await bench.remove('a.yaml');
    await bench.until(() => !bench.source.snapshot.pools.has('a'));
    await bench.remove('more');
    await bench.until(() => bench.source.snapshot.pools.size === 0);
    expect(bench.keys).toEqual(['IPAddressPool a', 'IPAddressPool b', 'IPAddressPool a', 'IPAddressPool b']);
  });

  test('an object survives the renaming of its file', async () => {
    await using bench = await Workbench.started({ 'a.yaml': poolYaml('a'), 'z.yaml': poolYaml('z', '203.0.113.0/24') });
    bench.batches.length = 0;
    await bench.move('a.yaml', 'b.yaml');
    await bench.write('z.yaml', poolYaml('z', '198.51.100.0/24'));
    await bench.until(() => bench.keys.includes('IPAddressPool z'));
    expect(bench.keys).not.toContain('IPAddressPool a');
    await bench.remove('b.yaml');
    await bench.until(() => !bench.source.snapshot.pools.has('a'));
  });

  test('a broken field is reported with file, line and column, and everything else is read', async () => {
    await using bench = await Workbench.started({
      'a.yaml': `${poolYaml('good')}---\n${poolYaml('bad').replace('spec:', 'spec:\n  autoAssign: maybe')}`,
    });
    expect([...bench.source.snapshot.pools.keys()]).toEqual(['good']);
    expect(bench.problems).toEqual(['a.yaml:14:3: IPAddressPool/bad: spec.autoAssign: must be true or false, not "maybe"']);
  });

  test('a missing field is reported at its object', async () => {
    await using bench = await Workbench.started({
      'a.json': '{\n  "apiVersion": "herald.dev/v1alpha1", "kind": "IPAddressPool",\n  "metadata": {"name": "a"},\n  "spec": {}\n}',
    });
    expect(bench.source.problems()).toMatchObject([{ file: 'a.json', line: 4, column: 3, field: 'spec.addresses', severity: 'error' }]);
  });

  test('the source keeps the last good version of an object that an edit broke', async () => {
    await using bench = await Workbench.started({ 'a.yaml': `${poolYaml('one')}---\n${poolYaml('two', '198.51.100.0/24')}` });
    await bench.write('a.yaml', `${poolYaml('one', '192.0.2.300/32')}---\n${poolYaml('two', '203.0.113.0/24')}`);
    await bench.until(() => rangesOf(bench, 'two')?.[0] === '203.0.113.0/24');
    expect(rangesOf(bench, 'one')).toEqual(['192.0.2.0/24']);
    expect(bench.problems).toEqual([
      expect.stringMatching(/^a.yaml:7:5: IPAddressPool\/one: spec.addresses\[0\]: .*above 255.*; its last good version stays in force$/),
    ]);
    expect(bench.source.kept()).toMatchObject([
      { object: 'IPAddressPool/one', problem: { field: 'spec.addresses[0]', line: 7 }, inForce: { spec: { addresses: ['192.0.2.0/24'] } } },
    ]);
    await bench.write('a.yaml', `${poolYaml('one', '192.0.2.128/25')}---\n${poolYaml('two', '203.0.113.0/24')}`);
    await bench.until(() => rangesOf(bench, 'one')?.[0] === '192.0.2.128/25');
    expect(bench.problems).toEqual([]);
  });

  test('the source keeps all objects of a file with broken syntax until it is repaired or deleted', async () => {
    await using bench = await Workbench.started({
      'a.yaml': `${poolYaml('one')}---\n${poolYaml('two', '198.51.100.0/24')}`,
      'b.yaml': poolYaml('b', '2001:db8::/64'),
    });
    bench.batches.length = 0;
    await bench.write('a.yaml', 'apiVersion: herald.dev/v1alpha1\nkind: [IPAddressPool\nmetadata: {name\n');
    await bench.until(() => bench.problems.length > 0);
    expect(bench.source.problems()).toContainEqual(
      expect.objectContaining({ file: 'a.yaml', line: 3, message: expect.stringContaining('not valid YAML') }),
    );
    expect([...bench.source.snapshot.pools.keys()].sort()).toEqual(['b', 'one', 'two']);
    expect(bench.batches).toEqual([]);
    await bench.remove('a.yaml');
    await bench.until(() => bench.source.snapshot.pools.size === 1);
    expect(bench.problems).toEqual([]);
  });

  test('at a start, an object in two files comes from the first file by path', async () => {
    await using bench = await Workbench.started({ 'b.yaml': poolYaml('same', '198.51.100.0/24'), 'a.yaml': poolYaml('same') });
    expect(rangesOf(bench, 'same')).toEqual(['192.0.2.0/24']);
    expect(bench.problems).toEqual([
      'b.yaml:1:1: IPAddressPool/same: is ignored: a.yaml has the same object, in force (remove one of the two: the next start takes the first by path)',
    ]);
    await bench.remove('a.yaml');
    await bench.until(() => rangesOf(bench, 'same')?.[0] === '198.51.100.0/24');
    expect(bench.problems).toEqual([]);
  });

  test('an object stays with its file when a copy appears whose path sorts first', async () => {
    await using bench = await Workbench.started({ 'b.yaml': poolYaml('same', '198.51.100.0/24') });
    bench.batches.length = 0;
    await bench.write('a.yaml', poolYaml('same'));
    await bench.until(() => bench.problems.length > 0);
    expect(bench.batches).toEqual([]);
    expect(bench.source.problems()).toMatchObject([{ file: 'a.yaml', message: 'is ignored: b.yaml has the same object, in force' }]);
    await bench.write('b.yaml', poolYaml('same', '203.0.113.0/24'));
    await bench.until(() => rangesOf(bench, 'same')?.[0] === '203.0.113.0/24');
    await bench.remove('b.yaml');
    await bench.until(() => rangesOf(bench, 'same')?.[0] === '192.0.2.0/24');
    expect(bench.problems).toEqual([]);
  });

  test('the file in force stays in force while its object is broken', async () => {
    await using bench = await Workbench.started({ 'b.yaml': poolYaml('same', '198.51.100.0/24') });
    await bench.write('b.yaml', poolYaml('same', '192.0.2.300/32'));
    await bench.until(() => bench.problems.length > 0);
    await bench.write('a.yaml', poolYaml('same'));
    await bench.until(() => bench.problems.some((problem) => problem.startsWith('a.yaml')));
    expect(rangesOf(bench, 'same')).toEqual(['198.51.100.0/24']);
  });

  test('an object that is broken in two files at the start is used when one is repaired', async () => {
    await using bench = await Workbench.started({ 'a.yaml': poolYaml('same', '192.0.2.300'), 'b.yaml': poolYaml('same', '192.0.2.300') });
    expect(bench.problems.join('\n')).toContain('b.yaml:1:1: IPAddressPool/same: is in a.yaml and b.yaml');
    await bench.write('b.yaml', poolYaml('same'));
    await bench.until(() => bench.source.snapshot.pools.has('same'));
    expect(bench.problems.join('\n')).toContain('a.yaml:1:1: IPAddressPool/same: is ignored: b.yaml has the same object, in force');
  });

  test('the source keeps the last good version of an object that moves to another file and breaks there', async () => {
    await using bench = await Workbench.started({ 'a.yaml': poolYaml('same') });
    const earlier = bench.source.snapshot.pools.get('same');
    await Promise.all([bench.write('b.yaml', poolYaml('same', '192.0.2.300')), bench.remove('a.yaml')]);
    await bench.until(() => bench.problems.length > 0);
    expect(bench.source.snapshot.pools.get('same')).toBe(earlier);
    await bench.write('b.yaml', poolYaml('same', '192.0.2.301'));
    await bench.until(() => bench.problems.some((problem) => problem.includes('its last good version stays')));
    expect(bench.source.snapshot.pools.get('same')).toBe(earlier);
    await bench.remove('b.yaml');
    await bench.until(() => bench.source.snapshot.pools.size === 0);
  });

  test('a file that is not YAML has one problem, which names the objects that stay in force', async () => {
    await using bench = await Workbench.started({ 'a.yaml': `${poolYaml('one')}---\n${poolYaml('two', '198.51.100.0/24')}` });
    await bench.write('a.yaml', `${poolYaml('one')}---\n${poolYaml('two', '198.51.100.0/24')}  bad: [\n`);
    await bench.until(() => bench.problems.length > 0);
    expect(bench.problems).toEqual([
      expect.stringMatching(/^a\.yaml:\d+:\d+: .*; the last good version of IPAddressPool\/two stays in force$/),
    ]);
    expect(rangesOf(bench, 'two')).toEqual(['198.51.100.0/24']);
  });

  test('an object that is twice in one file comes from the first document', async () => {
    await using bench = await Workbench.started({ 'a.yaml': `${poolYaml('same')}---\n${poolYaml('same', '198.51.100.0/24')}` });
    expect(rangesOf(bench, 'same')).toEqual(['192.0.2.0/24']);
    expect(bench.problems[0]).toContain('line 1 came first');
  });

  test.each([
    ['nothing', ''],
    ['comments', '# apiVersion: v1\n---\n# nothing\n'],
  ])('the source keeps the objects of a file that now holds %s, until it is deleted', async (_, text) => {
    await using bench = await Workbench.started({ 'a.yaml': poolYaml('a'), 'b.yaml': poolYaml('b', '198.51.100.0/24') });
    bench.batches.length = 0;
    await bench.write('a.yaml', text);
    await bench.until(() => bench.problems.length > 0);
    expect(bench.source.problems()).toMatchObject([
      { severity: 'warning', file: 'a.yaml', message: expect.stringContaining('become empty') },
    ]);
    await bench.write('a.yaml', `${text}\n`);
    await bench.write('b.yaml', poolYaml('b', '203.0.113.0/24'));
    await bench.until(() => bench.batches.length > 0);
    expect(bench.keys).toEqual(['IPAddressPool b']);
    expect(bench.source.snapshot.pools.has('a')).toBe(true);
    await bench.remove('a.yaml');
    await bench.until(() => !bench.source.snapshot.pools.has('a'));
    expect(bench.problems).toEqual([]);
  });

  test('an emptied file can be rewritten with other objects', async () => {
    await using bench = await Workbench.started({ 'a.yaml': poolYaml('a') });
    await bench.write('a.yaml', '');
    await bench.until(() => bench.problems.length > 0);
    await bench.write('a.yaml', poolYaml('b'));
    await bench.until(() => bench.problems.length === 0);
    expect([...bench.source.snapshot.pools.keys()]).toEqual(['b']);
  });

  test('a broken file that is emptied remains an error', async () => {
    await using bench = await Workbench.started({ 'a.yaml': poolYaml('a', '192.0.2.300') });
    await bench.write('a.yaml', '');
    await bench.until(() => bench.problems[0]?.includes('become empty') ?? false);
    expect(bench.source.problems()).toMatchObject([{ severity: 'error' }]);
  });

  test('an empty file at the start is an error, unless comments show that it is intended', async () => {
    await using bench = await Workbench.started({ 'a.yaml': '\n', 'b.yaml': '# later\n' });
    expect(bench.source.problems()).toMatchObject([
      { severity: 'error', file: 'a.yaml', message: 'is empty: nothing is read from it' },
      { severity: 'warning', file: 'b.yaml', message: 'holds only comments: nothing is read from it' },
    ]);
    await bench.write('a.yaml', poolYaml('a'));
    await bench.until(() => bench.source.snapshot.pools.has('a'));
    expect(bench.source.problems()).toHaveLength(1);
  });

  test('problems never show the content of a broken Secret', async () => {
    await using bench = await Workbench.started({
      'a.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  password: "hunter2\\q\n  x hunter2\n',
      'b.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: {name: t}\nstringData: hunter2\n',
      'c.json': '{"apiVersion":"v1","kind":"Secret","stringData":{"password": hunter2 "x"}}',
      'd.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: {name: u}\nstringData:\n  password: *hunter2\n',
    });
    expect(new Set(bench.source.problems().map(({ file }) => file))).toEqual(new Set(['a.yaml', 'b.yaml', 'c.json', 'd.yaml']));
    expect(bench.problems.join('\n')).not.toContain('hunter2');
  });

  test('the source reads NodeStates only where agents write them, and nothing else there', async () => {
    const state = (name: string): string => `apiVersion: herald.dev/v1alpha1\nkind: NodeState\nmetadata: {name: ${name}}\n`;
    await using bench = await Workbench.started({
      'a.yaml': `${poolYaml('a')}---\n${state('n1')}`,
      '.herald/nodes/n2.yaml': state('n2'),
      '.herald/nodes/n3.yaml': poolYaml('b'),
    });
    expect([...bench.source.snapshot.nodeStates.keys()]).toEqual(['n2']);
    expect([...bench.source.snapshot.pools.keys()]).toEqual(['a']);
    expect(bench.problems).toEqual([
      '.herald/nodes/n3.yaml:1:1: IPAddressPool/b: is no NodeState, and only those are read from .herald/nodes (move the object out of .herald)',
      'a.yaml:9:1: NodeState/n1: is what an agent reports, and is read only from .herald/nodes (remove the object)',
    ]);
  });

  test('the source survives endless nesting', async () => {
    const deep = '['.repeat(20_000);
    await using bench = await Workbench.started({ 'deep.yaml': `a: ${deep}`, 'deep.json': `{"a": ${deep}`, 'a.yaml': poolYaml('a') });
    expect(new Set(bench.source.problems().map(({ file }) => file))).toEqual(new Set(['deep.json', 'deep.yaml']));
    expect(bench.source.snapshot.pools.size).toBe(1);
  });

  test('the source does not expand aliases endlessly', async () => {
    const bomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${'bcdefgh'.replaceAll(
      /./g,
      (name) =>
        `${name}: &${name} [${Array(9)
          .fill(`*${String.fromCodePoint((name.codePointAt(0) ?? 0) - 1)}`)
          .join(', ')}]\n`,
    )}`;
    await using bench = await Workbench.started({ 'bomb.yaml': bomb, 'a.yaml': poolYaml('a') });
    expect(bench.problems[0]).toContain('aliases');
    expect(bench.source.snapshot.pools.size).toBe(1);
  });

  test('the source reads 400 Services at once', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 400 }, (_, n) => [`s/${n % 20}/svc-${n}.yaml`, serviceYaml(`svc-${n}`, `10.96.${n >> 8}.${n & 255}`)]),
    );
    await using bench = await Workbench.started(files);
    expect(bench.source.snapshot.services.size).toBe(400);
    expect(bench.batches).toHaveLength(1);
    bench.batches.length = 0;
    await bench.write('s/7/svc-7.yaml', serviceYaml('svc-7', '10.97.0.1'));
    await bench.until(() => bench.batches.length > 0);
    expect(bench.batches).toEqual([[{ kind: 'Service', key: 'shop/svc-7' }]]);
  });

  test('the source finds nested folders that appear at once', async () => {
    await using bench = await Workbench.started({});
    const names = Array.from({ length: 20 }, (_, n) => `p${n}`);
    await Promise.all(names.map((name, n) => bench.write(`a/b${n % 4}/c/${name}.yaml`, poolYaml(name, `198.51.100.${n}/32`))));
    await bench.until(() => names.every((name) => bench.source.snapshot.pools.has(name)));
    await bench.move('a', 'z');
    await bench.write('z/b0/c/p0.yaml', poolYaml('p0', '203.0.113.0/32'));
    await bench.until(() => rangesOf(bench, 'p0')?.[0] === '203.0.113.0/32');
    expect(bench.source.snapshot.pools.size).toBe(20);
  });

  test('the source fails to start without a directory, or when it is stopped before', async () => {
    await using bench = await Workbench.over({ 'a.yaml': poolYaml('a') });
    const over = (path: string): DirectorySource => new DirectorySource(path, { clock: systemClock, log: silentLog });
    await expect(over(bench.path('none')).start()).rejects.toMatchObject({ code: 'unreadable' });
    await expect(over(bench.path('a.yaml')).start()).rejects.toMatchObject({ code: 'unreadable' });
    await expect(bench.source.start(AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
  });
});

describe('manifests laid over a directory for a preview', () => {
  const first = poolYaml('first', '192.0.2.0/24');

  test('replace the objects of their names and add others, whatever file has them', async () => {
    await using bench = await Workbench.started({
      'a.yaml': `${first}---\n${poolYaml('second', '198.51.100.0/24')}`,
      'z.yaml': poolYaml('last'),
    });
    await bench.source.overlay('typed', `${poolYaml('first', '203.0.113.0/25')}---\n${poolYaml('new', '203.0.113.128/25')}`);
    expect([...bench.source.snapshot.pools.keys()].toSorted()).toEqual(['first', 'last', 'new', 'second']);
    expect([rangesOf(bench, 'first'), rangesOf(bench, 'second')]).toEqual([['203.0.113.0/25'], ['198.51.100.0/24']]);
    expect(bench.problems).toEqual([]);
  });

  test('leave an object as it is when theirs has an error', async () => {
    await using bench = await Workbench.started({ 'a.yaml': first });
    await bench.source.overlay('typed', `${poolYaml('first', 'nonsense')}---\n${poolYaml('new', '203.0.113.0/24')}`);
    expect([rangesOf(bench, 'first'), rangesOf(bench, 'new')]).toEqual([['192.0.2.0/24'], ['203.0.113.0/24']]);
    expect(bench.problems).toEqual([expect.stringMatching(/^typed:\d+:\d+: IPAddressPool\/first: spec\.addresses\[0\]: /)]);
  });

  test('are read as their HeraldConfig says', async () => {
    const metallb =
      'apiVersion: metallb.io/v1beta1\nkind: IPAddressPool\nmetadata: { namespace: metallb-system, name: theirs }\nspec: { addresses: [203.0.113.0/24] }\n';
    await using bench = await Workbench.started({ 'a.yaml': first, 'b.yaml': metallb });
    expect(rangesOf(bench, 'theirs')).toBeUndefined();
    await bench.source.overlay(
      'typed',
      'apiVersion: herald.dev/v1alpha1\nkind: HeraldConfig\nmetadata: { name: default }\nspec: { compat: metallb }\n',
    );
    expect(rangesOf(bench, 'theirs')).toEqual(['203.0.113.0/24']);
  });

  test('write nothing, and end the watch', async () => {
    await using bench = await Workbench.started({ 'a.yaml': first });
    await bench.source.overlay('typed', poolYaml('first', '203.0.113.0/24'));
    expect(await readFile(bench.path('a.yaml'), 'utf8')).toBe(first);
    expect(await readdir(bench.path(''))).toEqual(['a.yaml']);
  });
});
