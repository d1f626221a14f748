import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DataplaneError, type ApplyResult } from '../../src/dataplane/dataplane.ts';
import { ElementList } from '../../src/dataplane/ruleset/element-list.ts';
import { elementFromText } from '../support/commands/element-from-text.ts';
import { keyText } from '../../src/dataplane/ruleset/element-text.ts';
import { NftablesDataplane, type NftablesPorts } from '../../src/dataplane/nftables/nftables.ts';
import type { NftExecutor, Transaction } from '../../src/dataplane/nftables/executor.ts';
import { commandPorts } from '../support/commands/command-ports.ts';
import { machinePorts } from '../../src/dataplane/nftables/ports.ts';
import { namespaceNamed } from '../support/namespace-named.ts';
import { markerChain } from '../../src/dataplane/ruleset/layout.ts';
import { skeleton } from '../../src/dataplane/ruleset/skeleton.ts';
import { skeletonScript } from '../support/commands/nft-script.ts';
import { address, type Family } from '../../src/net/address.ts';
import type { Backend, Frontend, NodeForwarding, Protocol, ServiceForwarding } from '../../src/net/frontend.ts';
import { hostPrefix, maskedPrefix, prefix } from '../../src/net/prefix.ts';
import { systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../../src/system/log.ts';
import {
  blockedAddress,
  shortTimeout,
  clientAddress,
  inside,
  namespaceOf,
  nodeAddress,
  OneNode,
  podAddress,
  podPort,
} from './dataplane/one-node.ts';
import type { StayingConnection } from './dataplane/staying-connection.ts';
import { until } from './until.ts';

const families: readonly Family[] = [4, 6];
const protocols: readonly Protocol[] = ['TCP', 'UDP'];
const cells = families.flatMap((family) => protocols.map((protocol) => ({ family, protocol })));

const clusterIp = (family: Family, host: number): string => (family === 4 ? `172.30.0.${host}` : `fd02::${host}`);
const external = (family: Family, host: number): string => (family === 4 ? `192.0.2.${host}` : `fd09::${host}`);

const node: NodeForwarding = {
  nodePortAddresses: families.map((family) => hostPrefix(address(nodeAddress(family)))),
  podPrefixes: [prefix('10.244.0.0/16'), prefix('fd01::/64')],
  servicePrefixes: [prefix('172.30.0.0/24'), prefix('fd02::/112')],
  masqueradeBit: 14,
};

const pods = (family: Family, ...numbers: number[]): Backend[] =>
  numbers.map((number) => ({ address: address(podAddress(family, number)), port: podPort, local: number !== 3 }));

type Overrides = Partial<Omit<Frontend, 'match' | 'backends' | 'localBackends'>> & {
  readonly use?: readonly number[];
  readonly useLocal?: readonly number[];
};

/** Returns the frontend in both families and both protocols. */
function inAllCells(
  where: { readonly host: number; readonly at: typeof clusterIp } | { readonly nodePort: number },
  overrides: Overrides,
): Frontend[] {
  const { use = [1, 2, 3], useLocal = [], ...rest } = overrides;
  return cells.map(({ family, protocol }) => ({
    match:
      'nodePort' in where
        ? { kind: 'nodePort', family, protocol, port: where.nodePort }
        : { kind: 'address', address: address(where.at(family, where.host)), protocol, port: 80 },
    scope: 'nodePort' in where || where.at === external ? 'external' : 'internal',
    policy: 'Cluster',
    backends: pods(family, ...use),
    localBackends: pods(family, ...useLocal),
    ...rest,
  }));
}

const onlyClient = [prefix('10.99.0.2/32'), prefix('fd99::2/128')];
const services: ReadonlyMap<string, ServiceForwarding> = new Map(
  Object.entries({
    plain: inAllCells({ host: 1, at: clusterIp }, {}),
    empty: [...inAllCells({ host: 2, at: clusterIp }, { use: [] }), ...inAllCells({ host: 13, at: external }, { use: [] })],
    internalLocal: inAllCells({ host: 3, at: clusterIp }, { policy: 'Local', useLocal: [1] }),
    internalLocalNone: inAllCells({ host: 4, at: clusterIp }, { policy: 'Local', use: [3] }),
    affinity: [
      ...inAllCells({ host: 5, at: clusterIp }, { affinity: { seconds: 10_800, servicePort: 'affinity' } }),
      ...inAllCells(
        { host: 15, at: external },
        { affinity: { seconds: 60, servicePort: 'affinity Local' }, policy: 'Local', useLocal: [1, 2] },
      ),
      ...inAllCells({ nodePort: 30_005 }, { affinity: { seconds: 60, servicePort: 'affinity NodePort' } }),
    ],
    hairpin: inAllCells({ host: 6, at: clusterIp }, { use: [1] }),
    balancer: [...inAllCells({ host: 10, at: external }, {}), ...inAllCells({ nodePort: 30_001 }, {})],
    local: [
      ...inAllCells({ host: 11, at: external }, { policy: 'Local', use: [1, 3], useLocal: [1] }),
      ...inAllCells({ nodePort: 30_002 }, { policy: 'Local', use: [1, 3], useLocal: [1] }),
    ],
    localNone: inAllCells({ host: 12, at: external }, { policy: 'Local', use: [3] }),
    restricted: inAllCells({ host: 14, at: external }, { use: [1, 2], sourceRanges: onlyClient }),
  }).map(([name, frontends]) => [name, { frontends }]),
);

const prefixToNode = ['ip', 'netns', 'exec', namespaceOf('node')];
// The tables have no owner, because tests play other programs that change them.
const ports = (): NftablesPorts => machinePorts(systemClock, silentLog, { own: false, namespace: namespaceNamed(namespaceOf('node')) });
const wait = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Returns the executor with another function for running transactions. */
function withRun(executor: NftExecutor, run: NftExecutor['run']): NftExecutor {
  return {
    run,
    removeTables: () => executor.removeTables(),
    readTable: (skeleton) => executor.readTable(skeleton),
    monitor: (events) => executor.monitor(events),
    close: () => executor.close(),
  };
}

/** Starts a data plane in the place of one that was stopped. */
async function restart(): Promise<void> {
  dataplane = new NftablesDataplane(ports());
  await dataplane.replace(node, services);
}

let lab: OneNode;
let dataplane: NftablesDataplane;

beforeAll(async () => {
  lab = await OneNode.start();
  dataplane = new NftablesDataplane(ports());
  const result = await dataplane.replace(node, services);
  if (result.quarantined.size > 0) throw new Error([...result.quarantined.keys()].join());
});

afterAll(async () => {
  await dataplane?.close();
  lab?.stop();
});

describe.each(cells)('IPv$family $protocol', ({ family, protocol }) => {
  const request = (from: Parameters<OneNode['request']>[0], address: string, port: number, more: object = {}) =>
    lab.request(from, { protocol, address, port, count: 24, ...more });

  test('a pod reaches every backend of a ClusterIP with its own address', async () => {
    const outcome = await request('pod1', clusterIp(family, 6), 80, { count: 2 });
    expect(outcome.counts).toEqual({ pod1: 2 });
    const spread = await request('pod2', clusterIp(family, 1), 80, { count: 40 });
    expect(Object.keys(spread.counts).sort()).toEqual(['pod1', 'pod2', 'pod3']);
    const direct = await request('pod2', clusterIp(family, 6), 80, { count: 2 });
    expect(direct).toMatchObject({ counts: { pod1: 2 }, clients: [podAddress(family, 2)] });
  });

  test('a pod that reaches itself is masqueraded', async () => {
    const outcome = await request('pod1', clusterIp(family, 6), 80, { count: 2 });
    expect(outcome.counts).toEqual({ pod1: 2 });
    expect(outcome.clients).not.toContain(podAddress(family, 1));
  });

  test('a client outside or on the node that uses a ClusterIP is masqueraded', async () => {
    const outside = await request('client', clusterIp(family, 6), 80, { count: 2 });
    expect(outside.counts).toEqual({ pod1: 2 });
    expect(outside.clients).not.toContain(clientAddress(family));
    expect((await request('node', clusterIp(family, 1), 80, { count: 4 })).counts).not.toHaveProperty('TIMEOUT');
  });

  test('a Service without backends refuses all of twenty requests in a row', async () => {
    for (const from of ['client', 'pod1', 'node'] as const) {
      for (const target of [clusterIp(family, 2), external(family, 13)]) {
        const outcome = await request(from, target, 80, { count: 20 });
        // The kernel reports EPERM at once to a local sender of a datagram.
        const codes = from === 'node' && protocol === 'UDP' ? ['ECONNREFUSED', 'EPERM'] : ['ECONNREFUSED'];
        expect([from, Object.keys(outcome.counts).filter((code) => !codes.includes(code))]).toEqual([from, []]);
      }
    }
  });

  test('an unused port of a ClusterIP refuses, and an unowned address in the service range drops', async () => {
    expect((await request('client', clusterIp(family, 1), 81, { count: 1 })).counts).toEqual({ ECONNREFUSED: 1 });
    expect((await request('pod1', clusterIp(family, 77), 80, { count: 1, timeout: shortTimeout })).counts).toEqual({ TIMEOUT: 1 });
  });

  test('internal policy Local uses local backends only and drops without one', async () => {
    expect((await request('pod2', clusterIp(family, 3), 80, { count: 8 })).counts).toEqual({ pod1: 8 });
    expect((await request('pod2', clusterIp(family, 4), 80, { count: 1, timeout: shortTimeout })).counts).toEqual({ TIMEOUT: 1 });
    expect((await request('node', clusterIp(family, 3), 80, { count: 4 })).counts).toEqual({ pod1: 4 });
  });

  test('policy Cluster spreads an external address over all backends, masqueraded, for every client', async () => {
    for (const from of ['client', 'pod1', 'node'] as const) {
      const outcome = await request(from, external(family, 10), 80, { count: 40 });
      expect(Object.keys(outcome.counts).sort()).toEqual(['pod1', 'pod2', 'pod3']);
      expect(outcome.clients).not.toContain(clientAddress(family));
      expect(outcome.clients).not.toContain(podAddress(family, 1));
    }
  });

  test('policy Local keeps the client address and uses local backends; pods and the node use all', async () => {
    const outside = await request('client', external(family, 11), 80);
    expect(outside).toMatchObject({ counts: { pod1: 24 }, clients: [clientAddress(family)] });
    const pod = await request('pod2', external(family, 11), 80);
    expect(Object.keys(pod.counts).sort()).toEqual(['pod1', 'pod3']);
    expect(pod.clients).toEqual([podAddress(family, 2)]);
    expect(Object.keys((await request('node', external(family, 11), 80)).counts).sort()).toEqual(['pod1', 'pod3']);
  });

  test('policy Local without a local backend drops outside clients and serves pods and the node', async () => {
    expect((await request('client', external(family, 12), 80, { count: 1, timeout: shortTimeout })).counts).toEqual({ TIMEOUT: 1 });
    expect((await request('pod1', external(family, 12), 80, { count: 4 })).counts).toEqual({ pod3: 4 });
    expect((await request('node', external(family, 12), 80, { count: 4 })).counts).toEqual({ pod3: 4 });
  });

  test('a NodePort follows its policy and answers on the node address only', async () => {
    const cluster = await request('client', nodeAddress(family), 30_001, { count: 40 });
    expect(Object.keys(cluster.counts).sort()).toEqual(['pod1', 'pod2', 'pod3']);
    expect(cluster.clients).not.toContain(clientAddress(family));
    const local = await request('client', nodeAddress(family), 30_002, { count: 8 });
    expect(local).toMatchObject({ counts: { pod1: 8 }, clients: [clientAddress(family)] });
    const otherAddress = family === 4 ? '10.244.1.1' : 'fd01::1';
    expect((await request('client', otherAddress, 30_001, { count: 1 })).counts).toEqual({ ECONNREFUSED: 1 });
  });

  test('source ranges drop all other clients', async () => {
    expect(
      (await request('client', external(family, 14), 80, { count: 4, localAddress: clientAddress(family) })).counts,
    ).not.toHaveProperty('TIMEOUT');
    const once = { count: 1, timeout: shortTimeout };
    const blocked = await request('client', external(family, 14), 80, { ...once, localAddress: blockedAddress(family) });
    expect(blocked.counts).toEqual({ TIMEOUT: 1 });
    expect((await request('pod1', external(family, 14), 80, once)).counts).toEqual({ TIMEOUT: 1 });
  });

  test('session affinity keeps a client with one backend on every kind of frontend', async () => {
    for (const [target, port] of [
      [clusterIp(family, 5), 80],
      [external(family, 15), 80],
      [nodeAddress(family), 30_005],
    ] as const) {
      const outcome = await request('client', target, port);
      expect(Object.values(outcome.counts)).toEqual([24]);
      expect(Object.keys(outcome.counts)[0]).toMatch(/^pod/);
    }
  });

  test('packets to an external address on a port of no Service are not touched', async () => {
    // The node routes the packet back to the client, whose kernel does not own the address.
    const outcome = await request('client', external(family, 10), 81, { count: 1, timeout: shortTimeout });
    expect(Object.keys(outcome.counts)[0]).toMatch(/^(TIMEOUT|EHOSTUNREACH)$/);
  });
});

describe('session affinity', () => {
  const affine = (family: Family, use: readonly number[]): ServiceForwarding => ({
    frontends: inAllCells({ host: 20, at: external }, { affinity: { seconds: 60, servicePort: 'affine' }, use }).filter(
      (each) => each.backends[0]?.address.family === family,
    ),
  });

  test.each(families)('IPv%i: a client stays while other backends come and go, and moves when its own goes', async (family) => {
    const request = { protocol: 'TCP', address: external(family, 20), port: 80, count: 12 } as const;
    await dataplane.apply(new Map([['affine', affine(family, [1, 2, 3])]]));
    const first = Object.keys((await lab.request('client', request)).counts);
    expect(first).toHaveLength(1);
    const mine = Number(first[0]?.slice(3));
    const others = [1, 2, 3].filter((pod) => pod !== mine);
    await dataplane.apply(
      new Map([
        [
          'affine',
          affine(
            family,
            [mine, others[0] ?? 0].toSorted((a, b) => a - b),
          ),
        ],
      ]),
    );
    expect((await lab.request('client', request)).counts).toEqual({ [`pod${mine}`]: 12 });
    await dataplane.apply(new Map([['affine', affine(family, others)]]));
    const moved = (await lab.request('client', request)).counts;
    expect(Object.values(moved)).toEqual([12]);
    expect(moved).not.toHaveProperty(`pod${mine}`);
    await dataplane.apply(new Map([['affine', undefined]]));
  });
});

describe('a removed backend', () => {
  const of = (more: Overrides): ServiceForwarding => ({ frontends: inAllCells({ host: 90, at: external }, more) });

  test.each(families)('IPv%i: TCP connections are reset only if the Service asks for it', async (family) => {
    /** Opens a connection and removes its backend. */
    const removed = async (more: Overrides): Promise<StayingConnection> => {
      await dataplane.apply(new Map([['going', of({ use: [1], ...more })]]));
      const running = await lab.connection('client', external(family, 90), 80);
      await dataplane.apply(new Map([['going', of({ use: [2], ...more })]]));
      return running;
    };
    expect(await (await removed({ resetRemoved: true })).failed()).toMatchObject({ failure: 'ECONNRESET' });
    const staying = await removed({});
    await wait(1_500);
    expect(await staying.end()).toMatchObject({ failure: '' });
    await dataplane.apply(new Map([['going', undefined]]));
  });

  test.each(families)('IPv%i: a TCP connection that it did not answer before it was lost goes to another one', async (family) => {
    await dataplane.apply(new Map([['going', of({ use: [3] })]]));
    inside('pod3', 'nft add table inet lost');
    inside('pod3', 'nft add chain inet lost input { type filter hook input priority 0; policy drop; }');
    try {
      // The kernel of the client repeats its first packet after a second.
      const began = performance.now();
      const connecting = lab.connection('client', external(family, 90), 80);
      await until('the node tracks the connection', () =>
        inside('node', 'conntrack -L -p tcp --state SYN_SENT').includes(external(family, 90)),
      );
      await dataplane.apply(new Map([['going', of({ use: [1] })]]));
      expect(await (await connecting).end()).toMatchObject({ failure: '' });
      expect(performance.now() - began).toBeGreaterThan(900);
    } finally {
      inside('pod3', 'nft delete table inet lost');
      await dataplane.apply(new Map([['going', undefined]]));
    }
  });
});

describe('changes of the ruleset', () => {
  test('the skeleton passes the check of nft, and its listing can be loaded again', () => {
    for (const family of families) {
      const script = `${skeletonScript(skeleton(family, 3)).join('\n')}\n`;
      execFileSync('ip', ['netns', 'exec', namespaceOf('pod1'), 'nft', '-c', '-f', '-'], { input: script });
      execFileSync('ip', ['netns', 'exec', namespaceOf('pod1'), 'nft', '-f', '-'], { input: script });
      const listed = inside('pod1', `nft list table ${family === 4 ? 'ip' : 'ip6'} herald`);
      expect(listed).toContain(markerChain(3));
      execFileSync('ip', ['netns', 'exec', namespaceOf('pod1'), 'nft', '-c', '-f', '-'], { input: listed });
    }
    inside('pod1', 'nft flush ruleset');
  });

  test('another instance adopts the tables without a write, and a running connection stays', async () => {
    const connection = await lab.connection('client', external(4, 10), 80);
    // Two agents at once would repair each other's changes.
    await dataplane.close();
    const before = inside('node', 'nft -a list ruleset');
    const writes: Transaction[] = [];
    const own = ports();
    const successor = new NftablesDataplane({
      ...own,
      executor: withRun(own.executor, (transaction) => (writes.push(transaction), own.executor.run(transaction))),
    });
    const result = await successor.replace(node, services);
    expect([...result.quarantined]).toEqual([]);
    expect(writes).toEqual([]);
    expect(withoutClients(inside('node', 'nft -a list ruleset'))).toBe(withoutClients(before));
    // Only the difference is written.
    await successor.replace(node, new Map([...services].filter(([name]) => name !== 'hairpin')));
    expect(writes).toHaveLength(1);
    expect(writes.flatMap(({ create }) => create)).toEqual([]);
    await successor.close();
    await restart();
    expect(await connection.end()).toMatchObject({ failure: '' });
  });

  test.each(families)('IPv%i: a table of an older layout is replaced at the start without a gap', async (family) => {
    const table = `${family === 4 ? 'ip' : 'ip6'} herald`;
    const staying = await lab.connection('client', external(family, 10), 80);
    await dataplane.close();
    inside('node', `nft delete chain ${table} ${markerChain(14)}`, `nft add chain ${table} layout_1_bit_14`);
    const request = lab.request('client', { protocol: 'TCP', address: external(family, 10), port: 80, count: 400 });
    await restart();
    const listed = inside('node', `nft list table ${table}`);
    expect(listed).toContain(markerChain(14));
    expect(listed).not.toContain('layout_1_bit_14');
    expect(Object.keys((await request).counts).filter((name) => !name.startsWith('pod'))).toEqual([]);
    expect(await staying.end()).toMatchObject({ failure: '' });
  });

  test.each(families)('IPv%i: endpoints change under connections without an error', async (family) => {
    const staying = await lab.connection('client', external(family, 10), 80);
    const request = lab.request('client', { protocol: 'TCP', address: external(family, 10), port: 80, count: 400 });
    const changed = (use: readonly number[]): ServiceForwarding => ({
      frontends: [...inAllCells({ host: 10, at: external }, { use }), ...inAllCells({ nodePort: 30_001 }, {})],
    });
    for (const use of [[1], [2, 3], [3], [1, 2], [1, 2, 3], [2], [1, 3], [1, 2, 3]]) {
      await dataplane.apply(new Map([['balancer', changed(use)]]));
      await wait(20);
    }
    const outcome = await request;
    expect(Object.keys(outcome.counts).filter((name) => !name.startsWith('pod'))).toEqual([]);
    expect(await staying.end()).toMatchObject({ failure: '' });
  });

  test('a UDP client that never pauses moves to another backend when its own goes', async () => {
    for (const family of families) {
      const request = { protocol: 'UDP', address: external(family, 21), port: 80, localPort: 40_000 } as const;
      const only = (use: readonly number[]): ServiceForwarding => ({ frontends: inAllCells({ host: 21, at: external }, { use }) });
      await dataplane.apply(new Map([['udp', only([1])]]));
      expect((await lab.request('client', request)).counts).toEqual({ pod1: 1 });
      await dataplane.apply(new Map([['udp', only([2])]]));
      await until('the flow moves to pod2', async () => (await lab.request('client', request)).counts['pod2'] === 1);
      await dataplane.apply(new Map([['udp', only([])]]));
      await until('the flow is refused', async () => (await lab.request('client', request)).counts['ECONNREFUSED'] === 1);
      await dataplane.apply(new Map([['udp', undefined]]));
    }
  });

  test.each(['flush ruleset', 'delete table ip herald', 'delete table ip6 herald', 'flush chain ip herald nat_prerouting'])(
    'nft %s by another program is noticed and repaired, and our own changes are not reported',
    async (command) => {
      // Restart, so that the rest of a previous repair does not count here.
      await dataplane.close();
      await restart();
      const repairs: string[] = [];
      dataplane.onRepair((what) => repairs.push(what));
      await dataplane.apply(new Map([['own', { frontends: inAllCells({ host: 22, at: external }, {}) }]]));
      await dataplane.apply(new Map([['own', undefined]]));
      await wait(600);
      expect(repairs).toEqual([]);
      const before = withoutHandles(inside('node', 'nft list ruleset'));
      inside('node', `nft ${command}`);
      await until('a repair is reported', () => repairs.length > 0);
      expect(withoutHandles(inside('node', 'nft list ruleset'))).toEqual(before);
      for (const { family, protocol } of cells) {
        const outcome = await lab.request('client', { protocol, address: external(family, 10), port: 80, count: 4 });
        expect(Object.keys(outcome.counts).every((name) => name.startsWith('pod'))).toBe(true);
      }
    },
  );
});

describe('faults', () => {
  test('a frontend that the kernel refuses is quarantined alone, and returns when it is accepted', async () => {
    let poison: string | undefined = external(4, 31);
    const own = ports();
    const faulty: NftablesPorts = {
      ...own,
      executor: withRun(own.executor, (transaction) =>
        poison !== undefined && [...transaction.adds].some((element) => keyText(element).startsWith(`${poison} .`))
          ? own.executor.run({
              ...transaction,
              deletes: ElementList.of([...transaction.deletes, elementFromText(4, 'cluster_ips', '203.0.113.99')]),
            })
          : own.executor.run(transaction),
      ),
    };
    await dataplane.close();
    const other = new NftablesDataplane(faulty);
    await other.replace(node, services);
    const forwarding = (host: number): ServiceForwarding => ({
      frontends: inAllCells({ host, at: external }, {}).filter((each) => each.match.protocol === 'TCP'),
    });
    const batch: Promise<ApplyResult>[] = [30, 31, 32, 33].map((host) => other.apply(new Map([[`s${host}`, forwarding(host)]])));
    const [result] = await Promise.all(batch);
    expect([...(result?.quarantined ?? [])].map(([key, { services }]) => [key, services])).toEqual([['192.0.2.31 TCP 80', ['s31']]]);
    expect(result?.quarantined.get('192.0.2.31 TCP 80')?.error).toMatch(/no such file/i);
    for (const host of [30, 32, 33]) {
      const outcome = await lab.request('client', { protocol: 'TCP', address: external(4, host), port: 80, count: 4 });
      expect(Object.keys(outcome.counts).filter((name) => !name.startsWith('pod'))).toEqual([]);
    }
    poison = undefined;
    const later = await other.apply(new Map([['s30', undefined]]));
    expect([...later.quarantined]).toEqual([]);
    expect((await lab.request('client', { protocol: 'TCP', address: external(4, 31), port: 80 })).counts).not.toHaveProperty('TIMEOUT');
    await other.close();
    await restart();
  });

  test('the error says whether the command or the permission is missing', async () => {
    const absent = new NftablesDataplane(commandPorts(systemClock, silentLog, ['/nonexistent/command']));
    await expect(absent.replace(node, services)).rejects.toMatchObject({ name: 'DataplaneError', code: 'unavailable' });
    await absent.close();
    const unprivileged = new NftablesDataplane(
      commandPorts(systemClock, silentLog, [...prefixToNode, 'setpriv', '--reuid=65534', '--clear-groups']),
    );
    const error = await unprivileged.replace(node, services).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(DataplaneError);
    expect(error).toMatchObject({ code: 'permission' });
    await unprivileged.close();
  });
});

describe('unreachable routes', () => {
  const routes = (): string[] =>
    ['-4', '-6'].flatMap((family) =>
      inside('node', `ip ${family} route show table all type unreachable`)
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => line.split(' ')[1] ?? ''),
    );

  test('each call sets the whole set of routes, across a restart as well', async () => {
    const first = new NftablesDataplane(ports());
    await first.setUnreachable([prefix('198.51.100.0/24'), prefix('fd77::/64')]);
    expect(routes()).toEqual(['198.51.100.0/24', 'fd77::/64']);
    await first.setUnreachable([prefix('198.51.100.0/24'), prefix('203.0.113.7/32')]);
    expect(routes()).toEqual(['198.51.100.0/24', '203.0.113.7']);
    await first.close();
    const successor = new NftablesDataplane(ports());
    await successor.setUnreachable([prefix('fd78::/64')]);
    expect(routes()).toEqual(['fd78::/64']);
    await successor.setUnreachable([]);
    await successor.close();
  });

  test.each([4, 6] as const)('an unowned IPv%i address in the prefix is unreachable, and Services in it stay reachable', async (family) => {
    const aggregate = maskedPrefix(address(external(family, 10)), family === 4 ? 24 : 64);
    const agent = new NftablesDataplane(ports());
    await agent.setUnreachable([aggregate]);
    const service = { protocol: 'TCP', address: external(family, 10), port: 80, count: 3 } as const;
    const unowned = external(family, 99);
    // The rule applies to forwarded packets only: packets of the node itself are routed before they are translated.
    const lookUp = (incoming: string): string => inside('node', `ip -${family} route get ${unowned}${incoming}`);
    expect(() => lookUp(` from ${clientAddress(family)} iif outside`)).toThrow('Command failed');
    expect(lookUp('')).toContain('dev outside');
    expect((await lab.request('client', { ...service, address: unowned, count: 1, timeout: shortTimeout })).counts).not.toHaveProperty(
      'pod1',
    );
    for (const from of ['client', 'node'] as const) {
      const { counts } = await lab.request(from, service);
      expect(
        Object.keys(counts).every((who) => who.startsWith('pod')),
        `${from}: ${JSON.stringify(counts)}`,
      ).toBe(true);
    }
    await agent.setUnreachable([]);
    await agent.close();
    expect(inside('node', `ip -${family} rule`)).not.toContain('lookup 152');
  });
});

test('cleanup leaves nothing of Herald in the kernel', async () => {
  await dataplane.setUnreachable([prefix('198.51.100.0/24')]);
  await dataplane.cleanup();
  expect(inside('node', 'nft list ruleset')).toBe('');
  expect(inside('node', 'ip route show table all type unreachable')).toBe('');
  expect(inside('node', 'ip rule')).not.toContain('lookup 152');
});

/** Returns the listing without the clients that the kernel remembers in its affinity maps. */
function withoutClients(listing: string): string {
  return listing.replaceAll(/(map affinity \{[^}]*?)\t\telements = \{[^}]*\}\n/g, '$1');
}

function withoutHandles(listing: string): string[] {
  const text = withoutClients(listing).replaceAll(/set revision \{[^}]*\{[^}]*\}[^}]*\}/g, '');
  return text
    .split(/[\n,]/)
    .map((line) => line.replaceAll(/elements = \{|\}/g, '').trim())
    .filter((line) => line !== '')
    .sort();
}
