import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { peersCommand } from '../../../../../src/cli/commands/tables/peers-command.ts';
import { poolsCommand } from '../../../../../src/cli/commands/tables/pools-command.ts';
import { routesCommand } from '../../../../../src/cli/commands/tables/routes-command.ts';
import { statusCommand } from '../../../../../src/cli/commands/tables/status-command.ts';
import { VirtualClock } from '../../../../../src/system/virtual-clock.ts';
import { until } from '../../../../lab/until.ts';
import { FabricCluster, listPath } from '../../fabric-cluster.ts';
import { inProcess } from '../../in-process.ts';
import { PausingClock } from '../../pausing-clock.ts';

const leases = '/apis/coordination.k8s.io/v1/leases';
const inSystem = leases.replace('leases', 'namespaces/herald-system/leases');

const ours = (kind: string): string => listPath({ apiVersion: 'herald.dev/v1alpha1', kind });

let cluster: FabricCluster;
beforeEach(async () => {
  cluster = await FabricCluster.start();
});
afterEach(() => cluster.stop());

const all = [
  ['status', statusCommand, 'Sessions    0 of 12 established'],
  ['peers', peersCommand, 'node3  tor2-v6  64512     65102    fd00:2::1     not reported'],
  ['routes', routesCommand, 'node1  tor1-v4  192.0.2.10/32       self      AgentSilent  64512:100    shop/web'],
  ['pools', poolsCommand, '2 Services wait for an address.'],
] as const;

