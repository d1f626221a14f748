import { execFileSync } from 'node:child_process';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { receivedNetlink } from '../../src/dataplane/received-routes/received-netlink.ts';
import { removeReceivedRoutes } from '../../src/dataplane/received-routes/received-route-set.ts';
import { routeText, type KernelRoute, type ReceivedRouteTable } from '../../src/dataplane/received-routes/received-table.ts';
import { address } from '../../src/net/address.ts';
import { formatPrefix, prefix } from '../../src/net/prefix.ts';
import { systemClock } from '../../src/system/clock.ts';
import { removeLeftovers } from './leftovers.ts';

/** Received routes and their rules, written by netlink and read by the ip command. */
const namespace = `hu-${process.pid}r`;
const inside = (...commands: string[]): string =>
  commands.map((command) => execFileSync('ip', ['netns', 'exec', namespace, ...command.split(' ')], { encoding: 'utf8' })).join('');

/** Returns the routes with our protocol in the words of ip, the next hops of one route on one line. 9 is the type `throw`. */
const routes = (): string[] =>
  [4, 6].flatMap((family) =>
    inside(`ip -N -o -${family} route show table all proto 153`)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) =>
        line
          .replaceAll(/[\s\\]+/g, ' ')
          .replaceAll(/ (metric \d+|pref \w+|weight 1)/g, '')
          .trim(),
      ),
  );
const rules = (family: 4 | 6): string[] =>
  inside(`ip -N -${family} rule show`)
    .split('\n')
    .filter((line) => line.endsWith('proto 153'))
    .map((line) => line.replaceAll(/\s+/g, ' '));
const bothRules = ['32160: from all lookup 254 suppress_prefixlength 0 proto 153', '32161: from all lookup 153 proto 153'];
const route = (to: string, ...hops: readonly (readonly [string, string])[]): KernelRoute => ({
  prefix: prefix(to),
  hops: hops.map(([gateway, name]) => ({ address: address(gateway), interface: name })),
});
const listed = async (): Promise<string[]> =>
  (await table.list()).routes.map((one) => `${formatPrefix(one.prefix)} ${routeText(one)}`).toSorted();
const get = (to: string): string => inside(`ip -o route get ${to}`).replaceAll(/[\s\\]+/g, ' ');

let table: ReceivedRouteTable;

beforeAll(() => {
  removeLeftovers('hu');
  execFileSync('ip', ['netns', 'add', namespace]);
  inside('ip link set lo up');
  for (const name of ['eth1', 'eth2']) {
    const index = name.slice(3);
    inside(
      `ip link add ${name} type veth peer name far${index}`,
      `ip link set far${index} up`,
      `ip link set ${name} up`,
      `ip address add 10.${index}.0.11/24 dev ${name}`,
      `ip address add fd00:${index}::11/64 dev ${name} nodad`,
    );
  }
});

afterAll(() => {
  execFileSync('ip', ['netns', 'del', namespace]);
});

beforeEach(() => {
  const opened = receivedNetlink(systemClock, `/run/netns/${namespace}`);
  if (opened === undefined) throw new Error('netlink is not available here');
  table = opened;
});

afterEach(async () => {
  await removeReceivedRoutes(table);
  expect([routes(), rules(4), rules(6)]).toEqual([[], [], []]);
  table.close();
});

const both4 = [
  ['10.1.0.1', 'eth1'],
  ['10.2.0.1', 'eth2'],
] as const;
const both6 = [
  ['fd00:1::1', 'eth1'],
  ['fe80::1', 'eth2'],
] as const;

test('routes of both families have all their next hops, and are listed as they were set', async () => {
  const all = [
    route('0.0.0.0/0', ...both4),
    route('10.77.0.0/16', ['10.1.0.1', 'eth1']),
    route('10.78.0.0/16', ['fe80::1', 'eth1']),
    route('10.79.0.0/16', ['fe80::1', 'eth1'], ['fe80::1', 'eth2']),
    route('10.1.0.1/32'),
    route('::/0', ...both6),
    route('2001:db8::/32', ['fe80::1', 'eth2']),
    route('fd00:1::1/128'),
  ];
  expect(await table.change(all, [])).toEqual(new Map());
  expect(routes().toSorted()).toEqual(
    [
      'default table 153 nexthop via 10.1.0.1 dev eth1 nexthop via 10.2.0.1 dev eth2',
      '10.77.0.0/16 via 10.1.0.1 dev eth1 table 153',
      '10.78.0.0/16 via inet6 fe80::1 dev eth1 table 153',
      '10.79.0.0/16 table 153 nexthop via inet6 fe80::1 dev eth1 nexthop via inet6 fe80::1 dev eth2',
      '9 10.1.0.1 table 153',
      'default table 153 nexthop via fd00:1::1 dev eth1 nexthop via fe80::1 dev eth2',
      '2001:db8::/32 via fe80::1 dev eth2 table 153',
      '9 fd00:1::1 dev lo table 153',
    ].toSorted(),
  );
  expect([rules(4), rules(6)]).toEqual([bothRules, bothRules]);
  expect(await listed()).toEqual(all.map((one) => `${formatPrefix(one.prefix)} ${routeText(one)}`).toSorted());
  expect((await table.list()).unruled).toEqual(new Set());
});

