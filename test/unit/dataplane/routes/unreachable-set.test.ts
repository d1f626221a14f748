import { expect, test } from 'vitest';
import { DataplaneError } from '../../../../src/dataplane/dataplane.ts';
import { maximumUnreachable, repairDelay, repairInterval, routeCheckInterval } from '../../../../src/dataplane/limits.ts';
import type { UnreachableRouteTable } from '../../../../src/dataplane/routes/unreachable-routes.ts';
import { UnreachableSet } from '../../../../src/dataplane/routes/unreachable-set.ts';
import type { Family } from '../../../../src/net/address.ts';
import { formatPrefix, prefix, type Prefix } from '../../../../src/net/prefix.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

/** A routing table that behaves like `ip -force`: it makes all possible changes, also when the command fails. */
class FakeTable implements UnreachableRouteTable {
  readonly present = new Map<string, Prefix>();
  readonly unruled = new Set<Family>([4, 6]);
  readonly refused = new Set<string>();
  failure: DataplaneError | undefined;

  /** True when the table reports changes. */
  tells = false;
  changed: () => void = () => undefined;
  watching = 0;

  get watch(): UnreachableRouteTable['watch'] {
    if (!this.tells) return undefined;
    return (changed) => {
      this.watching++;
      this.changed = changed;
      return () => this.watching--;
    };
  }

  close(): void {}

  async list() {
    if (this.failure !== undefined) throw this.failure;
    return { prefixes: [...this.present.values()], unruled: new Set(this.unruled) };
  }

  async change(add: readonly Prefix[], remove: readonly Prefix[]): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    for (const { address } of add) this.unruled.delete(address.family);
    for (const each of add) if (!this.refused.has(formatPrefix(each))) this.present.set(formatPrefix(each), each);
    for (const each of remove) this.present.delete(formatPrefix(each));
    if (add.some((each) => this.refused.has(formatPrefix(each)))) throw new DataplaneError('failed', 'not this one');
  }
}

function setup() {
  const table = new FakeTable();
  const clock = new VirtualClock();
  const repairs: string[] = [];
  const set = new UnreachableSet({ routes: table, clock, log: silentLog }, (what) => repairs.push(what));
  const check = async (): Promise<void> => {
    clock.advance(routeCheckInterval);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { table, clock, repairs, set, check };
}

const both = [prefix('192.0.2.0/24'), prefix('fd09::/64')];

test('a refused route is named and the others are set', async () => {
  const { table, set } = setup();
  table.refused.add('192.0.2.0/24');
  expect(await set.setPrefixes(both)).toEqual(new Map([['192.0.2.0/24', 'not this one']]));
  expect([...table.present.keys()]).toEqual(['fd09::/64']);
  table.refused.clear();
  expect(await set.setPrefixes(both)).toEqual(new Map());
});

test('routes beyond the limit are named', async () => {
  const { table, set } = setup();
  const many = Array.from({ length: maximumUnreachable + 2 }, (_, n) => prefix(`10.${n >> 8}.${n & 255}.0/24`));
  expect([...(await set.setPrefixes(many)).keys()]).toEqual(many.slice(-2).map(formatPrefix));
  expect(table.present.size).toBe(maximumUnreachable);
});

test('a route or a rule that another program removes is set again', async () => {
  const { table, repairs, set, check } = setup();
  await set.setPrefixes(both);
  await check();
  expect(repairs).toEqual([]);
  table.present.delete('192.0.2.0/24');
  await check();
  expect([...table.present.keys()].toSorted()).toEqual(['192.0.2.0/24', 'fd09::/64']);
  table.unruled.add(6);
  await check();
  expect(table.unruled).toEqual(new Set());
  expect(repairs).toEqual(['unreachable routes', 'unreachable routes']);
});

test('a failed change is retried', async () => {
  const { table, set, check } = setup();
  await set.setPrefixes(both);
  table.failure = new DataplaneError('permission', 'not permitted');
  await expect(set.setPrefixes([])).rejects.toThrow('not permitted');
  await check();
  table.failure = undefined;
  await check();
  expect([...table.present.keys()]).toEqual([]);
});

test.each([new DataplaneError('permission', 'not permitted'), new RangeError('a defect')])(
  'a change that ends with "%s" fails as a whole, without a list of refused routes',
  async (error) => {
    const { table, set } = setup();
    table.change = async () => {
      throw error;
    };
    await expect(set.setPrefixes(both)).rejects.toThrow(error);
  },
);

test('there are no checks without routes or after close', async () => {
  const { clock, set } = setup();
  await set.setPrefixes(both);
  await set.setPrefixes([]);
  expect(clock.pending).toBe(0);
  await set.setPrefixes(both);
  await set.close();
  expect(clock.pending).toBe(0);
});

test('with change events there is no polling, and several events cause one repair', async () => {
  const { table, clock, repairs, set } = setup();
  table.tells = true;
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  await set.setPrefixes(both);
  expect([table.watching, clock.pending]).toEqual([1, 0]);
  table.present.delete('192.0.2.0/24');
  table.unruled.add(6);
  table.changed();
  table.changed();
  expect(clock.pending).toBe(1);
  clock.advance(repairDelay);
  await settle();
  expect([[...table.present.keys()].toSorted(), table.unruled, repairs]).toEqual([
    ['192.0.2.0/24', 'fd09::/64'],
    new Set(),
    ['unreachable routes'],
  ]);
  // Continued interference is repaired once a second.
  table.present.clear();
  table.changed();
  clock.advance(repairInterval - repairDelay);
  await settle();
  expect(table.present.size).toBe(0);
  clock.advance(repairDelay);
  await settle();
  expect([table.present.size, repairs.length, clock.pending]).toEqual([2, 2, 0]);
  await set.close();
  table.changed();
  expect([table.watching, clock.pending]).toEqual([0, 0]);
});

test('a failed change is retried, also with change events', async () => {
  const { table, set, check } = setup();
  table.tells = true;
  table.refused.add('192.0.2.0/24');
  await set.setPrefixes(both);
  table.refused.clear();
  await check();
  expect(table.present.size).toBe(2);
});
