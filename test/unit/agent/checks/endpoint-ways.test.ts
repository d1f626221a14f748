import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { EndpointWays } from '../../../../src/agent/checks/endpoint-ways.ts';
import { limits } from '../../../../src/agent/limits.ts';
import { address, formatAddress, type Address } from '../../../../src/net/address.ts';
import type { DroppingInterface, Neighbor, RouteAnswer, RouteChange } from '../../../../src/net/endpoint-way.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

/** A host on a virtual clock. Addresses have a way unless `problems` says otherwise. */
class Bed {
  readonly clock = new VirtualClock();
  readonly problems = new Map<string, string>();
  readonly hops = new Map<string, RouteAnswer['hop']>();
  neighbors: readonly Neighbor[] = [];
  endpoints: readonly Address[] = [];
  /** The addresses of each question to the kernel, as text. */
  readonly asked: string[][] = [];
  changes = 0;
  broken = false;
  neighborReads = 0;
  dropping: readonly DroppingInterface[] = [];
  readonly links = new Map([2, 3, 4, 9].map((index) => [index, `br${index}`]));
  linkReads = 0;
  change: (change: RouteChange) => void = () => undefined;
  readonly ways = new EndpointWays(
    {
      clock: this.clock,
      log: silentLog,
      ways: {
        routes: async (addresses) => {
          this.asked.push(addresses.map(formatAddress));
          if (this.broken) throw new Error('no answer');
          return addresses.map((each): RouteAnswer => {
            const problem = this.problems.get(formatAddress(each));
            const hop = this.hops.get(formatAddress(each));
            return { ...(problem === undefined ? {} : { problem }), ...(hop === undefined ? {} : { hop }) };
          });
        },
        answers: async (questions) => questions.map(() => ({})),
        neighbors: async () => {
          this.neighborReads++;
          return this.neighbors;
        },
        interfaces: async () => {
          this.linkReads++;
          return this.links;
        },
        follow: (changed) => {
          this.change = changed;
          return () => (this.change = () => undefined);
        },
      },
    },
    { endpoints: () => this.endpoints, dropping: async () => this.dropping, onChanged: () => this.changes++ },
  );

  constructor(...endpoints: string[]) {
    this.endpoints = endpoints.map((each) => address(each));
  }

  async pass(milliseconds: number): Promise<void> {
    const step = 100;
    for (let left = milliseconds; left > 0; left -= step) {
      this.clock.advance(Math.min(step, left));
      await nextTurn();
    }
  }

  async start(): Promise<void> {
    this.ways.start();
    await this.pass(100);
  }

  takeAsked(): string[] {
    return this.asked.splice(0).flat();
  }

  get found(): string[] {
    return [...this.ways.ways].map(
      ([key, way]) =>
        `${key}: ${way.kind === 'unroutable' ? way.route : way.kind === 'notOnLink' ? `not on ${way.interface}` : `on ${way.other}`}`,
    );
  }
}

const set = (at: string, index = 2): Neighbor => ({
  index,
  interface: 'eth0',
  address: address(at),
  state: 'known',
  age: 0,
  wrong: { why: `the entry of ${at} is set`, remedy: 'ip neigh del' },
});

const failed = (at: string, age: number): Neighbor => ({ index: 2, interface: 'eth0', address: address(at), state: 'failed', age });

