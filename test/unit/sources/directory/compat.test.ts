import { describe, expect, test } from 'vitest';
import { formatRange } from '../../../../src/net/range.ts';
import { poolYaml, serviceYaml, Workbench } from './workbench.ts';

const configYaml = (compat: string): string =>
  `apiVersion: herald.dev/v1alpha1\nkind: HeraldConfig\nmetadata: {name: default}\nspec: {compat: ${compat}}\n`;
const metallbPool = (name: string, range = '203.0.113.0/24', namespace = 'metallb-system'): string =>
  `apiVersion: metallb.io/v1beta1\nkind: IPAddressPool\nmetadata: {name: ${name}, namespace: ${namespace}}\nspec: {addresses: [${range}]}\n`;
const annotated = serviceYaml('web', '10.96.0.10').replace('metadata: {', 'metadata: {annotations: {metallb.io/address-pool: theirs}, ');

const pools = (bench: Workbench): Record<string, string> =>
  Object.fromEntries([...bench.source.snapshot.pools].map(([name, { addresses }]) => [name, addresses.map(formatRange).join()]));
const asked = (bench: Workbench): string | undefined => bench.source.snapshot.services.get('shop/web')?.requestedPool;

describe('a directory with manifests of MetalLB', () => {
  test("the source reads MetalLB's objects when HeraldConfig says so, whichever file is read first", async () => {
    await using bench = await Workbench.started({ 'a.yaml': metallbPool('theirs'), 'm.yaml': annotated, 'z.yaml': configYaml('metallb') });
    expect(pools(bench)).toEqual({ theirs: '203.0.113.0/24' });
    expect(asked(bench)).toBe('theirs');
    expect(bench.problems).toEqual([]);
  });

  test("the source refuses MetalLB's objects with a problem when HeraldConfig does not ask for them", async () => {
    await using bench = await Workbench.started({ 'a.yaml': metallbPool('theirs'), 'm.yaml': annotated });
    expect(pools(bench)).toEqual({});
    expect(asked(bench)).toBeUndefined();
    expect(bench.problems).toEqual([
      expect.stringMatching(/^a\.yaml:1:1: IPAddressPool.*is read only with compat: metallb \(set compat: metallb/),
      expect.stringMatching(/^m\.yaml:.*is an annotation of MetalLB and is not read/),
    ]);
  });

  test('a change of compat in HeraldConfig reports everything that is read differently in one batch', async () => {
    await using bench = await Workbench.started({ 'a.yaml': metallbPool('theirs'), 'm.yaml': annotated, 'z.yaml': configYaml('none') });
    bench.batches.length = 0;
    await bench.replace('z.yaml', configYaml('metallb'));
    await bench.until(() => bench.batches.length > 0);
    expect(pools(bench)).toEqual({ theirs: '203.0.113.0/24' });
    expect(asked(bench)).toBe('theirs');
    const told = (): string[] => bench.batches.flat().map(({ kind, key }) => `${kind} ${key}`);
    expect(told().toSorted()).toEqual(['HeraldConfig default', 'IPAddressPool theirs', 'Service shop/web']);
    bench.batches.length = 0;
    await bench.replace('z.yaml', configYaml('none'));
    await bench.until(() => bench.batches.length > 0);
    expect(pools(bench)).toEqual({});
    expect(asked(bench)).toBeUndefined();
    expect(bench.batches).toHaveLength(1);
  });

  test('an object of herald.dev takes precedence over one of MetalLB with the same name', async () => {
    await using bench = await Workbench.started({
      'a.yaml': metallbPool('main'),
      'b.yaml': poolYaml('main', '192.0.2.0/24'),
      'z.yaml': configYaml('metallb'),
    });
    expect(pools(bench)).toEqual({ main: '192.0.2.0/24' });
    expect(bench.problems).toEqual([
      'IPAddressPool.metallb.io/metallb-system/main: is not used: IPAddressPool/main of herald.dev has the same name (delete one of the two, or rename it)',
    ]);
    await bench.remove('b.yaml');
    await bench.until(() => bench.problems.length === 0);
    expect(pools(bench)).toEqual({ main: '203.0.113.0/24' });
  });

  test('a refused object is reported with file, line and field, under its MetalLB name', async () => {
    await using bench = await Workbench.started({
      'a.yaml': metallbPool('main', 'nonsense/24'),
      'b.yaml': metallbPool('other', '192.0.2.0/24', 'shop'),
      'z.yaml': configYaml('metallb'),
    });
    expect(pools(bench)).toEqual({});
    expect(bench.problems).toEqual([
      expect.stringMatching(/^a\.yaml:4:\d+: IPAddressPool\.metallb\.io\/metallb-system\/main: spec\.addresses\[0\]: "nonsense\/24"/),
      expect.stringMatching(/^b\.yaml:3:\d+: IPAddressPool\.metallb\.io\/shop\/other: metadata\.namespace: is shop/),
    ]);
  });

  test.each([
    ['edited into something broken', metallbPool('main').replace('addresses:', 'addresses: [:')],
    ['edited into what nobody knows', 'kind: ['],
    ['emptied', ''],
  ])('the source keeps the last good version of an object that was %s, until compat ends', async (_, text) => {
    await using bench = await Workbench.started({ 'a.yaml': metallbPool('main'), 'z.yaml': configYaml('metallb') });
    await bench.replace('a.yaml', text);
    await bench.until(() => bench.problems.length > 0);
    expect(pools(bench)).toEqual({ main: '203.0.113.0/24' });
    await bench.replace('z.yaml', configYaml('none'));
    await bench.until(() => bench.source.snapshot.config.compat.length === 0);
    expect(pools(bench)).toEqual({});
  });
});