test('a route is replaced with fewer and with more next hops, without a moment without it', async () => {
  for (const [to, hops] of [
    ['0.0.0.0/0', both4],
    ['::/0', both6],
  ] as const) {
    for (const some of [hops, [hops[1]], [hops[0]], hops]) {
      expect(await table.change([route(to, ...some)], [])).toEqual(new Map());
      expect(await listed()).toContain(`${to} ${routeText(route(to, ...some))}`);
    }
  }
  expect(await listed()).toHaveLength(2);
});

test('routes of the main table precede received ones, but its default route does not', async () => {
  inside('ip route add default via 10.2.0.9', 'ip route add 10.50.0.0/16 via 10.2.0.9');
  inside('ip -6 route add default via fd00:2::9', 'ip -6 route add fd00:50::/32 via fd00:2::9');
  await table.change(
    [
      route('0.0.0.0/0', ['10.1.0.1', 'eth1']),
      route('10.50.7.0/24', ['10.1.0.1', 'eth1']),
      route('192.0.2.7/32'),
      route('::/0', ['fd00:1::1', 'eth1']),
      route('2001:db8::7/128'),
    ],
    [],
  );
  expect(get('198.51.100.1')).toContain('via 10.1.0.1 dev eth1 table 153');
  expect(get('10.2.0.77')).toMatch(/^10\.2\.0\.77 dev eth2/);
  expect(get('10.50.7.1')).toContain('via 10.2.0.9 dev eth2');
  expect(get('192.0.2.7')).toContain('via 10.2.0.9 dev eth2');
  expect(get('2001:db8::1')).toContain('via fd00:1::1 dev eth1 table 153');
  expect(get('fd00:50::1')).toContain('via fd00:2::9 dev eth2');
  expect(get('2001:db8::7')).toContain('via fd00:2::9 dev eth2');
  inside('ip route del default', 'ip route del 10.50.0.0/16', 'ip -6 route del default', 'ip -6 route del fd00:50::/32');
});

test('a refused route does not stop the others, and removing a missing one succeeds', async () => {
  const refused = await table.change(
    [route('10.80.0.0/16', ['10.9.0.1', 'eth1']), route('10.81.0.0/16', ['10.1.0.1', 'eth9']), route('10.82.0.0/16', ['10.1.0.1', 'eth1'])],
    [prefix('10.83.0.0/16')],
  );
  expect(new Set(refused.keys())).toEqual(new Set([0, 1]));
  expect(refused.get(1)).toBe('there is no interface eth9');
  expect(await listed()).toEqual(['10.82.0.0/16 10.1.0.1 dev eth1']);
});

test('a rule that another program removes is missing, and the last route of a family takes the rules away', async () => {
  await table.change([route('0.0.0.0/0', ...both4), route('::/0', ...both6)], []);
  inside('ip rule del pref 32160');
  expect((await table.list()).unruled).toEqual(new Set([4]));
  await table.change([route('0.0.0.0/0', ...both4)], [prefix('::/0')]);
  expect([rules(4), rules(6)]).toEqual([bothRules, []]);
});

test('routes of other programs in the table are left alone', async () => {
  inside('ip route add 10.90.0.0/16 via 10.1.0.1 table 153 proto 77');
  await table.change([route('10.91.0.0/16', ['10.1.0.1', 'eth1'])], []);
  expect(await listed()).toEqual(['10.91.0.0/16 10.1.0.1 dev eth1']);
  await removeReceivedRoutes(table);
  expect(inside('ip -N route show table 153')).toContain('10.90.0.0/16');
  inside('ip route del 10.90.0.0/16 table 153');
});

test('watchers hear of a route that another program removes, and not of our own changes', async () => {
  const changes: number[] = [];
  const stop = table.watch(() => changes.push(changes.length));
  await table.change([route('0.0.0.0/0', ...both4)], []);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(changes).toEqual([]);
  inside('ip route del default table 153');
  for (let tries = 0; changes.length === 0 && tries < 100; tries++) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(changes.length).toBeGreaterThan(0);
  stop();
});
