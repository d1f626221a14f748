import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LiveIndex, LiveRoute, Page } from '../../src/live/contract.ts';
import type { EndpointRow } from '../../src/explain/endpoints/endpoint-report.ts';
import type { MergedHistory } from '../../src/explain/history/merged-history.ts';
import { requestLocal } from '../../src/system/http/local-socket.ts';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { bestPath, untilNextHops, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

let lab: Lab;
let herald: HeraldInLab;
let addresses: readonly string[];

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: [{ name: 'web-1', node: 'node1' }] }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.prolongHoldTimes();
  await herald.edit('30-web.yaml', (text) => text.replaceAll(/.*nodeName: node[23].*\n/g, ''));
  await herald.start(['node1', 'node2']);
  addresses = await herald.untilAssigned('shop/web', 2);
  for (const tor of ['tor1', 'tor2'])
    for (const address of addresses) await untilNextHops(lab, tor, address, viaNodes(tor, ['node1', 'node2'], address));
});

afterAll(async () => {
  await lab?.stop();
});

async function ask<T>(of: string, target: string): Promise<T> {
  const { status, chunks } = await requestLocal(herald.socket(of), target, new AbortController().signal);
  expect(status).toBe(200);
  return JSON.parse(await text(chunks)) as T;
}

const routesOf = async (node: string, query = ''): Promise<readonly LiveRoute[]> =>
  (await ask<Page<LiveRoute>>(node, `/live/v1/routes${query}`)).items;

async function history(...more: readonly string[]): Promise<MergedHistory> {
  const sockets = ['controller', 'node1', 'node2'].flatMap((of) => ['--socket', herald.socket(of)]);
  const { stdout, stderr } = await herald.run('history', 'service', 'shop/web', ...sockets, '-o', 'json', ...more);
  expect(stderr).toBe('');
  return JSON.parse(stdout) as MergedHistory;
}

const eventsOf = ({ entries }: MergedHistory, who: string): string[] => entries.filter((one) => one.by === who).map(({ what }) => what);

test('a process identifies itself at its socket', async () => {
  expect(await ask<LiveIndex>('node1', '/live')).toMatchObject({
    process: { command: 'agent', node: 'node1', directory: herald.directory },
    paths: [
      '/live/v1/addresses',
      '/live/v1/checks',
      '/live/v1/endpoints',
      '/live/v1/history',
      '/live/v1/kept',
      '/live/v1/links',
      '/live/v1/received',
      '/live/v1/routes',
      '/live/v1/sessions',
    ],
  });
  expect(await ask<LiveIndex>('controller', '/live')).toMatchObject({
    process: { command: 'controller' },
    paths: ['/live/v1/history', '/live/v1/kept'],
  });
});

test("live routes and their attributes match the routers' routes, over IPv4 and IPv6", async () => {
  for (const address of addresses) {
    const prefix = `${address}/${address.includes(':') ? 128 : 32}`;
    for (const tor of ['tor1', 'tor2']) {
      const live = (await routesOf('node1', '?service=shop%2Fweb')).filter((route) => route.prefix === prefix);
      const via = viaNodes(tor, ['node1'], address);
      const [toThisTor, ...others] = live.filter(({ nextHops }) => via.includes(nextHops[0] ?? ''));
      expect(others).toEqual([]);
      expect(toThisTor).toMatchObject({ services: ['shop/web'], nextHops: via });
      const seen = await bestPath(lab, tor, address);
      expect(toThisTor?.asPath.join(' ')).toBe(seen?.asPath);
      expect(toThisTor?.communities.join(' ')).toBe(seen?.communities);
    }
  }
  const all = await routesOf('node1');
  // The contract promises no order.
  const ordered = (routes: readonly LiveRoute[]): LiveRoute[] => routes.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const keyOf = ({ peer, prefix }: LiveRoute): string => `${peer} ${prefix}`;
  expect(ordered(all.filter(({ services }) => services.includes('shop/web')))).toEqual(
    ordered(await routesOf('node1', '?service=shop%2Fweb')),
  );
});

