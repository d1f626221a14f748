import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { NftExecutor } from '../../src/dataplane/nftables/executor.ts';
import { netlinkExecutor } from '../../src/dataplane/nftables/netlink/netlink-executor.ts';
import { address } from '../../src/net/address.ts';
import type { NodeForwarding, ServiceForwarding } from '../../src/net/frontend.ts';
import { dataplaneBy, KernelNamespace, quickClock } from './kernel-namespace.ts';

/** Tests a change of nftables by another program after Herald has read its tables and before it commits. */
const node: NodeForwarding = { nodePortAddresses: [], podPrefixes: [], servicePrefixes: [], masqueradeBit: 14 };

const service = (host: number): ServiceForwarding => ({
  frontends: [
    {
      match: { kind: 'address', address: address(`10.96.0.${host}`), protocol: 'TCP', port: 80 },
      scope: 'internal',
      policy: 'Cluster',
      backends: [{ address: address('10.244.0.1'), port: 8080, local: true }],
      localBackends: [],
    },
  ],
});
const [before, after] = [new Map([['a', service(1)]]), new Map([1, 2].map((host) => [`s${host}`, service(host)]))];

let kernel: KernelNamespace;
let scratch: KernelNamespace;

beforeAll(() => {
  kernel = new KernelNamespace('overtaken');
  scratch = new KernelNamespace('alone');
});

afterAll(() => {
  kernel?.remove();
  scratch?.remove();
});

beforeEach(async () => {
  for (const each of [kernel, scratch]) await byNetlink(each).removeTables();
  const predecessor = dataplaneBy(byNetlink(kernel));
  await predecessor.replace(node, before);
  await predecessor.close();
});

function byNetlink({ namespace }: KernelNamespace): NftExecutor {
  return netlinkExecutor(quickClock, { own: false, networkNamespace: `/run/netns/${namespace}` });
}

const nft = (...words: string[]): string => execFileSync('ip', ['netns', 'exec', kernel.namespace, 'nft', ...words], { encoding: 'utf8' });

/**
 * Starts on the tables of an earlier process, and calls `meanwhile` each time both tables have been read. Returns the number of readings.
 */
async function start(meanwhile: (reading: number) => void): Promise<number> {
  const executor = byNetlink(kernel);
  let readings = 0;
  const disturbed: NftExecutor = {
    run: (transaction) => executor.run(transaction),
    ...(executor.generation === undefined ? {} : { generation: () => executor.generation?.() ?? Promise.resolve(undefined) }),
    removeTables: () => executor.removeTables(),
    async readTable(skeleton, wanted) {
      const listing = await executor.readTable(skeleton, wanted);
      if (skeleton.family === 6) meanwhile(++readings);
      return listing;
    },
    // No events are reported, so only the check of the generation can notice the change.
    monitor: () => ({ subscribed: true, stop: () => Promise.resolve() }),
    close: () => executor.close(),
  };
  const dataplane = dataplaneBy(disturbed);
  expect([...(await dataplane.replace(node, after)).quarantined]).toEqual([]);
  await dataplane.close();
  return readings;
}

async function expectAsAlone(): Promise<void> {
  const alone = dataplaneBy(byNetlink(scratch));
  await alone.replace(node, after);
  await alone.close();
  expect((await kernel.reading.read()).lines).toEqual((await scratch.reading.read()).lines);
}

describe('the first transaction after a read', () => {
  test('a foreign change of our tables during the read makes them be read again', async () => {
    const readings = await start((reading) => {
      if (reading > 1) return;
      nft('delete', 'element', 'ip', 'herald', 'cluster_ips', '{ 10.96.0.1 }');
      nft('add', 'element', 'ip6', 'herald', 'cluster_ips', '{ fd00::99 }');
    });
    expect(readings).toBe(2);
    await expectAsAlone();
  });

  test('constant changes of other tables do not prevent the commit', async () => {
    nft('add', 'table', 'ip', 'other');
    const readings = await start((reading) => void nft('add', 'chain', 'ip', 'other', `c${reading}`));
    expect(readings).toBe(2);
    await expectAsAlone();
    nft('delete', 'table', 'ip', 'other');
  });

  test('without a foreign change the tables are read once', async () => {
    expect(await start(() => undefined)).toBe(1);
    await expectAsAlone();
  });
});
