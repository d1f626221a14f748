import { execFileSync, spawnSync } from 'node:child_process';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { NftExecutor } from '../../src/dataplane/nftables/executor.ts';
import { NftablesDataplane } from '../../src/dataplane/nftables/nftables.ts';
import { machinePorts } from '../../src/dataplane/nftables/ports.ts';
import { namespaceNamed } from '../support/namespace-named.ts';
import type { ServiceForwarding } from '../../src/net/frontend.ts';
import { systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../../src/system/log.ts';
import { KernelReading } from '../model/kernel-reading.ts';
import { endpoints, host, node, service, services } from './large-services.ts';

/**
 * Starts with tables whose maps of backends are too large to be listed (`maximumListedBackends`), in an empty network namespace. The tables
 * have no owner, because the tests play other programs that change them.
 */
const namespace = `hn-${process.pid}-large`;

/** Endpoints were replaced, added and removed, one Service is gone, and one is new. */
const changed = new Map([
  ...services,
  ['large/s10', service(10, endpoints, 1)],
  ['large/s20', service(20, endpoints + 2)],
  ['large/s30', service(30, endpoints - 2)],
  ['large/new', service(services.size)],
]);
changed.delete('large/s40');

interface Started {
  readonly transactions: () => number;
  readonly repairs: readonly string[];
}

let dataplane: NftablesDataplane;

/** Starts a data plane, which finds the tables that the previous one left. */
async function start(wanted: ReadonlyMap<string, ServiceForwarding>): Promise<Started> {
  const ports = machinePorts(systemClock, silentLog, { own: false, namespace: namespaceNamed(namespace) });
  let transactions = 0;
  const executor: NftExecutor = {
    run: (transaction) => (transactions++, ports.executor.run(transaction)),
    generation: async () => await ports.executor.generation?.(),
    removeTables: () => ports.executor.removeTables(),
    readTable: (skeleton, elements) => ports.executor.readTable(skeleton, elements),
    monitor: (events) => ports.executor.monitor(events),
    close: () => ports.executor.close(),
  };
  dataplane = new NftablesDataplane({ ...ports, executor });
  const repairs: string[] = [];
  dataplane.onRepair((what) => repairs.push(what));
  const { quarantined } = await dataplane.replace(node, wanted);
  expect([...quarantined]).toEqual([]);
  return { transactions: () => transactions, repairs };
}

/** Returns everything in our tables as one text. Tests compare it by ===, because vitest would print all differences. */
async function content(): Promise<string> {
  const reading = new KernelReading(namespace);
  try {
    return (await reading.read()).lines.join('\n');
  } finally {
    reading.close();
  }
}

async function contentAfterLoading(wanted: ReadonlyMap<string, ServiceForwarding>): Promise<string> {
  await start(wanted);
  const loaded = await content();
  await dataplane.cleanup();
  return loaded;
}

const nft = (...commands: string[]): string =>
  execFileSync('ip', ['netns', 'exec', namespace, 'nft', commands.join(' ; ')], { encoding: 'utf8' });

let loaded: string;
let loadedChanged: string;

beforeAll(async () => {
  execFileSync('ip', ['netns', 'add', namespace]);
  loadedChanged = await contentAfterLoading(changed);
  loaded = await contentAfterLoading(services);
});

afterAll(() => {
  execFileSync('ip', ['netns', 'del', namespace]);
});

beforeEach(async () => {
  await start(services);
  await dataplane.close();
});

afterEach(async () => {
  await dataplane.close();
});

describe('a start with a large table', () => {
  test('nothing is written when nothing changed', async () => {
    const { transactions } = await start(services);
    expect(transactions()).toBe(0);
    expect((await content()) === loaded).toBe(true);
  });

  test('Services that changed while no agent ran are brought to their new form', async () => {
    const { repairs } = await start(changed);
    expect((await content()) === loadedChanged).toBe(true);
    // Elements that were added while the table was read do not look like those of another program.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(repairs).toEqual([]);
  });

  const backend = (index: number, slot: number): string => `${host(10, index)} . tcp . 80 . 0:${slot.toString(16)}`;
  test.each([
    [
      'changed',
      `delete element ip herald backends { ${backend(50, 2)} : ${host(102, 50)} . 8080 }`,
      `add element ip herald backends { ${backend(50, 2)} : 192.0.2.1 . 1 }`,
    ],
    ['removed', `delete element ip herald backends { ${backend(60, 0)} : ${host(100, 60)} . 8080 }`],
    ['added', `add element ip herald backends { ${backend(70, 63)} : 192.0.2.2 . 2 }`],
    [
      'changed, removed and added together',
      `delete element ip herald backends { ${backend(80, 2)} : ${host(102, 80)} . 8080 , ${backend(80, 3)} : ${host(103, 80)} . 8080 }`,
      `add element ip herald backends { ${backend(80, 2)} : 192.0.2.1 . 1 , ${backend(80, 63)} : 192.0.2.2 . 2 }`,
      `delete element ip herald cluster_ips { ${host(10, 80)} }`,
    ],
  ])('elements that another program %s while no agent ran are repaired', async (_, ...commands) => {
    nft(...commands);
    expect((await content()) === loaded).toBe(false);
    await start(services);
    expect((await content()) === loaded).toBe(true);
  });

  test('missing backends that another program removed under a running agent are reported as a repair', async () => {
    const { repairs } = await start(services);
    nft(`delete element ip herald backends { ${backend(60, 0)} : ${host(100, 60)} . 8080 }`);
    await expect.poll(() => repairs.length, { timeout: 30_000 }).toBe(1);
    expect((await content()) === loaded).toBe(true);
  });

  test('a load that was killed between two transactions is completed', async () => {
    nft('delete table ip herald', 'delete table ip6 herald');
    const source = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
    const program = `
      const { node, services } = await import(${source('./large-services.ts')});
      const { NftablesDataplane } = await import(${source('../../src/dataplane/nftables/nftables.ts')});
      const { machinePorts } = await import(${source('../../src/dataplane/nftables/ports.ts')});
      const { namespaceNamed } = await import(${source('../support/namespace-named.ts')});
      const { systemClock } = await import(${source('../../src/system/clock.ts')});
      const { silentLog } = await import(${source('../../src/system/log.ts')});
      const ports = machinePorts(systemClock, silentLog, { own: false, namespace: namespaceNamed(${JSON.stringify(namespace)}) });
      const run = ports.executor.run.bind(ports.executor);
      let transactions = 0;
      ports.executor.run = async (transaction) => {
        if (transactions++ === 2) process.kill(process.pid, 'SIGKILL');
        await run(transaction);
      };
      await new NftablesDataplane(ports).replace(node, services);`;
    const { signal, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    expect({ signal, stderr }).toEqual({ signal: 'SIGKILL', stderr: '' });
    expect(nft('list set ip herald cluster_ips')).toContain(host(10, 0));
    expect((await content()) === loaded).toBe(false);
    await start(services);
    expect((await content()) === loaded).toBe(true);
  });
});
