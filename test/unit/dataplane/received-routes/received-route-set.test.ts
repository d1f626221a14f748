import { beforeEach, describe, expect, test } from 'vitest';
import { DataplaneError } from '../../../../src/dataplane/dataplane.ts';
import { routeCheckInterval } from '../../../../src/dataplane/limits.ts';
import { ReceivedRouteSet } from '../../../../src/dataplane/received-routes/received-route-set.ts';
import type { KernelRoute } from '../../../../src/dataplane/received-routes/received-table.ts';
import { address } from '../../../../src/net/address.ts';
import { formatPrefix, prefix } from '../../../../src/net/prefix.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { FakeReceivedTable } from './fake-received-table.ts';

const route = (to: string, ...gateways: readonly string[]): KernelRoute => ({
  prefix: prefix(to),
  hops: gateways.map((gateway, index) => ({ address: address(gateway), interface: `eth${index}` })),
});
const changesOf = (...routes: readonly KernelRoute[]) => new Map(routes.map((one) => [formatPrefix(one.prefix), one]));

let table: FakeReceivedTable;
let clock: VirtualClock;
let set: ReceivedRouteSet;
let told: number;

beforeEach(() => {
  table = new FakeReceivedTable();
  clock = new VirtualClock();
  told = 0;
  set = new ReceivedRouteSet({ table, clock, log: silentLog }, () => told++);
});

const passInterval = async (): Promise<void> => {
  clock.advance(routeCheckInterval);
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};

describe('changes', () => {
  test('only differences reach the kernel', async () => {
    await set.change(changesOf(route('0.0.0.0/0', '10.1.0.1', '10.2.0.1'), route('::/0', 'fd00:1::1')));
    await set.change(changesOf(route('0.0.0.0/0', '10.1.0.1', '10.2.0.1'), route('::/0', 'fd00:2::1')));
    await set.change(new Map([['0.0.0.0/0', undefined]]));
    expect(table.changes).toEqual([
      '0.0.0.0/0 10.1.0.1 dev eth0, 10.2.0.1 dev eth1',
      '::/0 fd00:1::1 dev eth0',
      '::/0 fd00:2::1 dev eth0',
      '-0.0.0.0/0',
    ]);
    expect(table.lists).toBe(1);
    expect([set.isInstalled('::/0'), set.isInstalled('0.0.0.0/0')]).toEqual([true, false]);
  });

  test('a route that the kernel refuses does not stop the others, and is tried again', async () => {
    table.refused.set('0.0.0.0/0', 'the network is down');
    await set.change(changesOf(route('0.0.0.0/0', '10.1.0.1'), route('::/0', 'fd00:1::1')));
    expect(set.problem('0.0.0.0/0')).toBe('the network is down');
    expect([set.isInstalled('0.0.0.0/0'), set.isInstalled('::/0')]).toEqual([false, true]);
    table.refused.clear();
    await passInterval();
    expect([set.isInstalled('0.0.0.0/0'), set.problem('0.0.0.0/0'), told]).toEqual([true, undefined, 1]);
  });

  test('an error of the whole table is a problem of every route until the kernel answers', async () => {
    table.failure = new DataplaneError('permission', 'not permitted');
    await set.change(changesOf(route('::/0', 'fd00:1::1')));
    expect([set.isInstalled('::/0'), set.problem('::/0')]).toEqual([false, 'not permitted']);
    table.failure = undefined;
    await passInterval();
    expect([set.isInstalled('::/0'), set.problem('::/0')]).toEqual([true, undefined]);
  });
});

describe('routes of an earlier process', () => {
  beforeEach(() => {
    for (const one of [route('0.0.0.0/0', '10.1.0.1'), route('10.7.0.0/16', '10.1.0.1'), route('::/0', 'fd00:1::1')]) {
      table.present.set(formatPrefix(one.prefix), one);
    }
  });

  test('stay while others change, and are not written again when they are wanted', async () => {
    await set.change(changesOf(route('::/0', 'fd00:1::1'), route('10.8.0.0/16', '10.1.0.1')));
    expect(table.changes).toEqual(['10.8.0.0/16 10.1.0.1 dev eth0']);
    expect([...table.present.keys()]).toEqual(['0.0.0.0/0', '10.7.0.0/16', '::/0', '10.8.0.0/16']);
  });

  test('go when the routes of the peers are known, unless they are wanted', async () => {
    await set.change(changesOf(route('0.0.0.0/0', '10.1.0.1')));
    await passInterval();
    expect(table.present.size).toBe(3);
    await set.settle();
    expect([...table.present.keys()]).toEqual(['0.0.0.0/0']);
    await set.settle();
    expect(table.changes).toEqual(['-10.7.0.0/16', '-::/0']);
  });

  test('go without any peer, too', async () => {
    await set.settle();
    expect([...table.present.keys()]).toEqual([]);
  });
});

describe('another program', () => {
  test('that removes or adds a route, or a rule, is undone by the next check', async () => {
    await set.settle();
    await set.change(changesOf(route('0.0.0.0/0', '10.1.0.1')));
    table.present.clear();
    table.present.set('10.9.0.0/16', route('10.9.0.0/16', '10.1.0.1'));
    await passInterval();
    expect([...table.present.keys()]).toEqual(['0.0.0.0/0']);
    table.unruled.add(4);
    await passInterval();
    expect(table.unruled.size).toBe(0);
    const { length } = table.changes;
    await passInterval();
    expect(table.changes).toHaveLength(length);
  });

  test('is left alone after the end, and the routes stay', async () => {
    await set.change(changesOf(route('0.0.0.0/0', '10.1.0.1')));
    await set.close();
    const { lists } = table;
    await passInterval();
    expect([table.lists, table.closed, [...table.present.keys()]]).toEqual([lists, true, ['0.0.0.0/0']]);
  });
});
