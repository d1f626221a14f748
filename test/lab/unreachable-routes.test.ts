import { execFileSync } from 'node:child_process';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { routeCheckInterval } from '../../src/dataplane/limits.ts';
import { ipCommand } from '../support/commands/ip-command.ts';
import { routeNetlink } from '../../src/dataplane/routes/route-netlink.ts';
import type { UnreachableRouteTable } from '../../src/dataplane/routes/unreachable-routes.ts';
import { UnreachableSet } from '../../src/dataplane/routes/unreachable-set.ts';
import { formatPrefix, prefix } from '../../src/net/prefix.ts';
import { systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../../src/system/log.ts';
import { VirtualClock } from '../../src/system/virtual-clock.ts';
import { removeLeftovers } from './leftovers.ts';

/** Routes and rules of Herald's own table, written by netlink or by the ip command and read by the ip command. */
const namespace = `hu-${process.pid}`;
const inside = (...commands: string[]): string =>
  commands.map((command) => execFileSync('ip', ['netns', 'exec', namespace, ...command.split(' ')], { encoding: 'utf8' })).join('');

/**
 * Returns "unreachable 192.0.2.0/24" for the routes of both families, with " elsewhere" for routes that are not in our table with our
 * protocol.
 */
const routes = (): string[] =>
  inside('ip -4 route show table all type unreachable', 'ip -6 route show table all type unreachable')
    .split('\n')
    .flatMap((line) => /^unreachable \S+/.exec(line)?.[0].concat(/table 152 proto 152/.test(line) ? '' : ' elsewhere') ?? []);
const rules = (): string[] =>
  [4, 6].flatMap((family) =>
    inside(`ip -${family} -N rule show pref 32152`)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => `IPv${family} ${line.replaceAll(/\s+/g, ' ').trim()}`),
  );
const rule = (family: 4 | 6): string => `IPv${family} 32152: not from all iif lo lookup 152 proto 152`;
const both = [prefix('198.51.100.0/24'), prefix('fd77::/64')];

beforeAll(() => {
  removeLeftovers('hu');
  execFileSync('ip', ['netns', 'add', namespace]);
  inside('ip link set lo up');
});

afterAll(() => {
  execFileSync('ip', ['netns', 'del', namespace]);
});

