import { describe, expect, test } from 'vitest';
import { DataplaneError } from '../../../../src/dataplane/dataplane.ts';
import { pathCheckInterval } from '../../../../src/dataplane/direct-return/limits.ts';
import { tunnelItem } from '../../../../src/dataplane/direct-return/paths.ts';
import { NftablesDataplane } from '../../../../src/dataplane/nftables/nftables.ts';
import { skeleton } from '../../../../src/dataplane/ruleset/skeleton.ts';
import { address } from '../../../../src/net/address.ts';
import type { Frontend, NodeForwarding, ServiceForwarding } from '../../../../src/net/frontend.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { FakeIngress, FakePaths } from '../direct-return/fake-paths.ts';
import { FakeKernel } from './fake-kernel.ts';

const node: NodeForwarding = { nodePortAddresses: [], podPrefixes: [], servicePrefixes: [], masqueradeBit: 14 };

const frontend = (last: number, overrides: Partial<Frontend> = {}): Frontend => ({
  match: { kind: 'address', address: address(`192.0.2.${last}`), protocol: 'TCP', port: 80 },
  scope: 'external',
  policy: 'Cluster',
  backends: [{ address: address('10.244.0.2'), port: 8080, local: false }],
  localBackends: [],
  ...overrides,
});

const services = (...frontends: Frontend[]): Map<string, ServiceForwarding> =>
  new Map(frontends.map((one, index) => [`s${index}`, { frontends: [one] }]));