test('a changed attribute appears in live routes and at the routers, and history names its object', async () => {
  const [address = ''] = addresses;
  await herald.edit('20-herald.yaml', (text) => text.replace('{ addressTypes: [LoadBalancer,', '{ med: 77, addressTypes: [LoadBalancer,'));
  const prefix = `${address}/32`;
  await lab.until('the routes carry the MED', async (note) => {
    const live = note((await routesOf('node1')).filter((route) => route.prefix === prefix));
    return live.length > 0 && live.every(({ med }) => med === 77);
  });
  await lab.until('tor1 shows the MED', async (note) => {
    const { paths = [] } = await lab.router('tor1').show<{ paths?: { metric?: number }[] }>(`show bgp ipv4 unicast ${prefix} json`);
    // The path through the spine and the other ToR, if there is one, has no MED.
    return note(paths).filter(({ metric }) => metric === 77).length === 2;
  });
  const changed = await lab.until('the history has the change of both nodes', async (note) => {
    const entries = note(await history()).entries.filter(({ what }) => what === 'Changed');
    return new Set(entries.map((one) => one.by)).size === 2 ? entries : undefined;
  });
  expect(new Set(changed.map((one) => one.by))).toEqual(new Set(['node1', 'node2']));
  expect(changed[0]?.causes?.[0]).toMatchObject({ kind: 'BGPAdvertisement', resourceVersion: expect.stringMatching(/^\d+$/) });
  expect(changed[0]?.text).toContain('med 77');
});

test('history shows assignment and announcement by process, and names processes it could not ask', async () => {
  const told = await history();
  expect(eventsOf(told, 'controller')).toEqual(expect.arrayContaining(['AddressAssigned']));
  for (const node of ['node1', 'node2']) expect(eventsOf(told, node).slice(0, 2)).toEqual(['Programmed', 'Announced']);
  expect(told.unasked).toEqual([]);
  const { stdout } = await herald.run('history', 'service', 'shop/web', '--source', herald.directory, '--socket', herald.socket('node1'));
  expect(stdout).toMatch(/not queried: the agents of node2 and node3: no answer on this host/);
  expect(stdout).toMatch(/fix: run the command on that host/);
});

test('herald routes and explain show sent routes, and name processes they could not ask', async () => {
  const reads = ['--source', herald.directory, '--socket', herald.socket('node1')];
  const { stdout } = await herald.run('routes', '--service', 'shop/web', ...reads, '-o', 'json');
  type Row = { readonly node: string; readonly prefix: string; readonly nextHop: string; readonly live?: true; readonly reason?: object };
  const { routes } = JSON.parse(stdout) as { routes: readonly Row[] };
  const of = (node: string) =>
    routes.filter((row) => row.node === node && addresses.some((address) => row.prefix.startsWith(`${address}/`)));
  expect(of('node1').length).toBe(2 * addresses.length);
  expect(of('node1').every(({ live, reason }) => live === true && reason === undefined)).toBe(true);
  // The session's own address replaces "self".
  expect(new Set(of('node1').map(({ nextHop }) => nextHop))).toEqual(
    new Set(['tor1', 'tor2'].flatMap((tor) => addresses.flatMap((address) => viaNodes(tor, ['node1'], address)))),
  );
  expect(of('node2').length).toBe(2 * addresses.length);
  expect(of('node2').every(({ live, nextHop }) => live === undefined && nextHop === 'self')).toBe(true);
  const explained = await herald.run('explain', 'service', 'shop/web', '-o', 'wide', ...reads);
  expect(explained.stdout).toMatch(/has sent .*\/32, next hop 10\.1\.0\.11, AS path [\d ]+, communities 64512:100.*\(asked now\)/);
  expect(explained.stdout).toMatch(/Node node1 {2}\(asked now; forwarding reported \d+ s ago\)/);
  expect(explained.stdout).toMatch(/Node node2 {2}\(reported \d+ s ago\)/);
  const unasked = await herald.run(
    'explain',
    'service',
    'shop/web',
    '-o',
    'wide',
    '--source',
    herald.directory,
    '--socket',
    herald.socket('nobody'),
  );
  expect(unasked.stdout).toMatch(/not queried, so shown as decided and reported: .*there is no socket/);
  expect(unasked.stdout).toMatch(/ {4}sends .*\/32/);
  const quiet = await herald.run('explain', 'service', 'shop/web', ...reads, '--no-ask');
  expect(quiet.stdout).not.toMatch(/asked|queried/);
});

