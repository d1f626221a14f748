import { describe, expect, test } from 'vitest';
import { defined } from '../../../../src/lang/defined.ts';
import { DataplaneError } from '../../../../src/dataplane/dataplane.ts';
import { DirectReturn } from '../../../../src/dataplane/direct-return/direct-return.ts';
import { nodeMark, preferences, tunnelIndex, tunnelNextHop } from '../../../../src/dataplane/ruleset/direct-return-identity.ts';
import { pathCheckInterval } from '../../../../src/dataplane/direct-return/limits.ts';
import { itemKey, pathDifference, planPaths } from '../../../../src/dataplane/direct-return/paths.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';
import type { DirectReturnNode, PathTarget } from '../../../../src/net/direct-return.ts';
import { frontendKey, type Frontend } from '../../../../src/net/frontend.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { FakeIngress, FakePaths } from './fake-paths.ts';

const target = (node: string, routed?: 'link' | 'vxlan', ingress = false): PathTarget => ({
  node: address(node),
  ingress,
  ...defined({ routed }),
});

const node = (...targets: PathTarget[]): DirectReturnNode => ({
  addresses: [address('10.0.0.1'), address('fd00::1')],
  interfaces: ['eth0'],
  targets,
  linkAddresses: ['02:00:00:00:00:02'],
  tunnels: targets.some(({ routed }) => routed === 'vxlan'),
});

const backend = (last: number, at: string, path?: Frontend['backends'][number]['path']): Frontend['backends'][number] => ({
  address: address(`10.244.0.${last}`),
  port: 8080,
  local: at === '10.0.0.1',
  node: address(at),
  ...defined({ path }),
});

const frontend = (...backends: Frontend['backends'][number][]): Frontend => ({
  match: { kind: 'address', address: address('192.0.2.1'), protocol: 'TCP', port: 80 },
  scope: 'external',
  policy: 'Cluster',
  backends,
  localBackends: [],
  slots: { hashed: 'connection', backendOf: Uint16Array.from({ length: 251 }, (_, slot) => slot % backends.length) },
  directReturn: {},
});

