import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defined } from '../../../../src/lang/defined.ts';
import { DataplaneError } from '../../../../src/dataplane/dataplane.ts';
import type { Flow, StaleFlows } from '../../../../src/dataplane/conntrack/conntrack-cleaner.ts';
import { CommitOutcomeUnknown } from '../../../../src/dataplane/nftables/executor.ts';
import { NftablesDataplane } from '../../../../src/dataplane/nftables/nftables.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';
import { frontendKey, type Frontend, type NodeForwarding, type Protocol, type ServiceForwarding } from '../../../../src/net/frontend.ts';
import { formatPrefix, prefix, type Prefix } from '../../../../src/net/prefix.ts';
import { unansweredPause } from '../../../../src/dataplane/limits.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { FakeIngress, FakePaths } from '../direct-return/fake-paths.ts';
import { FakeKernel } from './fake-kernel.ts';
import { runs } from '../../../support/property.ts';

const node: NodeForwarding = {
  nodePortAddresses: [prefix('10.0.0.1/32'), prefix('fd00::1/128')],
  podPrefixes: [prefix('10.244.0.0/16')],
  servicePrefixes: [prefix('172.30.0.0/16'), prefix('fd02::/112')],
  masqueradeBit: 14,
};

function frontend(where: string, port: number, backends: readonly number[], overrides: Partial<Frontend> = {}): Frontend {
  const six = where.includes(':');
  return {
    match: { kind: 'address', address: address(where), protocol: 'TCP', port },
    scope: 'internal',
    policy: 'Cluster',
    backends: backends.map((n) => ({ address: address(six ? `fd01::${n}` : `10.244.0.${n}`), port: 8080, local: n % 2 === 1 })),
    localBackends: [],
    ...overrides,
  };
}

const service = (...frontends: Frontend[]): ServiceForwarding => ({ frontends });
const changes = (entries: Record<string, ServiceForwarding | undefined>): Map<string, ServiceForwarding | undefined> =>
  new Map(Object.entries(entries));
const failed = (message = 'refused'): DataplaneError => new DataplaneError('failed', message);

function setup(kernel = new FakeKernel(), tracked: readonly Flow[] = []) {
  const clock = new VirtualClock();
  const paths = new FakePaths();
  const deleted: StaleFlows[] = [];
  const routes: { present: Prefix[]; writes: string[] } = { present: [], writes: [] };
  const repairs: string[] = [];
  const closed: string[] = [];
  const dataplane = new NftablesDataplane({
    executor: kernel,
    paths,
    ingress: new FakeIngress(),
    clock,
    log: silentLog,
    conntrack: {
      delete: (flows) => Promise.resolve(deleted.push(...flows)),
      each: (see) => Promise.resolve(tracked.forEach(see)),
      close: () => void closed.push('conntrack'),
    },
    routes: {
      list: () => Promise.resolve({ prefixes: routes.present }),
      change: (add, remove) => {
        routes.writes.push(...add.map((each) => `+${formatPrefix(each)}`), ...remove.map((each) => `-${formatPrefix(each)}`));
        return Promise.resolve();
      },
      close: () => void closed.push('routes'),
    },
  });
  dataplane.onRepair((what) => repairs.push(what));
  return { kernel, clock, dataplane, deleted, routes, repairs, closed, paths };
}