test('herald endpoints shows the connections of a client as the kernels of the nodes list them', async () => {
  const open = addresses.map((address) => lab.client.steady({ address, port: 80, connections: 8 }));
  try {
    type Row = Pick<EndpointRow, 'port' | 'endpoint' | 'active' | 'inactive' | 'packets' | 'state' | 'on' | 'nodes'>;
    const sockets = ['node1', 'node2'].flatMap((node) => ['--socket', herald.socket(node)]);
    const reads = ['endpoints', 'shop/web', '--source', herald.directory, ...sockets];
    const rowsOf = async (): Promise<readonly Row[]> =>
      (JSON.parse((await herald.run(...reads, '-o', 'json')).stdout) as { endpoints: readonly Row[] }).endpoints;
    const rows = await lab.until('all connections are counted', async (note) => {
      const found = note(await rowsOf());
      return found.reduce((sum, { active = 0 }) => sum + active, 0) === 8 * addresses.length ? found : undefined;
    });
    const ofTcp = rows.filter(({ port }) => port === '80/TCP');
    for (const { endpoint, active, state, on, nodes } of ofTcp) {
      const pod = endpoint.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
      const listed = await Promise.all(
        ['node1', 'node2'].map(async (node) => {
          const command = ['conntrack', '-L', '-f', pod.includes(':') ? 'ipv6' : 'ipv4', '-p', 'tcp', '--reply-src', pod, '--dst-nat'];
          const { stdout } = await lab.node(node).exec([...command, '--state', 'ESTABLISHED'], { check: false });
          return { node, active: stdout.split('\n').filter((line) => line.startsWith('tcp')).length };
        }),
      );
      expect(nodes.map(({ node, active: count }) => ({ node, active: count }))).toEqual(listed.filter((one) => one.active > 0));
      expect([active, state, on]).toEqual([listed.reduce((sum, one) => sum + one.active, 0), 'ready', 'node1']);
    }
    expect(ofTcp.every(({ packets }) => packets !== undefined && packets.in > 0 && packets.out > 0)).toBe(true);
    const { stdout } = await herald.run(...reads, '-o', 'wide');
    expect(stdout).toMatch(
      /^Service +Port +Scheduler +Endpoint +On +State +Weight +Active +Inactive +Packets In +Packets Out +Translated By\n/,
    );
    expect(stdout).toMatch(/\nConnections that node1 and node2 translate at this moment\.\n/);
  } finally {
    await Promise.all(open.map((one) => one.stop()));
  }
});