function setup(): {
  direct: DirectReturn;
  paths: FakePaths;
  ingress: FakeIngress;
  clock: VirtualClock;
  repaired: string[];
  changes: () => number;
  /** Advances the clock and waits for the work that this starts. */
  pass: (milliseconds: number) => Promise<void>;
} {
  const [paths, ingress, clock] = [new FakePaths(), new FakeIngress(), new VirtualClock()];
  const repaired: string[] = [];
  let changed = 0;
  const direct = new DirectReturn(
    { paths, ingress, clock, log: silentLog },
    { repaired: (what) => repaired.push(what), changed: () => changed++ },
  );
  const pass = async (milliseconds: number): Promise<void> => {
    clock.advance(milliseconds);
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  return { direct, paths, ingress, clock, repaired, changes: () => changed, pass };
}

describe('planned paths', () => {
  test('a link needs a rule and a route, a tunnel also the link address of its end', () => {
    const { items, byTarget } = planPaths(node(target('10.0.0.2', 'link'), target('fd00::3', 'vxlan')));
    const mark = (text: string): string => `0x${nodeMark(address(text)).toString(16)}`;
    const texts = items.map(itemKey);
    expect(texts).toContain(
      `rule 4 pref ${preferences.node} fwmark ${mark('10.0.0.2')} lookup ${nodeMark(address('10.0.0.2'))} protocol 152`,
    );
    expect(texts).toContain(`route 4 default via 10.0.0.2 table ${nodeMark(address('10.0.0.2'))} protocol 152`);
    const hop = formatAddress(tunnelNextHop(address('fd00::3')));
    expect(hop).toMatch(/^fe80::98:/);
    expect(texts).toContain(`route 6 default via ${hop} dev herald-vx6 table ${nodeMark(address('fd00::3'))} protocol 152`);
    expect(byTarget.get('fd00::3')?.map(({ kind }) => kind)).toEqual([
      'tunnel',
      'rule',
      'rule',
      'rule',
      'rule',
      'fdb',
      'neigh',
      'route',
      'rule',
    ]);
  });

  test('paths are created from tunnels to rules, catching rules first, and removed in reverse', () => {
    const { items } = planPaths(node(target('10.0.0.2', 'link'), target('10.0.0.3', 'vxlan')));
    const { missing } = pathDifference([], items);
    const { extra } = pathDifference(items, []);
    const kinds = missing.map(({ kind, text }) => (kind === 'rule' ? Number(text.split(' ')[1]) : kind));
    expect(kinds).toEqual([
      'tunnel',
      'tunnel',
      'fdb',
      'neigh',
      'route',
      'route',
      'route',
      preferences.end,
      preferences.lost,
      preferences.node,
      preferences.node,
      preferences.skip,
      preferences.own,
      preferences.copies,
    ]);
    expect(extra.map(({ kind }) => kind)).toEqual(missing.map(({ kind }) => kind).toReversed());
    expect(pathDifference(items, items)).toEqual({ missing: [], extra: [] });
  });

  test('a copy that is sent out by the IPv4 tunnel has a route there', () => {
    const texts = planPaths(node(target('10.0.0.3', 'vxlan'))).items.map(itemKey);
    const number = tunnelIndex(4);
    expect(texts).toContain(`rule 4 pref ${preferences.copies} oif herald-vx4 lookup ${number} protocol 152`);
    expect(texts).toContain(`route 4 default dev herald-vx4 table ${number} protocol 152`);
    expect(texts.find((text) => text.startsWith('tunnel 4'))).toContain(`herald-vx4 index ${number} `);
  });

  test('a node whose number another node has is not reached', () => {
    const targets = Array.from({ length: 3_000 }, (_, index) => target(`10.${index >> 8}.${index & 255}.7`, 'link'));
    const { byTarget, items } = planPaths(node(...targets));
    expect(byTarget.size).toBeLessThanOrEqual(1_000);
    const marks = items.flatMap(({ text }) => /fwmark (0x[0-9a-f]+) lookup/.exec(text)?.[1] ?? []);
    expect(new Set(marks).size).toBe(byTarget.size);
    for (const { node } of targets) expect(nodeMark(node) >>> 24).toBe(0x68);
  });
});

describe('frontends with paths to other nodes', () => {
  const far = frontend(
    backend(1, '10.0.0.1'),
    backend(2, '10.0.0.2', { ingress: true, routed: 'link' }),
    backend(3, '10.0.0.3', { ingress: false, routed: 'vxlan' }),
  );
  const nodes = node(target('10.0.0.2', 'link', true), target('10.0.0.3', 'vxlan'));

  test('a path is created before its elements', async () => {
    const { direct, paths } = setup();
    expect(direct.withExistingPaths(far).backends.map(({ path }) => path)).toEqual([undefined, { ingress: true }, undefined]);
    await direct.setNode(nodes);
    expect(paths.items.size).toBe(planPaths(nodes).items.length);
    expect(direct.withExistingPaths(far)).toEqual(far);
  });

  test('packets are translated while there is no path, and sent unchanged once there is one', async () => {
    const { direct, paths, changes, pass } = setup();
    paths.refused.add('herald-vx4');
    await direct.setNode(nodes);
    expect(direct.withExistingPaths(far).backends.map(({ path }) => path?.routed)).toEqual([undefined, 'link', undefined]);
    const before = changes();
    paths.refused.clear();
    await pass(pathCheckInterval);
    expect(direct.withExistingPaths(far)).toEqual(far);
    expect(changes()).toBe(before + 1);
  });

  test('a path stays until its elements are gone, and is removed by a later check', async () => {
    const { direct, paths, pass } = setup();
    await direct.setNode(nodes);
    await direct.setNode(node(target('10.0.0.2', 'link')));
    expect(paths.items.size).toBe(planPaths(nodes).items.length);
    await pass(pathCheckInterval);
    expect([...paths.items.keys()].toSorted()).toEqual(
      planPaths(node(target('10.0.0.2', 'link')))
        .items.map(itemKey)
        .toSorted(),
    );
  });

  test('a path that another program removed is created again', async () => {
    const { direct, paths, repaired, pass } = setup();
    await direct.setNode(nodes);
    const all = [...paths.items.keys()].toSorted();
    paths.items.clear();
    await pass(pathCheckInterval);
    expect([...paths.items.keys()].toSorted()).toEqual(all);
    expect(repaired).toEqual(['paths to other nodes']);
  });

  test('remove leaves neither paths nor the ingress table', async () => {
    const { direct, paths, ingress } = setup();
    await direct.setNode(nodes);
    await direct.applyCommitted([[frontendKey(far.match), far]]);
    await direct.close();
    expect(ingress.present).toBe(true);
    await direct.remove();
    expect(paths.items.size).toBe(0);
    expect(ingress.present).toBe(false);
  });

  test('without other nodes, only leftovers of an earlier process are removed', async () => {
    const { direct, paths, ingress, pass } = setup();
    for (const item of planPaths(nodes).items) paths.items.set(itemKey(item), item);
    ingress.present = true;
    await direct.setNode(undefined);
    expect(paths.log).toEqual([]);
    await direct.applyCommitted([]);
    await pass(pathCheckInterval);
    expect(paths.items.size).toBe(0);
    expect(ingress.present).toBe(false);
  });
});

describe('ingress table', () => {
  const key = frontendKey(frontend().match);
  const near = frontend(backend(1, '10.0.0.1'), backend(2, '10.0.0.2', { ingress: true, routed: 'link' }));
  const nodes = node(target('10.0.0.2', 'link', true));

  test('the table has the slots of other nodes, and a change sends only moved slots', async () => {
    const { direct, ingress, pass } = setup();
    await direct.setNode(nodes);
    await direct.applyCommitted([[key, near]]);
    await pass(0);
    const made = ingress.scripts.at(-1)?.join('\n') ?? '';
    expect(made).toContain('type filter hook ingress device "eth0"');
    expect(made).toContain('node_links { 02:00:00:00:00:02 }');
    expect(made.match(/192\.0\.2\.1 \. tcp \. 80 \. 0:[0-9a-f]+ : 10\.0\.0\.2/g)).toHaveLength(125);
    const backendOf = Uint16Array.from(near.slots?.backendOf ?? []);
    backendOf[1] = 0;
    await direct.applyCommitted([[key, { ...near, slots: { hashed: 'connection', backendOf } }]]);
    await pass(0);
    expect(ingress.scripts.at(-1)).toEqual(['delete element netdev herald_direct nodes4 { 192.0.2.1 . tcp . 80 . 0:1 }']);
    await direct.applyCommitted([[key, undefined]]);
    await pass(0);
    expect(
      ingress.scripts
        .at(-1)
        ?.join(' ')
        .match(/delete element/g),
    ).toHaveLength(2);
  });

  test('the table is created again when it was removed and when other nodes come', async () => {
    const { direct, ingress, repaired, pass } = setup();
    await direct.setNode(nodes);
    await direct.applyCommitted([[key, near]]);
    await pass(0);
    const first = ingress.scripts.at(-1);
    ingress.present = false;
    await pass(pathCheckInterval);
    expect(ingress.scripts.at(-1)).toEqual(first);
    expect(repaired).toEqual(['the ingress table']);
    await direct.setNode({ ...nodes, linkAddresses: ['02:00:00:00:00:02', '02:00:00:00:00:03'] });
    await direct.applyCommitted([]);
    await pass(0);
    expect(ingress.scripts.at(-1)?.join('\n')).toContain('{ 02:00:00:00:00:02 , 02:00:00:00:00:03 }');
  });

  test('a table that the kernel refused is retried', async () => {
    const { direct, ingress, pass } = setup();
    ingress.refuses = 'no';
    await direct.setNode(nodes);
    await direct.applyCommitted([[key, near]]);
    await pass(0);
    expect(await direct.probe(['eth0'], [])).toEqual({ l2: 'no' });
    ingress.refuses = undefined;
    await pass(pathCheckInterval);
    expect(ingress.present).toBe(true);
    expect(await direct.probe(['eth0'], [])).toEqual({});
  });
});

test('the probe reports a tunnel that the kernel refuses', async () => {
  const { direct, paths } = setup();
  paths.refused.add('tunnel 6');
  expect(await direct.probe([], [address('10.0.0.1'), address('fd00::1')])).toEqual({
    vxlan: expect.stringContaining('herald-vx6') as string,
  });
  expect([...paths.items.values()].map(({ family }) => family)).toEqual([4]);
});

test('the probe reports that routes cannot be listed', async () => {
  const { direct, paths } = setup();
  paths.list = () => Promise.reject(new DataplaneError('unavailable', 'cannot run ip'));
  expect(await direct.probe([], [])).toEqual({ route: 'cannot run ip' });
});