/** Waits until everything that depends only on promises has run. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('batches', () => {
  test('changes of one tick are one transaction for both families', async () => {
    const { kernel, dataplane } = setup();
    await dataplane.replace(node, new Map());
    const before = kernel.transactions.length;
    await Promise.all([
      dataplane.apply(changes({ a: service(frontend('172.30.0.1', 80, [1])) })),
      dataplane.apply(changes({ b: service(frontend('fd02::1', 80, [1])) })),
    ]);
    expect(kernel.transactions.length).toBe(before + 1);
    expect(kernel.contents()).toEqual(
      expect.arrayContaining(['ip frontends 172.30.0.1 . tcp . 80 : 1:1', 'ip6 frontends fd02::1 . tcp . 80 : 1:1']),
    );
  });

  test('adopted is true only when the tables of both families were found', async () => {
    const { kernel, dataplane } = setup();
    expect(dataplane.adopted).toBe(false);
    await dataplane.replace(node, new Map());
    expect(dataplane.adopted).toBe(false);
    await dataplane.replace(node, new Map());
    expect(dataplane.adopted).toBe(false);
    const next = setup(kernel).dataplane;
    await next.replace(node, new Map());
    expect(next.adopted).toBe(true);
    kernel.tables.delete('ip6');
    const last = setup(kernel).dataplane;
    await last.replace(node, new Map());
    expect(last.adopted).toBe(false);
  });

  test('an unchanged Service sends nothing, and a replaced endpoint sends two elements', async () => {
    const { kernel, dataplane } = setup();
    const before = service(frontend('172.30.0.1', 80, [2, 4]));
    await dataplane.replace(node, new Map([['a', before]]));
    const count = kernel.transactions.length;
    await dataplane.apply(changes({ a: before, gone: undefined }));
    expect(kernel.transactions.length).toBe(count);
    await dataplane.apply(changes({ a: service(frontend('172.30.0.1', 80, [2, 6])) }));
    expect(kernel.transactions.at(-1)?.filter((line) => !line.includes('revision'))).toEqual([
      'delete element ip herald backends { 172.30.0.1 . tcp . 80 . 0:1 }',
      'add element ip herald backends { 172.30.0.1 . tcp . 80 . 0:1 : 10.244.0.6 . 8080 }',
    ]);
  });

  test('a changed slot table sends only the slots that moved', async () => {
    const { kernel, dataplane } = setup();
    const hashed = (backends: readonly number[], slots: (slot: number) => number): ServiceForwarding =>
      service(
        frontend('192.0.2.1', 80, backends, {
          scope: 'external',
          slots: { hashed: 'connection', backendOf: Uint16Array.from({ length: 251 }, (_, slot) => slots(slot)) },
        }),
      );
    await dataplane.replace(node, new Map([['a', hashed([2, 4, 6], (slot) => slot % 3)]]));
    await dataplane.apply(changes({ a: hashed([4, 6], (slot) => (slot % 3 === 0 ? 1 : (slot % 3) - 1)) }));
    const sent = kernel.transactions.at(-1)?.filter((line) => !line.includes('revision')) ?? [];
    const keys = (line: string): string[] => [...line.matchAll(/80 \. 0:([0-9a-f]+)/g)].map(([, slot = '']) => slot);
    const moved = Array.from({ length: 84 }, (_, index) => (3 * index).toString(16));
    expect(sent.map((line) => line.split(' ').slice(0, 5).join(' '))).toEqual([
      'delete element ip herald backends',
      'add element ip herald backends',
    ]);
    for (const line of sent) expect(keys(line).toSorted()).toEqual(moved.toSorted());
  });

  test('many elements become several transactions of whole frontends, a replaced table one', async () => {
    const many = Array.from({ length: 150 }, (_, index) => index + 1);
    const services = new Map(
      many.map((n) => [
        `s${n}`,
        service(
          frontend(
            `172.30.0.${n}`,
            80,
            Array.from({ length: 100 }, (_, pod) => pod * 2 + 2),
          ),
        ),
      ]),
    );
    const { kernel, dataplane } = setup();
    await dataplane.replace(node, services);
    const created = kernel.transactions.length;
    expect(created).toBe(2);
    for (const n of many) {
      const parts = kernel.transactions.filter((lines) => lines.some((line) => line.includes(` 172.30.0.${n} . tcp . 80 `)));
      expect(parts).toHaveLength(1);
    }
    const contents = kernel.contents();
    kernel.tables.get('ip')?.chains.delete('nat_prerouting');
    await setup(kernel).dataplane.replace(node, services);
    expect(kernel.transactions.length).toBe(created + 1);
    expect(kernel.contents()).toEqual(contents);
  });

  test('the kernel gets a transaction before the next one is computed', async () => {
    const { kernel, dataplane } = setup();
    const order: string[] = [];
    const pods = Array.from({ length: 64 }, (_, pod) => pod + 1);
    const services = new Map(
      Array.from({ length: 400 }, (_, index): [string, ServiceForwarding] => {
        const plain = frontend(`172.30.${index >> 8}.${index & 255}`, 80, pods);
        const { backends } = plain;
        let looks = 0;
        // The first look checks the frontend, and the next one computes its elements.
        return [
          `s${index}`,
          service(
            Object.defineProperty({ ...plain }, 'backends', {
              get: () => (looks++ === 0 ? '' : order.push(`computed ${index}`), backends),
            }),
          ),
        ];
      }),
    );
    kernel.fault = () => void order.push('sent');
    await dataplane.replace(node, services);
    const sent = order.indexOf('sent');
    expect(order.filter((step) => step === 'sent').length).toBeGreaterThan(1);
    expect([order.slice(0, sent).includes('computed 399'), order.slice(sent).includes('computed 399')]).toEqual([false, true]);
  });

  test('an element that two frontends share is deleted with the last of them', async () => {
    const { kernel, dataplane } = setup();
    await dataplane.replace(node, new Map([['a', service(frontend('172.30.0.1', 80, [1]), frontend('172.30.0.1', 443, [1]))]]));
    await dataplane.apply(changes({ a: service(frontend('172.30.0.1', 443, [1])) }));
    expect(kernel.contents()).toEqual(
      expect.arrayContaining(['ip cluster_ips 172.30.0.1', 'ip hairpins 10.244.0.1 . 10.244.0.1 . tcp . 8080']),
    );
    await dataplane.apply(changes({ a: undefined }));
    expect(kernel.contents().filter((line) => /cluster_ips|hairpins|frontends|backends/.test(line))).toEqual([]);
  });
});

describe('any sequence of changes', () => {
  const frontends = fc
    .record({
      where: fc.constantFrom('172.30.0.1', '172.30.0.2', '192.0.2.1', 'fd02::1'),
      protocol: fc.constantFrom<Protocol>('TCP', 'UDP', 'SCTP'),
      port: fc.constantFrom(80, 443),
      nodePort: fc.boolean(),
      backends: fc.uniqueArray(fc.integer({ min: 1, max: 90 }), { maxLength: 70 }),
      local: fc.boolean(),
      affinity: fc.option(fc.constantFrom({ seconds: 1, servicePort: 'one' }, { seconds: 10_800, servicePort: 'two' }), { nil: undefined }),
      hashed: fc.option(fc.constantFrom('connection', 'client'), { nil: undefined }),
      ranges: fc.option(fc.subarray([prefix('10.0.0.0/8'), prefix('10.1.0.0/16'), prefix('fd00::/8')]), { nil: undefined }),
    })
    .map(({ where, protocol, port, nodePort, backends, local, affinity, hashed, ranges }): Frontend => {
      const mayHash = where.startsWith('192') && !nodePort && !local && affinity === undefined && backends.length > 0;
      const backendOf = Uint16Array.from({ length: 251 }, (_, slot) => (slot * slot) % Math.max(1, backends.length));
      const plain = frontend(where, port, backends);
      const match: Frontend['match'] = nodePort
        ? { kind: 'nodePort', family: where.includes(':') ? 6 : 4, protocol, port }
        : { kind: 'address', address: address(where), protocol, port };
      return frontend(where, port, backends, {
        match,
        scope: nodePort || where.startsWith('192') ? 'external' : 'internal',
        policy: local ? 'Local' : 'Cluster',
        localBackends: local ? plain.backends.filter((backend) => backend.local) : [],
        ...defined({ affinity }),
        ...(hashed === undefined || !mayHash ? {} : { slots: { hashed, backendOf } }),
        ...(ranges === undefined || nodePort ? {} : { sourceRanges: ranges }),
      });
    });
  const forwarding = fc.option(
    fc.uniqueArray(frontends, { maxLength: 3, selector: (each) => frontendKey(each.match) }).map((list) => service(...list)),
    { nil: undefined },
  );
  const steps = fc.array(fc.record({ name: fc.constantFrom('a', 'b', 'c'), forwarding }), { minLength: 1, maxLength: 8 });

  test('incremental changes end in the state of a fresh start, without redundant elements', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        const incremental = setup();
        await incremental.dataplane.replace(node, new Map());
        const final = new Map<string, ServiceForwarding>();
        for (const { name, forwarding } of sequence) {
          await incremental.dataplane.apply(new Map([[name, forwarding]]));
          if (forwarding === undefined) final.delete(name);
          else final.set(name, forwarding);
        }
        for (const lines of incremental.kernel.transactions) {
          const adds = elementsOf(lines, 'add');
          expect(new Set(adds).size).toBe(adds.length);
        }
        // The kernel would refuse to delete a missing element or to add an existing one with another value.
        const { quarantined } = await incremental.dataplane.apply(new Map());
        for (const { error } of quarantined.values()) expect(error).toMatch(/^belongs to/);
        const scratch = setup();
        // Frontends have the same owner for any order of requests: after a restart, and on every node.
        expect(await scratch.dataplane.replace(node, new Map([...final].toReversed()))).toEqual({ quarantined });
        expect(incremental.kernel.contents()).toEqual(scratch.kernel.contents());
        // A new process has nothing to change.
        const count = incremental.kernel.transactions.length;
        await setup(incremental.kernel).dataplane.replace(node, final);
        expect(incremental.kernel.transactions.length).toBe(count);
      }),
      { numRuns: runs(60) },
    );
  });

  function elementsOf(lines: readonly string[], verb: string): string[] {
    return lines.flatMap((line) => {
      const match = new RegExp(`^${verb} element (\\w+) herald (\\w+) \\{ (.*) \\}$`).exec(line);
      return match === null ? [] : (match[3] ?? '').split(' , ').map((element) => `${match[1]} ${match[2]} ${element.split(' : ')[0]}`);
    });
  }
});

describe('one frontend of two Services', () => {
  test('the smallest key owns it, the other is reported and takes over when the first is removed', async () => {
    const { kernel, dataplane } = setup();
    await dataplane.replace(node, new Map([['a', service(frontend('172.30.0.1', 80, [2]))]]));
    const second = await dataplane.apply(changes({ b: service(frontend('172.30.0.1', 80, [4])) }));
    expect([...second.quarantined]).toEqual([['172.30.0.1 TCP 80', { services: ['b'], error: 'belongs to a', owner: 'a' }]]);
    expect(kernel.contents().join()).toContain('10.244.0.2 . 8080');
    const later = await dataplane.apply(changes({ a: undefined }));
    expect([...later.quarantined]).toEqual([]);
    expect(kernel.contents().filter((line) => line.includes('backends'))).toEqual([
      'ip backends 172.30.0.1 . tcp . 80 . 0:0 : 10.244.0.4 . 8080',
    ]);
  });

  test('the order of arrival does not matter: several wait for the smallest key', async () => {
    const { kernel, dataplane } = setup();
    await dataplane.replace(node, new Map([['c', service(frontend('172.30.0.1', 80, [2]))]]));
    await dataplane.apply(changes({ b: service(frontend('172.30.0.1', 80, [4])) }));
    const last = await dataplane.apply(changes({ a: service(frontend('172.30.0.1', 80, [6])) }));
    expect([...last.quarantined]).toEqual([['172.30.0.1 TCP 80', { services: ['b', 'c'], error: 'belongs to a', owner: 'a' }]]);
    expect(kernel.contents().filter((line) => line.includes('backends'))).toEqual([
      'ip backends 172.30.0.1 . tcp . 80 . 0:0 : 10.244.0.6 . 8080',
    ]);
  });
});

describe('transaction failures', () => {
  test('a faulty frontend is found by bisection, keeps its last form and is retried with a change', async () => {
    const { kernel, dataplane } = setup();
    const many = new Map(Array.from({ length: 16 }, (_, index) => [`s${index}`, service(frontend(`172.30.0.${index}`, 80, [2]))]));
    await dataplane.replace(node, many);
    const next = new Map(
      [...many].map(([name, { frontends }]) => [
        name,
        service(...frontends.map((each) => ({ ...each, backends: frontend('1.1.1.1', 80, [4]).backends }))),
      ]),
    );
    kernel.fault = (lines) => (lines.some((line) => line.includes('172.30.0.7 . tcp . 80 . 0:0')) ? failed('no room') : undefined);
    const before = kernel.transactions.length;
    const result = await dataplane.apply(next);
    expect([...result.quarantined]).toEqual([['172.30.0.7 TCP 80', { services: ['s7'], error: 'no room' }]]);
    expect(kernel.transactions.length - before).toBeLessThanOrEqual(6);
    const backends = (): string[] => kernel.contents().filter((line) => line.startsWith('ip backends'));
    expect(backends().filter((line) => line.endsWith('10.244.0.2 . 8080'))).toEqual([
      'ip backends 172.30.0.7 . tcp . 80 . 0:0 : 10.244.0.2 . 8080',
    ]);
    kernel.fault = () => undefined;
    const later = await dataplane.apply(changes({ other: service(frontend('172.30.1.1', 80, [2])) }));
    expect([...later.quarantined]).toEqual([]);
    expect(backends().filter((line) => line.includes('172.30.0.7'))).toEqual([
      'ip backends 172.30.0.7 . tcp . 80 . 0:0 : 10.244.0.4 . 8080',
    ]);
  });

  test('a faulty frontend in the first transaction does not hold back the others', async () => {
    const { kernel, dataplane } = setup();
    kernel.fault = (lines) => (lines.some((line) => line.includes('172.30.0.2 .')) ? failed() : undefined);
    const result = await dataplane.replace(node, new Map([1, 2, 3].map((n) => [`s${n}`, service(frontend(`172.30.0.${n}`, 80, [2]))])));
    expect([...result.quarantined.keys()]).toEqual(['172.30.0.2 TCP 80']);
    expect(kernel.contents().filter((line) => line.startsWith('ip frontends'))).toHaveLength(2);
  });

  test('a second read leaves a refused frontend and all others as they were', async () => {
    const { kernel, dataplane } = setup();
    const forms = (backends: readonly number[]): Map<string, ServiceForwarding> =>
      new Map([1, 2, 3, 4].map((n) => [`s${n}`, service(frontend(`172.30.0.${n}`, 80, n === 2 ? backends : [2, 3]))]));
    await dataplane.replace(node, forms([2, 3]));
    const contents = kernel.contents();
    kernel.fault = (lines) => (lines.some((line) => line.includes('172.30.0.2 .')) ? failed() : undefined);
    const before = kernel.transactions.length;
    const result = await dataplane.replace(node, forms([4]));
    expect([...result.quarantined.keys()]).toEqual(['172.30.0.2 TCP 80']);
    const lines = kernel.transactions.slice(before).flat();
    expect(lines.filter((line) => !line.includes(' revision '))).toEqual([]);
    expect(kernel.contents()).toEqual(contents);
    kernel.fault = () => undefined;
    await dataplane.apply(new Map());
    expect(kernel.contents().filter((line) => line.startsWith('ip backends 172.30.0.2 '))).toHaveLength(1);
  });

  test('an unknown outcome makes the tables be read again, also during bisection', async () => {
    const { kernel, dataplane } = setup();
    await dataplane.replace(node, new Map());
    const run = kernel.run.bind(kernel);
    // The first transaction is refused. The empty one that checks whether anything works succeeds. The outcome of the next is unknown.
    const outcomes = ['refused', 'done', 'unheard'];
    kernel.run = async (transaction) => {
      const outcome = outcomes.shift();
      if (outcome === 'refused') throw failed();
      await run(transaction);
      if (outcome === 'unheard') throw new CommitOutcomeUnknown('no answer');
    };
    const result = await dataplane.apply(new Map([1, 2, 3, 4].map((n) => [`s${n}`, service(frontend(`172.30.0.${n}`, 80, [2]))])));
    expect([...result.quarantined]).toEqual([]);
    const scratch = setup();
    await scratch.dataplane.replace(node, new Map([1, 2, 3, 4].map((n) => [`s${n}`, service(frontend(`172.30.0.${n}`, 80, [2]))])));
    expect(kernel.contents()).toEqual(scratch.kernel.contents());
  });

  test('a frontend that cannot be expressed is quarantined with its reason', async () => {
    const { dataplane } = setup();
    const result = await dataplane.replace(
      node,
      new Map([['a', service({ ...frontend('172.30.0.1', 80, []), backends: frontend('fd02::1', 80, [1]).backends })]]),
    );
    expect(result.quarantined.get('172.30.0.1 TCP 80')).toEqual({
      services: ['a'],
      error: 'backend fd01::1 is of the other address family',
    });
  });

  test.each(['permission', 'unavailable', 'failed'] as const)(
    'a call rejects with %s when nothing works, and the next call catches up',
    async (code) => {
      const { kernel, dataplane } = setup();
      await dataplane.replace(node, new Map());
      kernel.fault = () => new DataplaneError(code, 'nothing works');
      await expect(dataplane.apply(changes({ a: service(frontend('172.30.0.1', 80, [2])) }))).rejects.toMatchObject({ code });
      kernel.fault = () => undefined;
      await dataplane.apply(new Map());
      expect(kernel.contents()).toContain('ip frontends 172.30.0.1 . tcp . 80 : 1:1');
    },
  );

  test('a change creates missing tables again', async () => {
    const { kernel, dataplane } = setup();
    await dataplane.replace(node, new Map([['a', service(frontend('172.30.0.1', 80, [2]))]]));
    kernel.tables.clear();
    const result = await dataplane.apply(changes({ b: service(frontend('172.30.0.2', 80, [2])) }));
    expect([...result.quarantined]).toEqual([]);
    expect(kernel.contents().filter((line) => line.startsWith('ip frontends'))).toHaveLength(2);
  });
});

describe('ruleset monitor', () => {
  async function started() {
    const all = setup();
    await all.dataplane.replace(node, new Map([['a', service(frontend('172.30.0.1', 80, [2]))]]));
    all.clock.advance(2_000);
    await settle();
    expect(all.repairs).toEqual([]);
    return all;
  }
  const settleRepair = async (clock: VirtualClock): Promise<void> => {
    clock.advance(1_500);
    await settle();
    await settle();
  };

  test('a foreign change of our tables is repaired and reported', async () => {
    const { kernel, clock, repairs } = await started();
    const before = kernel.contents();
    kernel.foreign((tables) => tables.clear(), 'delete table ip herald');
    await settleRepair(clock);
    expect(repairs).toEqual(['delete table ip herald']);
    expect(kernel.contents()).toEqual(before);
  });

  test('cleared tables stay removed until they are wanted again', async () => {
    const { kernel, clock, dataplane, repairs } = await started();
    const before = kernel.contents();
    await dataplane.clear();
    expect(kernel.tables.size).toBe(0);
    const { length } = kernel.transactions;
    kernel.foreign(() => undefined, 'delete table ip herald');
    await settleRepair(clock);
    await dataplane.clear();
    expect({ repairs, transactions: kernel.transactions.length }).toEqual({ repairs: [], transactions: length });
    await dataplane.replace(node, new Map());
    expect(kernel.tables.size).toBe(2);
    expect(kernel.contents().length).toBeLessThan(before.length);
    // The monitor runs again.
    kernel.foreign((tables) => tables.clear(), 'delete table ip herald');
    await settleRepair(clock);
    expect(repairs).toEqual(['delete table ip herald']);
  });

  test('clear removes tables of an earlier process', async () => {
    const { kernel } = await started();
    const { dataplane } = setup(kernel);
    await dataplane.clear();
    expect(kernel.tables.size).toBe(0);
    await dataplane.close();
  });

  test('a foreign element is removed and nothing else changes', async () => {
    const { kernel, clock, repairs } = await started();
    kernel.foreign(
      (tables) => void tables.get('ip')?.sets.get('cluster_ips')?.elements.set('9.9.9.9', undefined),
      'add element ip herald cluster_ips { 9.9.9.9 }',
    );
    await settleRepair(clock);
    expect(repairs).toHaveLength(1);
    expect(kernel.transactions.at(-1)).toContain('delete element ip herald cluster_ips { 9.9.9.9 }');
    expect(kernel.transactions.at(-1)).toHaveLength(3);
  });

  test('our own transactions and those on other tables cause no repair', async () => {
    const { kernel, clock, dataplane, repairs } = await started();
    let listed = 0;
    const list = kernel.readTable.bind(kernel);
    kernel.readTable = (skeleton) => (listed++, list(skeleton));
    await dataplane.apply(changes({ a: undefined }));
    for (const line of kernel.transactions.at(-1) ?? [])
      kernel.onLine(line.replace(/revision \{ (\d+) \}/, (_, n: string) => `revision { 0x${Number(n).toString(16).padStart(8, '0')} }`));
    kernel.onLine('# new generation 9 by process 5 (nft)');
    kernel.foreign(() => undefined, 'add rule ip heraldry x accept');
    await settleRepair(clock);
    expect([repairs, listed]).toEqual([[], 0]);
  });

  test('a restarted monitor causes a read, one that is subscribed at once does not', async () => {
    const kernel = new FakeKernel();
    kernel.subscribed = true;
    let read = 0;
    const readTable = kernel.readTable.bind(kernel);
    kernel.readTable = (skeleton) => (read++, readTable(skeleton));
    const { dataplane, clock } = setup(kernel);
    await dataplane.replace(node, new Map());
    await settleRepair(clock);
    expect(read).toBe(2);
    kernel.endMonitor('gone');
    await settleRepair(clock);
    expect(read).toBe(4);
    await dataplane.close();
  });

  test('a monitor that ends is restarted with growing delay, and missed changes are repaired', async () => {
    const { kernel, clock, repairs } = await started();
    kernel.endMonitor('killed');
    kernel.tables.delete('ip6');
    clock.advance(199);
    expect(kernel.monitors).toBe(1);
    clock.advance(1);
    expect(kernel.monitors).toBe(2);
    await settleRepair(clock);
    await settleRepair(clock);
    expect(repairs).toEqual(['the monitor was started']);
    kernel.endMonitor('killed');
    clock.advance(399);
    expect(kernel.monitors).toBe(2);
    clock.advance(1);
    expect(kernel.monitors).toBe(3);
  });

  test.each(['close', 'clear'] as const)('%s closes every port to the kernel in the end', async (end) => {
    const kernel = new FakeKernel();
    const { dataplane, closed } = setup(kernel);
    kernel.close = () => void closed.push('executor');
    await dataplane.replace(node, new Map());
    if (end === 'clear') await dataplane.clear();
    expect(closed).toEqual([]);
    await dataplane.close();
    expect(closed).toEqual(['executor', 'routes', 'conntrack']);
  });

  test.each(['close', 'cleanup'] as const)('nothing happens after %s', async (end) => {
    const { kernel, clock, dataplane, repairs } = await started();
    await dataplane[end]();
    kernel.foreign((tables) => tables.clear(), 'delete table ip herald');
    await settleRepair(clock);
    expect([repairs, clock.pending]).toEqual([[], 0]);
  });
});

describe('UDP flows', () => {
  const udp = (backends: readonly number[]): ServiceForwarding =>
    service({
      ...frontend('172.30.0.1', 53, backends),
      match: { kind: 'address', address: address('172.30.0.1'), protocol: 'UDP', port: 53 },
    });
  const texts = (flows: readonly StaleFlows[]): string[] =>
    flows.map(
      (each) =>
        `${each.destination === undefined ? '*' : formatAddress(each.destination)}:${each.port} ${formatAddress(each.replySource)}:${each.replyPort ?? '*'}`,
    );

  test('flows are deleted with a removed backend, and when the first backend comes', async () => {
    const { dataplane, deleted, clock } = setup();
    await dataplane.replace(node, new Map());
    const step = async (forwarding: ServiceForwarding | undefined, pause = 0): Promise<string[]> => {
      deleted.length = 0;
      await dataplane.apply(new Map([['dns', forwarding]]));
      clock.advance(pause);
      await settle();
      return texts(deleted);
    };
    expect(await step(udp([]))).toEqual([]);
    expect(await step(udp([1, 2]))).toEqual(['172.30.0.1:53 172.30.0.1:*']);
    expect(await step(udp([2]))).toEqual(['172.30.0.1:53 10.244.0.1:8080']);
    expect(await step(udp([]))).toEqual(['172.30.0.1:53 10.244.0.2:8080']);
    expect(await step(udp([3]))).toEqual(['172.30.0.1:53 172.30.0.1:*']);
    expect(await step(undefined)).toEqual(['172.30.0.1:53 10.244.0.3:8080']);
    const tcp = (endpoints: readonly number[]): ServiceForwarding => service(frontend('172.30.0.1', 53, endpoints));
    expect(await step(tcp([1]), unansweredPause)).toEqual(['172.30.0.1:53 172.30.0.1:*']);
    // Changes within a moment share one walk through the table.
    expect(await step(tcp([2]))).toEqual([]);
    expect(await step(tcp([3]), unansweredPause)).toEqual(['172.30.0.1:53 10.244.0.1:8080', '172.30.0.1:53 10.244.0.2:8080']);
    expect(deleted.map(({ unreplied }) => unreplied)).toEqual([true, true]);
  });

  test.each<[readonly ('internal' | 'external')[], string[]]>([
    [['internal'], []],
    [['external'], ['172.30.0.1:53 10.244.0.1:8080']],
  ])('flows stay when a frontend is handed over to another program: %j', async (elsewhere, forgotten) => {
    const { dataplane, deleted } = setup();
    await dataplane.replace(node, new Map([['dns', udp([1])]]));
    await dataplane.setNode({ ...node, foreignScopes: elsewhere });
    await dataplane.apply(new Map([['dns', undefined]]));
    await settle();
    expect(texts(deleted)).toEqual(forgotten);
  });

  test('flows found at start are compared with the frontends', async () => {
    const flow = (replySource: string): Flow => {
      return {
        protocol: 'UDP',
        destination: address('172.30.0.1'),
        port: 53,
        replySource: address(replySource),
        replyPort: 8080,
        replied: true,
      };
    };
    const { dataplane, deleted } = setup(new FakeKernel(), ['10.244.0.1', '10.244.0.9'].map(flow));
    await dataplane.replace(node, new Map([['dns', udp([1])]]));
    await settle();
    expect(texts(deleted)).toEqual(['172.30.0.1:53 10.244.0.9:8080']);
  });
});

test('setUnreachable removes leftover routes and does not rewrite existing ones', async () => {
  const { dataplane, routes } = setup();
  routes.present = [prefix('192.0.2.0/24'), prefix('fd09::/64')];
  await dataplane.setUnreachable([prefix('fd09::/64'), prefix('198.51.100.0/24')]);
  expect(routes.writes).toEqual(['+198.51.100.0/24', '-192.0.2.0/24']);
  await dataplane.setUnreachable([prefix('198.51.100.0/24')]);
  expect(routes.writes.slice(2)).toEqual(['-fd09::/64']);
});

test('another masquerade bit replaces the tables', async () => {
  const { kernel, dataplane } = setup();
  await dataplane.replace(node, new Map([['a', service(frontend('172.30.0.1', 80, [2]))]]));
  const before = kernel.contents();
  await dataplane.setNode({ ...node, masqueradeBit: 3 });
  expect(kernel.transactions.at(-1)?.join('\n')).toContain('meta mark or 0x8');
  expect(kernel.contents()).toEqual(before);
});

test('other pod interfaces replace the tables', async () => {
  const { kernel, dataplane } = setup();
  await dataplane.replace(node, new Map([['a', service(frontend('172.30.0.1', 80, [2]))]]));
  await dataplane.setNode({ ...node, podInterfaces: ['cni0'] });
  expect(kernel.transactions.at(-1)?.join('\n')).toContain('masquerade_unless_pod iifname "cni0" return');
  await dataplane.setNode({ ...node, podInterfaces: ['cni0'], masqueradeAll: true });
  expect(kernel.transactions.at(-1)?.join('\n')).not.toContain('masquerade_unless_pod iifname');
  expect(kernel.transactions.at(-1)?.join('\n')).toContain('nothing_local iifname "cni0" return');
});