describe('routes to endpoints', () => {
  test('a missing way counts when two looks in a row find it, and no longer once it is back', async () => {
    const bed = new Bed('10.0.1.1', '10.0.2.1', 'fd00:1::1');
    bed.problems.set('10.0.2.1', 'no route').set('fd00:1::1', 'route unreachable fd00:1::/64');
    await bed.start();
    expect(bed.found).toEqual([]);
    await bed.pass(limits.wayTurnMilliseconds + 200);
    expect(bed.found).toEqual(['10.0.2.1: no route', 'fd00:1::1: route unreachable fd00:1::/64']);
    expect(bed.changes).toBe(1);
    bed.problems.delete('10.0.2.1');
    bed.change({ prefix: prefix('10.0.2.0/24') });
    await bed.pass(limits.wayTurnMilliseconds);
    expect(bed.found).toEqual(['fd00:1::1: route unreachable fd00:1::/64']);
    expect(bed.changes).toBe(2);
  });

  test('a route that is replaced for less than a second is no problem', async () => {
    const bed = new Bed('10.0.1.1');
    await bed.start();
    await bed.pass(5_000);
    bed.problems.set('10.0.1.1', 'no route');
    bed.change({ prefix: prefix('10.0.1.0/24') });
    await bed.pass(limits.wayPauseMilliseconds + 100);
    bed.problems.clear();
    await bed.pass(60_000);
    expect(bed.changes).toBe(0);
  });

  test('a change is found without an event in the next round', async () => {
    const bed = new Bed('10.0.1.1');
    await bed.start();
    bed.problems.set('10.0.1.1', 'no route');
    await bed.pass(limits.wayRoundMilliseconds + 2 * limits.wayTurnMilliseconds);
    expect(bed.found).toEqual(['10.0.1.1: no route']);
  });

  test('new endpoints are asked about soon, and removed ones are forgotten', async () => {
    const bed = new Bed('10.0.1.1');
    bed.problems.set('10.0.1.1', 'no route').set('10.0.3.1', 'no route');
    await bed.start();
    await bed.pass(5_000);
    bed.takeAsked();
    bed.endpoints = [address('10.0.3.1')];
    bed.ways.endpointsChanged();
    await bed.pass(2 * limits.wayTurnMilliseconds + 500);
    expect(bed.takeAsked()).toEqual(['10.0.3.1', '10.0.3.1']);
    expect(bed.found).toEqual(['10.0.3.1: no route']);
  });

  test('a change of a prefix concerns only the endpoints inside, and one of an interface those behind it', async () => {
    const bed = new Bed('10.0.1.1', '10.0.1.200', '10.0.2.1', '10.0.0.255', 'fd00::1', 'fd00:0:0:1::1');
    bed.hops.set('10.0.1.1', { index: 3, address: address('10.0.1.1'), isGateway: false });
    for (const each of ['10.0.1.200', '10.0.2.1', '10.0.0.255', 'fd00::1', 'fd00:0:0:1::1'])
      bed.hops.set(each, { index: 2, address: address(each), isGateway: false });
    await bed.start();
    bed.takeAsked();
    bed.change({ prefix: prefix('10.0.1.0/24') });
    await bed.pass(2_000);
    expect(bed.takeAsked()).toEqual(['10.0.1.1', '10.0.1.200']);
    bed.change({ prefix: prefix('fd00::/64') });
    await bed.pass(2_000);
    expect(bed.takeAsked()).toEqual(['fd00::1']);
    bed.change({ index: 3 });
    await bed.pass(2_000);
    expect(bed.takeAsked()).toEqual(['10.0.1.1']);
    bed.change({ prefix: prefix('172.16.0.0/12') });
    await bed.pass(2_000);
    expect(bed.takeAsked()).toEqual([]);
  });

  test('a kernel that does not answer changes nothing, and is asked again', async () => {
    const bed = new Bed('10.0.1.1');
    bed.problems.set('10.0.1.1', 'no route');
    await bed.start();
    await bed.pass(2_000);
    bed.broken = true;
    bed.problems.clear();
    bed.change(undefined);
    await bed.pass(3_000);
    expect(bed.found).toEqual(['10.0.1.1: no route']);
    bed.broken = false;
    await bed.pass(2_000);
    expect(bed.found).toEqual([]);
  });

  test('nothing runs after stop, and constant events do not postpone a look', async () => {
    const bed = new Bed('10.0.1.1');
    await bed.start();
    bed.takeAsked();
    for (let events = 0; events < 30; events++) {
      bed.change({ prefix: prefix('10.0.1.0/24') });
      await bed.pass(100);
    }
    expect(bed.takeAsked().length).toBeGreaterThanOrEqual(2);
    bed.ways.stop();
    bed.change(undefined);
    expect(bed.clock.pending).toBe(0);
  });

  test('a stop forgets all, and a start begins anew', async () => {
    const bed = new Bed('10.0.1.1');
    bed.problems.set('10.0.1.1', 'no route');
    await bed.start();
    await bed.pass(2_000);
    bed.ways.stop();
    expect(bed.found).toEqual([]);
    await bed.pass(2_000);
    await bed.start();
    await bed.pass(2_000);
    expect(bed.found).toEqual(['10.0.1.1: no route']);
  });
});