describe.each(['netlink', 'the command'])('by %s', (transport) => {
  let table: UnreachableRouteTable;

  beforeEach(() => {
    table = transport === 'netlink' ? routeNetlink(systemClock, `/run/netns/${namespace}`) : ipCommand(['ip', 'netns', 'exec', namespace]);
  });

  afterEach(async () => {
    await table.change([], (await table.list()).prefixes);
    expect([routes(), rules()]).toEqual([[], []]);
    table.close();
  });

  test('the first route of a family adds its rule, and the last one removes it', async () => {
    expect(await table.list()).toEqual({ prefixes: [], unruled: new Set([4, 6]) });
    await table.change(both, []);
    expect(routes()).toEqual(['unreachable 198.51.100.0/24', 'unreachable fd77::/64']);
    expect(rules()).toEqual([rule(4), rule(6)]);
    expect(await table.list()).toEqual({ prefixes: both, unruled: new Set() });
    await table.change([], [prefix('fd77::/64')]);
    expect([routes(), rules()]).toEqual([['unreachable 198.51.100.0/24'], [rule(4)]]);
  });

  test('prefixes of every length are listed as they were added', async () => {
    const prefixes = ['0.0.0.0/0', '10.0.0.0/8', '198.51.100.128/25', '203.0.113.7/32', '::/0', 'fd00::/8', 'fd77::1/128'].map(prefix);
    await table.change(prefixes, []);
    const found = (await table.list()).prefixes.map(formatPrefix).toSorted();
    expect(found).toEqual(prefixes.map(formatPrefix).toSorted());
  });

  test('adding an existing route and removing a missing one succeed', async () => {
    await table.change(both, [prefix('203.0.113.0/24'), prefix('fd78::/64')]);
    await table.change(both, []);
    expect(routes()).toHaveLength(2);
    await table.change([], both);
    await table.change([], both);
    expect([routes(), rules()]).toEqual([[], []]);
  });

  test('routes and rules of other programs are neither listed nor removed', async () => {
    inside('ip route add unreachable 203.0.113.0/24 table 152 proto static', 'ip route add blackhole 203.0.114.0/24 table 152 proto 152');
    inside('ip route add unreachable 203.0.115.0/24 proto 152', 'ip rule add pref 32152 from 10.0.0.0/8 iif lo lookup 152');
    expect(await table.list()).toEqual({ prefixes: [], unruled: new Set([4, 6]) });
    await table.change(both, []);
    expect((await table.list()).prefixes).toEqual(both);
    await table.change([], both);
    inside('ip route del unreachable 203.0.113.0/24 table 152', 'ip route del blackhole 203.0.114.0/24 table 152');
    inside('ip route del unreachable 203.0.115.0/24', 'ip rule del pref 32152 from 10.0.0.0/8');
  });

  test('thousands of routes are changed at once', async () => {
    const many = Array.from({ length: 2_500 }, (_, n) => [
      prefix(`10.${n >> 8}.${n & 255}.0/24`),
      prefix(`fd10:${n.toString(16)}::/64`),
    ]).flat();
    await table.change(many, []);
    expect(routes()).toHaveLength(5_000);
    expect((await table.list()).prefixes).toHaveLength(5_000);
    await table.change([], many.slice(10));
    expect(routes()).toHaveLength(10);
  });

  test('a route or rule that another program removes is restored', async () => {
    const clock = transport === 'netlink' ? systemClock : new VirtualClock();
    const set = new UnreachableSet({ routes: table, clock, log: silentLog }, (what) => repairs.push(what));
    const repairs: string[] = [];
    const repaired = async (): Promise<void> => {
      const before = repairs.length;
      for (let look = 0; look < 500 && repairs.length === before; look++) {
        if (clock instanceof VirtualClock) clock.advance(routeCheckInterval);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      expect(repairs).toHaveLength(before + 1);
    };
    await set.setPrefixes(both);
    inside('ip route del unreachable 198.51.100.0/24 table 152');
    await repaired();
    expect(routes()).toEqual(['unreachable 198.51.100.0/24', 'unreachable fd77::/64']);
    inside('ip -6 rule del pref 32152');
    await repaired();
    expect(rules()).toEqual([rule(4), rule(6)]);
    inside('ip -6 route flush table 152', 'ip -4 rule del pref 32152');
    await repaired();
    expect([routes(), rules()]).toEqual([
      ['unreachable 198.51.100.0/24', 'unreachable fd77::/64'],
      [rule(4), rule(6)],
    ]);
    await set.close();
  });

  test('the error says permission when CAP_NET_ADMIN is missing', async () => {
    const words = ['setpriv', '--bounding-set=-net_admin'];
    if (transport === 'the command') {
      const powerless = ipCommand(['ip', 'netns', 'exec', namespace, ...words]);
      await expect(powerless.change(both, [])).rejects.toMatchObject({ code: 'permission' });
      return;
    }
    const module = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
    const program = `
      const { routeNetlink } = await import(${module('dataplane/routes/route-netlink.ts')});
      const { systemClock } = await import(${module('system/clock.ts')});
      const { prefix } = await import(${module('net/prefix.ts')});
      await routeNetlink(systemClock).change([prefix('198.51.100.0/24')], []).catch((error) => console.log(error.name, error.code));
      process.exit(0);`;
    const output = execFileSync('ip', ['netns', 'exec', namespace, ...words, process.execPath, '--input-type=module', '-e', program], {
      encoding: 'utf8',
    });
    expect(output).toBe('DataplaneError permission\n');
  });
});

test('netlink events report changes by other programs in our table and nothing else', async () => {
  const table = routeNetlink(systemClock, `/run/netns/${namespace}`);
  if (table.watch === undefined) throw new Error('netlink is not available here');
  const events: string[] = [];
  const stop = table.watch(() => events.push('changed'));
  const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 400));
  await table.change(both, []);
  inside(
    'ip route add unreachable 203.0.113.0/24',
    'ip -6 route add unreachable fd99::/64',
    'ip rule add pref 9 lookup main',
    'ip rule del pref 9',
  );
  await settle();
  expect(events).toHaveLength(0);
  inside('ip route del unreachable 198.51.100.0/24 table 152', 'ip -6 route del unreachable fd77::/64 table 152');
  inside('ip rule del pref 32152', 'ip -6 rule del pref 32152');
  for (let look = 0; look < 500 && events.length < 4; look++) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(events).toHaveLength(4);
  stop();
  inside('ip route add unreachable 198.51.100.0/24 table 152');
  await settle();
  expect(events).toHaveLength(4);
  table.close();
});