function setup(kernel = new FakeKernel(), paths = new FakePaths()) {
  const clock = new VirtualClock();
  const dataplane = new NftablesDataplane({
    executor: kernel,
    paths,
    ingress: new FakeIngress(),
    clock,
    log: silentLog,
    conntrack: { delete: () => Promise.resolve(0), each: () => Promise.resolve(), close: () => undefined },
    routes: { list: () => Promise.resolve({ prefixes: [] }), change: () => Promise.resolve(), close: () => undefined },
  });
  const pass = async (milliseconds: number): Promise<void> => {
    clock.advance(milliseconds);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  return { kernel, paths, dataplane, pass };
}

/** The chains of a table that are not there without parts, and those that have other rules. */
function parts(kernel: FakeKernel, family: 4 | 6 = 4): string[] {
  const { chains } = skeleton(family, node.masqueradeBit);
  const listed = kernel.tables.get(family === 4 ? 'ip' : 'ip6')?.chains ?? new Map<string, number>();
  return [...listed].filter(([name, rules]) => chains.get(name)?.rules.length !== rules).map(([name]) => name);
}

const slots = { hashed: 'connection', backendOf: new Uint16Array(251) } as const;
const optional: readonly [string, Partial<Frontend>, readonly string[]][] = [
  ['direct server return', { slots, directReturn: {} }, ['errors_on', 'direct_before', 'direct_tunnels', 'direct_answers']],
  ['source ranges', { sourceRanges: [prefix('10.0.0.0/8')] }, ['source_ranges_prerouting', 'source_ranges_output']],
  [
    'source ranges of a NodePort',
    { match: { kind: 'nodePort', family: 4, protocol: 'TCP', port: 30_000 }, sourceRanges: [prefix('10.0.0.0/8')] },
    ['nodeport_source_ranges_prerouting', 'nodeport_source_ranges_output'],
  ],
  ['session affinity', { affinity: { seconds: 60, servicePort: 'a/b http TCP' } }, ['remember']],
];

describe.each(optional)('the chains for %s', (_, overrides, chains) => {
  test('come with the first frontend that needs them and go with the last, each time in its transaction', async () => {
    const { kernel, dataplane } = setup();
    await dataplane.replace(node, services(frontend(1), frontend(2)));
    expect(parts(kernel)).toEqual([]);
    const created = kernel.transactions.length;
    await dataplane.apply(new Map([['s0', { frontends: [frontend(1, overrides)] }]]));
    expect(parts(kernel)).toEqual(chains);
    expect(parts(kernel, 6)).toEqual([]);
    const second = {
      ...frontend(2, overrides),
      ...('match' in overrides ? { match: { ...overrides.match, port: 30_001 } } : {}),
    } as Frontend;
    await dataplane.apply(new Map([['s1', { frontends: [second] }]]));
    expect(kernel.transactions.at(-1)?.join('\n')).not.toContain(' rule ');
    await dataplane.apply(new Map([['s0', undefined]]));
    expect(parts(kernel)).toEqual(chains);
    await dataplane.apply(new Map([['s1', { frontends: [frontend(2)] }]]));
    expect(parts(kernel)).toEqual([]);
    expect(kernel.transactions.length - created).toBe(4);
  });

  test('are adopted, and removed when nothing needs them any more', async () => {
    const { kernel, dataplane } = setup();
    await dataplane.replace(node, services(frontend(1, overrides)));
    const created = kernel.transactions.length;
    const second = setup(kernel).dataplane;
    await second.replace(node, services(frontend(1, overrides)));
    expect([second.adopted, kernel.transactions.length]).toEqual([true, created]);
    await setup(kernel).dataplane.replace(node, services(frontend(1)));
    expect(parts(kernel)).toEqual([]);
    // The table was changed, not replaced.
    expect(kernel.transactions.at(-1)?.join('\n')).not.toContain('table');
  });

  test('do not come with a frontend that the kernel refuses', async () => {
    const { kernel, dataplane } = setup();
    await dataplane.replace(node, services());
    kernel.fault = (lines) => (lines.some((line) => line.includes(' . 66')) ? new DataplaneError('failed', 'no') : undefined);
    const bad = frontend(9, { ...overrides, backends: [{ address: address('10.244.0.6'), port: 66, local: false }] });
    const { quarantined } = await dataplane.apply(services(bad, frontend(1)));
    expect(quarantined.size).toBe(1);
    expect(parts(kernel)).toEqual([]);
  });

  test('are written again when another program has removed one', async () => {
    const { kernel, dataplane } = setup();
    await dataplane.replace(node, services(frontend(1, overrides)));
    kernel.tables.get('ip')?.chains.delete(chains[0] ?? '');
    await setup(kernel).dataplane.replace(node, services(frontend(1, overrides)));
    expect(parts(kernel)).toEqual(chains);
  });
});

test('connections that begin are noted while somebody looks at them, whatever the frontends are', async () => {
  const { kernel, dataplane } = setup();
  await dataplane.replace({ ...node, notesBegun: true }, services());
  expect([parts(kernel), parts(kernel, 6)]).toEqual([['note_begun'], ['note_begun']]);
  const again = setup(kernel).dataplane;
  await again.replace({ ...node, notesBegun: true }, services(frontend(1)));
  expect(again.adopted).toBe(true);
  await again.setNode(node);
  expect([parts(kernel), parts(kernel, 6)]).toEqual([[], []]);
});

describe('tunnels', () => {
  const [, , hooks] = optional[0] ?? ['', {}, []];
  const own = address('10.0.0.1');

  test('Herald restricts what a tunnel receives before it creates the tunnel, until it has removed it', async () => {
    const { kernel, paths, dataplane, pass } = setup();
    await dataplane.replace(node, services(frontend(1)));
    let seen: string[] = [];
    const change = paths.change.bind(paths);
    paths.change = (...items) => {
      seen = parts(kernel);
      return change(...items);
    };
    await dataplane.probeDirectReturn([], [own]);
    expect(paths.items.size).toBe(1);
    expect([seen, parts(kernel, 6)]).toEqual([hooks, hooks]);
    await dataplane.setNode({ ...node, directReturn: { addresses: [own], interfaces: [], targets: [], linkAddresses: [], tunnels: true } });
    await pass(pathCheckInterval);
    expect(parts(kernel)).toEqual(hooks);
    await dataplane.setNode(node);
    expect(parts(kernel)).toEqual(hooks);
    await pass(pathCheckInterval);
    expect([paths.items.size, parts(kernel), parts(kernel, 6)]).toEqual([0, [], []]);
  });

  test('Herald restricts the tunnels of an earlier process until it has removed them', async () => {
    const paths = new FakePaths();
    await paths.change([tunnelItem(own)], []);
    const { kernel, dataplane, pass } = setup(new FakeKernel(), paths);
    await dataplane.replace(node, services(frontend(1)));
    expect(parts(kernel)).toEqual(hooks);
    await pass(pathCheckInterval);
    expect([paths.items.size, parts(kernel)]).toEqual([0, []]);
  });

  test('Herald restricts a tunnel that it creates while it still looks for tunnels of an earlier process', async () => {
    const { kernel, paths, dataplane } = setup();
    const look = Promise.withResolvers<boolean>();
    paths.hasTunnel = () => look.promise;
    const replaced = dataplane.replace(node, services(frontend(1)));
    await new Promise((resolve) => setImmediate(resolve));
    const probed = dataplane.probeDirectReturn([], [own]);
    look.resolve(false);
    await Promise.all([replaced, probed]);
    expect([paths.items.size, parts(kernel)]).toEqual([1, hooks]);
  });

  test('a check of the paths removes no restriction while Herald is about to create a tunnel', async () => {
    const { kernel, paths, dataplane, pass } = setup();
    await dataplane.replace(node, services(frontend(1)));
    const transactions = kernel.run.bind(kernel);
    kernel.run = async (transaction) => {
      await transactions(transaction);
      kernel.run = transactions;
      await pass(pathCheckInterval);
    };
    await dataplane.probeDirectReturn([], [own]);
    expect([paths.items.size, parts(kernel)]).toEqual([1, hooks]);
  });

  test('a node that takes part in direct server return keeps the restriction without a tunnel', async () => {
    const { kernel, dataplane, pass } = setup();
    await dataplane.replace(node, services(frontend(1)));
    await dataplane.probeDirectReturn([], [own]);
    await dataplane.setNode({
      ...node,
      directReturn: { addresses: [own], interfaces: [], targets: [], linkAddresses: [], tunnels: false },
    });
    await pass(pathCheckInterval);
    expect(parts(kernel)).toEqual(hooks);
  });

  test('Herald does not make its tables again when it removes tunnels after it has cleared them', async () => {
    const { kernel, paths, dataplane, pass } = setup();
    await dataplane.replace(node, services(frontend(1)));
    await dataplane.probeDirectReturn([], [own]);
    await dataplane.clear();
    await pass(pathCheckInterval);
    expect([paths.items.size, kernel.tables.size]).toEqual([0, 0]);
  });
});