describe.each(all)('herald %s', (_, command, line) => {
  test('the table reads a cluster without writing, a directory, and manifests', async () => {
    const { code, stdout, stderr } = await cluster.herald(command, []);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(line);
    expect(cluster.server.methods).toEqual(new Set(['GET']));
    expect(cluster.server.watchers).toBe(0);
    expect((await inProcess(command, ['-f', 'examples/fabric'])).stdout.length).toBeGreaterThan(100);
    expect((await inProcess(command, ['--source', 'examples/fabric'])).stdout).toContain(line);
  });

  test('JSON and YAML output have the same data, with what could not be read', async () => {
    cluster.server.forbidden.add(listPath({ apiVersion: 'herald.dev/v1alpha1', kind: 'NodeState' }));
    const json: unknown = JSON.parse((await cluster.herald(command, ['-o', 'json'])).stdout);
    expect(json).toMatchObject({ problems: [], unread: [{ kind: 'NodeState', why: 'forbidden' }] });
    expect(parse((await cluster.herald(command, ['-o', 'yaml'])).stdout)).toEqual(json);
    const { stdout } = await cluster.herald(command, []);
    expect(stdout).toContain('\n\nnot read: nodestates.herald.dev: you may not list them');
    expect(stdout).not.toContain('AgentSilent');
  });

  test('an invalid format or interval is a mistake on the command line', async () => {
    expect(await inProcess(command, ['-o', 'xml'])).toMatchObject({
      code: 64,
      stdout: '',
      stderr: expect.stringContaining('text, wide, json, yaml'),
    });
    for (const pause of ['0', '3601', 'x'])
      expect(await inProcess(command, ['--watch', pause])).toMatchObject({ code: 64, stderr: expect.stringContaining('1 to 3600') });
  });

  test('--help has examples', async () => {
    const { code, stdout } = await inProcess(command, ['--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/--watch \[seconds\][^]*\nExample:\n {2}herald /);
  });
});

describe('names as options of tables', () => {
  test.each([
    [peersCommand, ['--node', 'x'], 'there is no valid node x: there are node1, node2, node3'],
    [peersCommand, ['--peer', 'x'], 'there is no valid BGPPeer x: there are tor1-v4, tor1-v6, tor2-v4, tor2-v6'],
    [routesCommand, ['--node', 'x'], 'there is no valid node x: there are node1, node2, node3'],
    [routesCommand, ['--service', 'x'], 'there is no valid Service default/x: there are'],
    [poolsCommand, ['--pool', 'x'], 'there is no valid IPAddressPool x: there are public, tiny'],
  ] as const)('an unknown name is answered with the known names', async (command, words, told) => {
    const { code, stdout, stderr } = await inProcess(command, ['--source', 'examples/fabric', ...words]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(told);
  });

  test('a known name restricts the table', async () => {
    const { stdout } = await inProcess(peersCommand, ['--source', 'examples/fabric', '--node', 'node2', '--peer', 'tor1-v6', '-o', 'json']);
    expect(JSON.parse(stdout)).toMatchObject({ sessions: [{ node: 'node2', peer: 'tor1-v6' }] });
    const routes = await inProcess(routesCommand, ['--source', 'examples/fabric', '--service', 'shop/ledger']);
    expect(routes.stdout).not.toContain('shop/web');
  });
});

describe('what a table cannot show', () => {
  const needs = [
    ['peers', peersCommand, 'BGPPeer', 'There are no'],
    ['pools', poolsCommand, 'IPAddressPool', 'There are no'],
    ['routes', routesCommand, 'BGPAdvertisement', 'There are no'],
    ['status', statusCommand, 'IPAddressPool', 'There are no'],
    ['status --problems', statusCommand, 'IPAddressPool', 'No problems'],
  ] as const;

  test.each(needs)(
    'herald %s fails where it may not read a kind, and does not say that there is none',
    async (name, command, kind, none) => {
      const path = ours(kind);
      const words = name.split(' ').slice(1);
      cluster.server.forbidden.add(path);
      const refused = await cluster.herald(command, words);
      expect(refused.code).toBe(1);
      expect(refused.stdout).toContain(`not read: ${path.replace(/.*\//, '')}.herald.dev: you may not list them`);
      expect(refused.stdout).not.toContain(none);
      cluster.server.forbidden.clear();
      cluster.server.absent.add(path);
      const absent = await cluster.herald(command, words);
      expect(absent.code).toBe(1);
      expect(absent.stdout).toContain('not installed: ');
      expect(absent.stdout).not.toContain(none);
    },
  );

  test('a kind that cannot be read is named with the caller and the fix', async () => {
    cluster.server.forbidden.add(ours('IPAddressPool'));
    expect((await cluster.herald(poolsCommand, [])).stdout).toContain(
      'Not known: you may not list ipaddresspools.herald.dev. Fix: ask a person with the ClusterRole herald-explain, or have it bound to you.',
    );
    cluster.server.forbidden.clear();
    cluster.server.absent.add(ours('IPAddressPool'));
    expect((await cluster.herald(poolsCommand, [])).stdout).toContain(
      'Herald is not installed in this cluster, or not all of it: there is no ipaddresspools.herald.dev. Fix: install the chart, or the CRDs of manifests/crds.',
    );
  });

  test('nodes, sessions and Services that cannot be read are not counted as none', async () => {
    for (const path of ['/api/v1/services', '/api/v1/nodes']) cluster.server.forbidden.add(path);
    const { code, stdout } = await cluster.herald(statusCommand, []);
    expect(code).toBe(1);
    for (const row of ['Nodes       not known', 'Sessions    not known', 'Services    not known']) expect(stdout).toContain(row);
  });

  test('input that is no YAML fails', async () => {
    for (const command of [poolsCommand, peersCommand, routesCommand, statusCommand])
      expect(await inProcess(command, ['-f', '-'], { readInput: async () => 'a: [b' })).toMatchObject({ code: 1 });
  });
});

describe('what a table is asked to show', () => {
  const fabric = ['--source', 'examples/fabric'];

  test.each([
    ['pools', poolsCommand, ['ipaddresspool/public', 'ipaddresspool/tiny']],
    ['peers', peersCommand, ['bgppeer/tor1-v4', 'bgppeer/tor1-v6', 'bgppeer/tor2-v4', 'bgppeer/tor2-v6']],
    ['routes', routesCommand, ['service/shop/web']],
    ['status', statusCommand, ['node/node1', 'node/node2', 'node/node3', 'service/shop/ledger', 'service/shop/web']],
  ] as const)('herald %s -o name lists each object once', async (_, command, names) => {
    const { stdout } = await inProcess(command, [...fabric, '-o', 'name']);
    expect(stdout.trim().split('\n').toSorted()).toEqual(names);
  });

  test.each([
    ['rack=a', 'public'],
    ['rack!=a', 'tiny'],
    ['rack in (a, b),tier notin (gold)', 'public'],
    ['rack', 'public'],
    ['!rack', 'tiny'],
  ])('-l %s selects as kubectl does', async (selector, pool) => {
    const labelled = (name: string, labels: object, addresses: string): string =>
      `apiVersion: herald.dev/v1alpha1\nkind: IPAddressPool\nmetadata: ${JSON.stringify({ name, labels })}\nspec: {addresses: [${addresses}]}\n`;
    const input = `${labelled('public', { rack: 'a' }, '192.0.2.0/28')}---\n${labelled('tiny', {}, '198.51.100.0/28')}`;
    const { stdout } = await inProcess(poolsCommand, ['-f', '-', '-l', selector, '-o', 'name'], { readInput: async () => input });
    expect(stdout.trim()).toBe(`ipaddresspool/${pool}`);
  });

  test('a selector without a match, or that is none, is a mistake', async () => {
    for (const [, command] of all) {
      expect(await inProcess(command, [...fabric, '-l', 'no=such'])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('--selector'),
      });
      expect(await inProcess(command, [...fabric, '-l', 'a b'])).toMatchObject({
        code: 64,
        stderr: expect.stringContaining('"a b" is no term'),
      });
    }
  });

  test('routes of one namespace, or of all', async () => {
    expect((await inProcess(routesCommand, [...fabric, '-n', 'other'])).stdout).toContain('There are no routes');
    for (const words of [['-n', 'shop'], ['-A']])
      expect((await inProcess(routesCommand, [...fabric, ...words])).stdout).toContain('shop/web');
  });

  describe.each(all)('herald %s as kubectl', (_, command) => {
    test.each(['text', 'wide', 'json', 'yaml', 'name'])('-o %s prints something', async (format) => {
      const { code, stdout } = await inProcess(command, [...fabric, '-o', format]);
      expect([code, stdout.length > 10]).toEqual([0, true]);
    });

    test('-A shows what no option shows, and -n and -A together are refused', async () => {
      const ageless = (text: string): string => text.replaceAll(/\d+ (s|ms)\b/g, '');
      const plain = (await inProcess(command, fabric)).stdout;
      expect(ageless((await inProcess(command, [...fabric, '-A'])).stdout)).toBe(ageless(plain));
      expect(await inProcess(command, [...fabric, '-A', '-n', 'shop'])).toMatchObject({ code: 64, stderr: expect.stringContaining('-n') });
    });
  });

  test.each([
    ['pools', poolsCommand],
    ['peers', peersCommand],
  ] as const)('herald %s -n changes nothing, because its objects are in no namespace', async (_, command) => {
    expect((await inProcess(command, [...fabric, '-n', 'other'])).stdout).toBe((await inProcess(command, fabric)).stdout);
  });

  test.each([
    ['-n shop', '2 of type LoadBalancer, 2 of them', ['shop/ledger', 'shop/web']],
    ['-n other', '0 of type LoadBalancer, 0 of them', []],
    ['-l reach=fabric', '1 of type LoadBalancer, 1 of them', ['shop/web']],
    ['-n shop -l reach!=fabric', '1 of type LoadBalancer, 1 of them', ['shop/ledger']],
  ] as const)(
    'herald status %s shows these Services in the table, the names and the problems, and all nodes',
    async (line, counts, services) => {
      const run = (...words: string[]) => inProcess(statusCommand, [...fabric, ...line.split(' '), ...words]);
      const { stdout } = await run();
      expect(stdout).toContain(counts);
      expect(stdout).toContain('0 of 3 report');
      const mentioned = (text: string): string[] => ['shop/ledger', 'shop/web'].filter((name) => text.includes(name));
      expect(mentioned(stdout)).toEqual(services);
      expect(mentioned((await run('-o', 'name')).stdout)).toEqual(services);
      expect(mentioned((await run('--problems', '-o', 'json')).stdout)).toEqual(services);
    },
  );

  test.each(['-n shop', '-l app=web', '--service shop/web'])('received routes are of no Service, so %s is refused', async (words) => {
    const { code, stderr } = await inProcess(routesCommand, [...fabric, '--received', ...words.split(' ')]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('received routes belong to no Service')]);
  });

  test('--as, --as-group and --token reach the API server, and a request has its time', async () => {
    const words = ['--as', 'jane', '--as-group', 'dev', '--as-group', 'ops', '--token', 'abc', '--request-timeout', '5s', '--no-ask'];
    expect((await cluster.herald(poolsCommand, words)).code).toBe(0);
    expect(new Set(cluster.server.impersonations.map(String))).toEqual(new Set(['jane,dev, ops']));
    expect(await cluster.herald(poolsCommand, ['--as-group', 'dev'])).toMatchObject({ code: 64, stderr: expect.stringContaining('--as') });
    for (const time of ['0s', '11m', '5'])
      expect(await cluster.herald(poolsCommand, ['--request-timeout', time])).toMatchObject({ code: 64 });
  });
});

describe('the controller in herald status', () => {
  const first = async (): Promise<string | undefined> => (await cluster.herald(statusCommand, [])).stdout.split('\n')[0];

  test('status shows the holder of the Lease, an unused Lease, and works without the right to read it', async () => {
    expect(await first()).toBe('Controller  none leads: the Lease herald-system/herald-controller is free');
    const spec = { holderIdentity: 'c1_12', leaseDurationSeconds: 15, renewTime: '2020-01-01T00:00:00.000000Z' };
    cluster.server.put(leases, 'herald-controller', { spec }, 'herald-system');
    expect(await first()).toMatch(/^Controller {2}c1_12 leads, renewed \d+d\d*h? ago \(it has expired/);
    cluster.server.forbidden.add(inSystem);
    expect(await first()).toBe('Nodes       0 of 3 report');
  });
});

describe('configuration objects in herald status', () => {
  test('status lists objects with a False condition: missing references, or no effect', async () => {
    const spec = { ipAddressPools: ['gone'], peers: ['tor1-v4'] };
    cluster.server.put(ours('BGPAdvertisement'), 'a-pool', { spec });
    cluster.server.put(ours('BGPAdvertisement'), 'b-peer', { spec: { peers: ['gone', 'tor1-v4'] } });
    cluster.server.put(ours('BGPAdvertisement'), 'c-nodes', { spec: { nodeSelectors: [{ matchLabels: { rack: 'none' } }] } });
    const peer = { myASN: 64_512, peerASN: 65_101, peerAddress: '10.1.0.77', bfdProfile: 'gone' };
    cluster.server.put(ours('BGPPeer'), 'tor3', { spec: peer });
    const { stdout } = await cluster.herald(statusCommand, ['-o', 'json']);
    const { objects } = JSON.parse(stdout) as { objects: { object: string; reason: { code: string } }[] };
    expect(objects.map(({ object, reason }) => `${object} ${reason.code}`)).toEqual([
      'BGPAdvertisement/a-pool UnknownPool',
      'BGPAdvertisement/b-peer UnknownPeer',
      'BGPAdvertisement/c-nodes AdvertisesNothing',
      'BGPPeer/tor3 BFDProfileMissing',
    ]);
    expect((await cluster.herald(statusCommand, [])).stdout).toContain(
      'Objects     4 not as they should be\n            BGPAdvertisement/a-pool: UnknownPool: BGPAdvertisement "a-pool" ',
    );
    // A caller who may not list pools is not told that pools are missing.
    cluster.server.forbidden.add(ours('IPAddressPool'));
    const { stdout: partly } = await cluster.herald(statusCommand, []);
    expect(partly).toContain('BGPAdvertisement/a-pool: Undecided: ');
  });

  test('status has no section of objects when all are well', async () => {
    const { stdout } = await inProcess(statusCommand, ['--source', 'examples/fabric']);
    expect(stdout).not.toContain('Objects ');
  });
});

describe('conditions in herald status', () => {
  const of = async (): Promise<unknown> => {
    const { services } = JSON.parse((await cluster.herald(statusCommand, ['-o', 'json'])).stdout) as {
      services: { conditions: { condition: string; reason: string }[] };
    };
    return services.conditions.map(({ condition, reason }) => `${condition} ${reason}`);
  };

  test('status shows current conditions, and recorded ones when not everything may be read', async () => {
    const type = 'herald.dev/AddressAssigned';
    const condition = { type, status: 'True', reason: 'Assigned', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
    cluster.edit('web', () => ({ status: { loadBalancer: {}, conditions: [condition] } }));
    expect(await of()).toEqual(['AddressAssigned NoAddress']);
    cluster.server.forbidden.add(ours('IPAddressPool'));
    expect(await of()).toEqual(['AddressAssigned Assigned']);
  });
});

describe('herald pools --watch', () => {
  test('--watch prints only changes, survives an unreachable API server, and ends with the signal', async () => {
    const clock = new PausingClock();
    const stop = new AbortController();
    const stdout: string[] = [];
    const stderr: string[] = [];
    const changes = {
      clock,
      stopped: stop.signal,
      print: (line: string) => void stdout.push(line),
      printError: (line: string) => void stderr.push(line),
    };
    const ended = cluster.herald(poolsCommand, ['--watch', '7', '-o', 'yaml'], changes);
    const documents = (): number => parseAllDocuments(stdout.join('\n')).length;
    const lists = (): number => cluster.server.paths.filter((path) => path === '/api/v1/services').length;
    const round = async (done: () => boolean): Promise<void> => {
      await until('a round', () => {
        if (!done() && clock.isPausing) clock.advance(7000);
        return done();
      });
    };
    await until('the first answer', () => stdout.length > 0);
    await round(() => lists() >= 3);
    expect(documents()).toBe(1);
    cluster.server.put(listPath({ apiVersion: 'herald.dev/v1alpha1', kind: 'IPAddressPool' }), 'more', {
      spec: { addresses: ['203.0.113.16/28'] },
    });
    await round(() => stdout.includes('---'));
    expect(documents()).toBe(2);
    cluster.server.refuseAll = true;
    await round(() => stderr.length > 0);
    expect(stderr[0]).toContain('(trying again in 7 s)');
    cluster.server.refuseAll = false;
    cluster.server.remove(listPath({ apiVersion: 'herald.dev/v1alpha1', kind: 'IPAddressPool' }), 'more');
    await round(() => documents() === 3);
    stop.abort('SIGINT');
    expect(await ended).toMatchObject({ code: 0 });
    expect(clock.pending).toBe(0);
  });

  test('a first read that fails ends the command', async () => {
    cluster.server.refuseAll = true;
    expect((await cluster.herald(peersCommand, ['--watch'])).code).toBe(1);
  });

  test('--watch redraws a terminal', async () => {
    const screen: string[] = [];
    const stop = new AbortController();
    const print = (line: string): void => {
      screen.push(line);
      stop.abort('SIGINT');
    };
    await cluster.herald(peersCommand, ['--watch'], { isTerminal: true, stopped: stop.signal, clock: new VirtualClock(), print });
    expect(screen[0]).toBe('\u001B[2J\u001B[Hherald peers, every 5 s  2026-01-01T00:00:00.000Z\n');
  });
});