describe('the cost', () => {
  const many = Array.from({ length: 10_000 }, (_, at) => `10.${at >> 8}.${at & 255}.1`);

  test('of a change of one route among 10,000 endpoints is a question for each endpoint behind it', async () => {
    const bed = new Bed(...many);
    await bed.start();
    await bed.pass(25_000);
    expect(new Set(bed.takeAsked()).size).toBe(10_000);
    bed.change({ prefix: prefix('10.7.3.0/24') });
    await bed.pass(1_500);
    expect(bed.takeAsked()).toEqual(['10.7.3.1']);
    bed.change({ prefix: prefix('0.0.0.0/0') });
    for (let second = 0; second < 20; second++) {
      await bed.pass(limits.wayTurnMilliseconds);
      for (const asked of bed.asked) expect(asked.length).toBeLessThanOrEqual(limits.waysPerTurn);
      expect(bed.asked.splice(0).length).toBeLessThanOrEqual(2);
    }
  });

  test('of ten minutes without changes is a bounded number of questions, and each endpoint has its turn', async () => {
    const bed = new Bed(...many.slice(0, 2_000));
    await bed.start();
    await bed.pass(25_000);
    bed.takeAsked();
    await bed.pass(21 * limits.wayRoundMilliseconds);
    expect(bed.asked.length).toBeLessThanOrEqual(21);
    for (const asked of bed.asked) expect(asked.length).toBe(limits.waysPerRound);
    expect(new Set(bed.takeAsked()).size).toBe(2_000);
    expect(bed.neighborReads).toBeLessThanOrEqual(22);
  });

  test('failed and new endpoints come before those that a change concerns', async () => {
    const bed = new Bed(...many.slice(0, 5_000));
    await bed.start();
    await bed.pass(20_000);
    bed.takeAsked();
    bed.change(undefined);
    bed.endpoints = [...bed.endpoints, address('172.16.0.1')];
    bed.ways.endpointsChanged();
    await bed.pass(limits.wayTurnMilliseconds);
    expect(bed.takeAsked()[0]).toBe('172.16.0.1');
  });
});

describe('neighbours', () => {
  const onLink = (bed: Bed, endpoint: string, hop = endpoint): void => {
    bed.hops.set(endpoint, { index: 2, address: address(hop), isGateway: hop !== endpoint });
  };

  test('a machine is missing after two failures, until it answers', async () => {
    const bed = new Bed('192.0.2.7', '2001:db8::7', '192.0.2.8');
    for (const each of ['192.0.2.7', '2001:db8::7', '192.0.2.8']) onLink(bed, each);
    bed.neighbors = [failed('192.0.2.7', 2_000), failed('2001:db8::7', 2_000)];
    await bed.start();
    expect(bed.found).toEqual([]);
    // The same failures, grown older.
    bed.neighbors = [failed('192.0.2.7', 7_000), failed('2001:db8::7', 7_000)];
    await bed.pass(limits.wayRetryMilliseconds);
    expect(bed.found).toEqual([]);
    bed.neighbors = [failed('192.0.2.7', 1_000), { ...failed('2001:db8::7', 0), state: 'asking' }];
    await bed.pass(limits.wayRetryMilliseconds);
    expect(bed.found).toEqual(['192.0.2.7: not on eth0']);
    bed.neighbors = [{ ...failed('192.0.2.7', 0), state: 'known' }, failed('2001:db8::7', 1_000)];
    await bed.pass(limits.wayRetryMilliseconds);
    expect(bed.found).toEqual(['2001:db8::7: not on eth0']);
  });

  test('a failure of long ago says nothing, and a missing machine is forgotten when nobody has asked for it for long', async () => {
    const bed = new Bed('192.0.2.7');
    onLink(bed, '192.0.2.7');
    bed.neighbors = [failed('192.0.2.7', 3_600_000)];
    await bed.start();
    await bed.pass(120_000);
    expect(bed.found).toEqual([]);
    for (const _ of [1, 2]) {
      bed.neighbors = [failed('192.0.2.7', 0)];
      await bed.pass(limits.wayRoundMilliseconds);
    }
    expect(bed.found).toEqual(['192.0.2.7: not on eth0']);
    bed.neighbors = [];
    await bed.pass(limits.wayFailureMilliseconds + limits.wayRetryMilliseconds);
    expect(bed.found).toEqual([]);
  });

  test('while one has failed, other addresses still have their turn', async () => {
    const bed = new Bed('192.0.2.7', '10.0.1.1');
    onLink(bed, '192.0.2.7');
    bed.neighbors = [failed('192.0.2.7', 0)];
    await bed.start();
    bed.takeAsked();
    await bed.pass(2 * limits.wayRoundMilliseconds);
    expect(bed.takeAsked()).toEqual(expect.arrayContaining(['10.0.1.1']));
  });

  test('a gateway that does not answer is no machine at the address of the endpoint', async () => {
    const bed = new Bed('10.0.1.1');
    onLink(bed, '10.0.1.1', '192.0.2.9');
    for (const _ of [1, 2, 3]) {
      bed.neighbors = [failed('192.0.2.9', 0)];
      await bed.pass(100);
      bed.ways.start();
      await bed.pass(limits.wayRetryMilliseconds);
    }
    expect(bed.found).toEqual(['10.0.1.1: nobody on eth0 answers for the gateway 192.0.2.9']);
  });
});