test('herald peers shows the sessions of an agent that was just restarted as its routers see them', async () => {
  const restarted = herald.agent('node1');
  restarted.kill('SIGKILL');
  await restarted.exited;
  await herald.startAgent('node1').waitForLine(/agent started/);
  for (const tor of ['tor1', 'tor2'])
    for (const address of addresses) await untilNextHops(lab, tor, address, viaNodes(tor, ['node1', 'node2'], address));
  const reads = ['--source', herald.directory, '--socket', herald.socket('node1'), '-o', 'json'];
  type Row = { readonly node: string; readonly state: string; readonly source?: string; readonly secondsInState: number };
  const { sessions } = JSON.parse((await herald.run('peers', ...reads)).stdout) as { sessions: readonly Row[] };
  const rows = sessions.filter(({ node }) => node === 'node1');
  expect(rows.map(({ state, source }) => [state, source])).toEqual(Array.from({ length: 4 }, () => ['Established', 'asked now']));
  const { stdout } = await herald.run('explain', 'service', 'shop/web', ...reads);
  const { nodes } = JSON.parse(stdout) as { nodes: { node: string; source: object; sessions: Row[] }[] };
  expect(nodes[0]).toMatchObject({ node: 'node1', source: { sessions: 'asked now', routes: 'asked now' } });
  expect(nodes[0]?.sessions.map(({ state }) => state)).toEqual(Array.from({ length: 4 }, () => 'Established'));
});

test("history --watch continues across an agent's restart and reports it", async () => {
  const sockets = ['controller', 'node1', 'node2'].flatMap((of) => ['--socket', herald.socket(of)]);
  const watch = herald.startCommand('node1', 'watch', 'history', 'service', 'shop/web', '--watch', '1', ...sockets);
  await watch.waitForLine(/^the agent of node2 knows/, 60_000);
  const announced = (node: string): number => watch.lines().filter((line) => line.includes(`  ${node}       Announced: `)).length;
  const before = { node1: announced('node1'), node2: announced('node2') };
  await herald.edit('20-herald.yaml', (text) => text.replace('med: 77', 'med: 78'));
  await watch.waitForLine(/ {2}node2 +Changed: .*med 78/, 60_000);
  const restarted = herald.agent('node2');
  restarted.kill('SIGKILL');
  await restarted.exited;
  await watch.waitForLine(/^herald: the agent of node2 does not answer any more$/, 60_000);
  herald.startAgent('node2');
  await watch.waitForLine(/^herald: the agent of node2 was restarted at .*Z: it knows nothing from before$/, 60_000);
  await lab.until('the new agent announces', (note) => note(announced('node2')) > before.node2, 60_000);
  // Entries of the other processes are not printed again.
  expect(announced('node1')).toBe(before.node1);
  watch.kill('SIGINT');
  expect(await watch.exited).toEqual({ code: 0, signal: null });
});

test('a withdrawn Service has no live route, and history names the reason and the object', async () => {
  await herald.edit('30-web.yaml', (text) => text.replaceAll('ready: true', 'ready: false'));
  for (const tor of ['tor1', 'tor2']) for (const address of addresses) await untilNextHops(lab, tor, address, []);
  await lab.until('there is no live route', async (note) => note(await routesOf('node1', '?service=shop%2Fweb')).length === 0);
  const told = await history('--node', 'node1');
  expect(eventsOf(told, 'node2')).toEqual([]);
  const last = told.entries.findLast(({ what }) => what === 'Withdrawn');
  expect(last?.reason?.code).toMatch(/Endpoint|Backend/);
  expect(last?.causes?.map(({ kind }) => kind)).toContain('EndpointSlice');
});

test('the history of a peer has the end of its session with the reason', async () => {
  const killed = lab.router('tor1');
  await killed.kill('bgpd');
  const peers = async (): Promise<MergedHistory> => {
    const { stdout } = await herald.run('history', 'peer', 'tor1-v4', '--socket', herald.socket('node1'), '-o', 'json');
    return JSON.parse(stdout) as MergedHistory;
  };
  await lab.until(
    'the session is down',
    async (note) => note((await peers()).entries.map(({ what }) => what)).includes('SessionDown'),
    60_000,
  );
  const { entries } = await peers();
  expect(entries[0]).toMatchObject({ what: 'SessionUp', kind: 'BGPPeer', text: expect.stringContaining('established') });
  expect(entries.find(({ what }) => what === 'SessionDown')?.text).toMatch(/./);
});