test('an endpoint behind an interface that drops packets has no way while it does, in its families', async () => {
  const bed = new Bed('10.0.1.1', '10.0.2.1', 'fd00::1');
  bed.hops.set('10.0.1.1', { index: 3, address: address('192.0.2.9'), isGateway: true });
  bed.hops.set('10.0.2.1', { index: 2, address: address('10.0.2.1'), isGateway: false });
  bed.hops.set('fd00::1', { index: 3, address: address('fd00::1'), isGateway: false });
  bed.dropping = [{ interface: 'br3', families: [4], why: 'br3 drops', remedy: 'sysctl' }];
  await bed.start();
  expect([...bed.ways.ways]).toEqual([['10.0.1.1', { kind: 'unroutable', route: 'br3 drops', remedy: 'sysctl' }]]);
  bed.dropping = [{ interface: 'br3', families: [4], onLinkOnly: true, why: 'br3 drops', remedy: 'sysctl' }];
  bed.ways.droppingChanged();
  await bed.pass(2 * limits.wayTurnMilliseconds);
  expect(bed.found).toEqual([]);
  bed.hops.set('10.0.1.1', { index: 3, address: address('10.0.1.1'), isGateway: false });
  bed.change({ prefix: prefix('10.0.1.0/24') });
  await bed.pass(2 * limits.wayTurnMilliseconds);
  expect(bed.found).toEqual(['10.0.1.1: br3 drops']);
  bed.dropping = [];
  bed.ways.droppingChanged();
  await bed.pass(2 * limits.wayTurnMilliseconds);
  expect(bed.found).toEqual([]);
});

test('the interfaces of IPv4 endpoints are known, most used first, and links are read for a new one only', async () => {
  const bed = new Bed('10.0.1.1', '10.0.2.1', '10.0.2.2', 'fd00::1');
  const leaves = (at: string, index: number) => bed.hops.set(at, { index, address: address(at), isGateway: false });
  leaves('10.0.1.1', 2);
  leaves('10.0.2.1', 3);
  leaves('10.0.2.2', 3);
  leaves('fd00::1', 4);
  await bed.start();
  expect(bed.ways.interfaces).toEqual(['br3', 'br2']);
  await bed.pass(3 * limits.wayRoundMilliseconds);
  expect(bed.linkReads).toBe(1);
  bed.endpoints = [address('10.0.9.1')];
  leaves('10.0.9.1', 9);
  bed.ways.endpointsChanged();
  await bed.pass(2 * limits.wayTurnMilliseconds);
  expect(bed.ways.interfaces).toEqual(['br9']);
});

test('a host that cannot be asked finds nothing', () => {
  const clock = new VirtualClock();
  const ways = new EndpointWays({ clock, log: silentLog }, { endpoints: () => [], onChanged: () => undefined });
  ways.start();
  ways.endpointsChanged();
  ways.stop();
  expect([ways.ways.size, clock.pending]).toEqual([0, 0]);
});

describe('entries of neighbours that lead to no machine', () => {
  test.each([
    ['an endpoint on the link', false],
    ['a gateway', true],
  ])('of %s are named at the next round, and a repair shows within seconds', async (_, isGateway) => {
    const bed = new Bed('10.0.1.1', 'fd00:1::1');
    for (const each of ['10.0.1.1', 'fd00:1::1'])
      bed.hops.set(each, { index: 2, address: address(isGateway ? each.replace(/1$/, '9') : each), isGateway });
    await bed.start();
    bed.neighbors = (isGateway ? ['10.0.1.9', 'fd00:1::9'] : ['10.0.1.1', 'fd00:1::1']).map((each) => set(each));
    await bed.pass(limits.wayRoundMilliseconds + limits.wayTurnMilliseconds);
    expect([...bed.ways.ways.values()]).toEqual(
      bed.neighbors.map(({ wrong }) => ({ kind: 'unroutable', route: wrong?.why, remedy: 'ip neigh del' })),
    );
    bed.neighbors = [];
    await bed.pass(limits.wayRetryMilliseconds + limits.wayTurnMilliseconds);
    expect(bed.found).toEqual([]);
  });

  test('of other addresses, or on other links, are left alone', async () => {
    const bed = new Bed('10.0.1.1');
    bed.hops.set('10.0.1.1', { index: 2, address: address('10.0.1.1'), isGateway: false });
    bed.neighbors = [set('10.0.1.1', 3), set('10.0.1.2')];
    await bed.start();
    await bed.pass(limits.wayRoundMilliseconds + limits.wayTurnMilliseconds);
    expect(bed.found).toEqual([]);
  });
});
