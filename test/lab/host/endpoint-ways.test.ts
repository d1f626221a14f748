import { execFileSync } from 'node:child_process';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EndpointWays } from '../../../src/agent/checks/endpoint-ways.ts';
import { wayReader, type WayReader } from '../../../src/dataplane/host/ways/endpoint-ways.ts';
import { address, formatAddress } from '../../../src/net/address.ts';
import type { RouteChange } from '../../../src/net/endpoint-way.ts';
import { formatPrefix } from '../../../src/net/prefix.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { silentLog } from '../../../src/system/log.ts';
import { removeLeftovers } from '../leftovers.ts';
import { until } from '../until.ts';

/** A host with one link to a machine that has only the addresses 192.0.2.2 and 2001:db8::2, and with one route of each kind. */
const namespace = `hw-${process.pid}-host`;
const other = `hw-${process.pid}-other`;
const command = (words: string): string => execFileSync('ip', words.split(' '), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const inside = (words: string): string => command(`-n ${namespace} ${words}`);
const commandIn = (place: string, words: readonly string[]): void => void execFileSync('ip', ['netns', 'exec', place, ...words]);
let reader: WayReader;

const kinds = ['unreachable', 'blackhole', 'prohibit'] as const;

beforeAll(async () => {
  removeLeftovers('hw');
  for (const place of [namespace, other]) {
    command(`netns add ${place}`);
    command(`-n ${place} link set lo up`);
  }
  command(`link add eth0 netns ${namespace} type veth peer name eth0 netns ${other}`);
  command(`link add eth1 netns ${namespace} type veth peer name eth1 netns ${other}`);
  for (const [place, host] of [
    [namespace, 1],
    [other, 2],
  ] as const) {
    for (const link of ['eth0', 'eth1']) command(`-n ${place} link set ${link} up`);
    command(`-n ${place} addr add 192.0.2.${host}/24 dev eth0`);
    command(`-n ${place} -6 addr add 2001:db8::${host}/64 dev eth0 nodad`);
  }
  // Failures of neighbours come quickly.
  for (const family of ['ipv4', 'ipv6'])
    commandIn(namespace, [
      'sysctl',
      '-qw',
      `net.${family}.neigh.eth0.retrans_time_ms=50`,
      `net.${family}.neigh.eth0.ucast_solicit=1`,
      `net.${family}.neigh.eth0.mcast_solicit=1`,
    ]);
  for (const [at, kind] of [...kinds, 'throw'].entries()) {
    inside(`route add ${kind} 10.${at}.0.0/24`);
    inside(`-6 route add ${kind} fd0${at}::/64`);
  }
  inside('route add 10.8.0.0/24 via 192.0.2.9');
  inside('-6 route add fd08::/64 via 2001:db8::9');
  inside('route add 10.9.0.0/24 dev eth1');
  inside('-6 route add fd09::/64 dev eth1');
  command(`-n ${other} link set eth1 down`);
  const found = wayReader(systemClock, `/run/netns/${namespace}`);
  if (found === undefined) throw new Error('there is no FFI');
  reader = found;
  // The kernel reports a lost carrier within a second.
  await until(
    'eth1 has no carrier',
    async (note) => note(await waysTo('10.9.0.7', 'fd09::7')).every((way) => way.includes('carrier')),
    10_000,
  );
});

afterAll(() => {
  for (const place of [namespace, other]) command(`netns del ${place}`);
});

/** Returns the problem with the way to each address, or its hop. */
async function waysTo(...addresses: string[]): Promise<string[]> {
  const answers = await reader.routes(addresses.map((text) => address(text)));
  return answers.map(({ problem, hop }) => {
    if (problem !== undefined) return problem;
    return hop === undefined ? 'local' : `${hop.isGateway ? 'via' : 'to'} ${formatAddress(hop.address)}`;
  });
}

describe('the routes of a host', () => {
  test.each([
    ['IPv4', (at: number) => `10.${at}.0.7`, (at: number) => `10.${at}.0.0/24`],
    ['IPv6', (at: number) => `fd0${at}::7`, (at: number) => `fd0${at}::/64`],
  ])('%s: each kind of route without a way is named with its prefix', async (_, host, prefix) => {
    expect(await waysTo(host(0), host(1), host(2), host(3), host(4), host(9))).toEqual([
      ...kinds.map((kind, at) => `route ${kind} ${prefix(at)}`),
      'no route',
      'no route',
      `route ${prefix(9)} leaves by eth1, which has no carrier`,
    ]);
  });

  test('addresses of the host, on its link and behind a gateway have a way', async () => {
    expect(await waysTo('192.0.2.1', '192.0.2.7', '10.8.0.7', '127.0.0.1')).toEqual(['local', 'to 192.0.2.7', 'via 192.0.2.9', 'local']);
    expect(await waysTo('2001:db8::1', '2001:db8::7', 'fd08::7', '::1')).toEqual(['local', 'to 2001:db8::7', 'via 2001:db8::9', 'local']);
    expect(await waysTo()).toEqual([]);
  });

  test('a rule for some packets that leads to a way leaves it open, and one for a single source does not', async () => {
    const flags = ['', '-6 '] as const;
    for (const family of flags) inside(`${family}route add default via ${family === '' ? '192.0.2.9' : '2001:db8::9'} table 77`);
    expect(await waysTo('10.0.0.7', 'fd00::7')).toEqual(['route unreachable 10.0.0.0/24', 'route unreachable fd00::/64']);
    for (const condition of ['fwmark 1', 'iif eth0', 'from 198.51.100.0/24', 'ipproto tcp']) {
      inside(`rule add ${condition} lookup 77`);
      expect(await waysTo('10.0.0.7', '10.4.0.7', 'fd00::7')).toEqual(['local', 'local', 'route unreachable fd00::/64']);
      inside(`rule del ${condition} lookup 77`);
    }
    for (const family of flags) inside(`${family}rule add from ${family === '' ? '198.51.100.1' : '2001:db8:1::1'} lookup 77`);
    expect(await waysTo('10.0.0.7', 'fd00::7')).toEqual(['route unreachable 10.0.0.0/24', 'route unreachable fd00::/64']);
    for (const family of flags) {
      inside(`${family}rule del from ${family === '' ? '198.51.100.1' : '2001:db8:1::1'} lookup 77`);
      inside(`${family}route flush table 77`);
    }
  });

  test('a rule that refuses an address is not taken for a route', async () => {
    inside('rule add to 10.8.0.0/24 prohibit');
    expect(await waysTo('10.8.0.7')).toEqual(['a route or rule of type prohibit']);
    inside('rule del to 10.8.0.0/24 prohibit');
  });

  test("Herald's own unreachable routes count for forwarded packets and are named as its own", async () => {
    for (const [family, prefix] of [
      ['', '10.8.0.0/16'],
      ['-6 ', 'fd08::/48'],
    ] as const) {
      inside(`${family}route add unreachable ${prefix} table 152 proto 152`);
      expect((await waysTo('10.8.0.7', 'fd08::7')).at(family === '' ? 0 : 1)).toMatch(/^via /);
      inside(`${family}rule add not iif lo pref 32152 lookup 152 proto 152`);
    }
    expect(await waysTo('10.8.0.7', '10.0.0.7', '192.0.2.1')).toEqual([
      'route unreachable 10.8.0.0/16, which Herald has set for an aggregate',
      'route unreachable 10.0.0.0/24',
      'local',
    ]);
    expect(await waysTo('fd08::7', 'fd00::7')).toEqual([
      'route unreachable fd08::/48, which Herald has set for an aggregate',
      'route unreachable fd00::/64',
    ]);
    for (const family of ['', '-6 ']) {
      inside(`${family}rule del pref 32152`);
      inside(`${family}route flush table 152`);
    }
  });
});

/** Sends a datagram, for which the kernel must find the machine on the link. */
function poke(to: string): void {
  const program = `const s = require('node:dgram').createSocket('udp${to.includes(':') ? 6 : 4}'); s.send('x', 9, '${to}', () => s.close())`;
  commandIn(namespace, [process.execPath, '-e', program]);
}

describe('the neighbours of a host', () => {
  test.each([
    ['IPv4', '192.0.2.2', '192.0.2.77'],
    ['IPv6', '2001:db8::2', '2001:db8::77'],
  ])('%s: a machine that answers is known, and one that does not has failed', async (_, known, missing) => {
    const stateOf = async (of: string) => (await reader.neighbors()).find((each) => formatAddress(each.address) === of);
    for (const each of [known, missing]) poke(each);
    await until('the entry has failed', async (note) => note(await stateOf(missing))?.state === 'failed', 10_000);
    expect(await stateOf(missing)).toMatchObject({ interface: 'eth0', state: 'failed' });
    expect(await stateOf(known)).toMatchObject({ state: 'known' });
    const first = (await stateOf(missing))?.age ?? 0;
    expect(first).toBeLessThan(10_000);
    await until('the failure grows older', async () => ((await stateOf(missing))?.age ?? 0) > first + 300, 10_000);
    poke(missing);
    await until(
      'it fails anew',
      async () => {
        const entry = await stateOf(missing);
        return entry?.state === 'failed' && entry.age < first + 300;
      },
      10_000,
    );
  });
});

test('changes of routes, rules and links are reported with the addresses that they concern', async () => {
  const seen = new Set<string>();
  const stop = reader.follow((change: RouteChange) => {
    seen.add(change === undefined ? 'any' : 'prefix' in change ? formatPrefix(change.prefix) : `interface ${change.index}`);
  });
  const reported = (what: string): Promise<unknown> => until(`${what} is reported`, (note) => note(seen).has(what), 10_000);
  try {
    inside('route add 10.20.0.0/24 via 192.0.2.9');
    await reported('10.20.0.0/24');
    inside('-6 route add unreachable fd20::/64');
    await reported('fd20::/64');
    expect(seen).not.toContain('any');
    inside('rule add fwmark 7 lookup 77');
    await reported('any');
    command(`-n ${other} link set eth1 up`);
    await reported(`interface ${/^(\d+): eth1/m.exec(inside('-o link show eth1'))?.[1]}`);
    await until(
      'the route has a carrier',
      async (note) =>
        !note(await waysTo('10.9.0.7'))
          .join('')
          .includes('carrier'),
      10_000,
    );
  } finally {
    stop();
  }
});

test('the agent finds a route that goes and comes back within seconds, and a machine that does not answer', async () => {
  const endpoints = ['10.30.0.7', 'fd30::7', '192.0.2.2', '192.0.2.88', '2001:db8::88'];
  let seen: unknown[] = [];
  const ways: EndpointWays = new EndpointWays(
    { ways: reader, clock: systemClock, log: silentLog },
    { endpoints: () => endpoints.map((each) => address(each)), onChanged: () => (seen = [...ways.ways]) },
  );
  const untilFound = (...expected: readonly unknown[]): Promise<unknown> =>
    until('the agent finds these', (note) => JSON.stringify(note(seen)) === JSON.stringify(expected), 20_000);
  const unroutable = (key: string, route: string) => [key, { kind: 'unroutable', route }];
  inside('route add 10.30.0.0/24 via 192.0.2.2');
  inside('-6 route add unreachable fd30::/64');
  ways.start();
  try {
    const v6 = unroutable('fd30::7', 'route unreachable fd30::/64');
    await untilFound(v6);
    inside('route del 10.30.0.0/24');
    await untilFound(unroutable('10.30.0.7', 'no route'), v6);
    inside('route add 10.30.0.0/24 via 192.0.2.2');
    inside('-6 route replace fd30::/64 via 2001:db8::2 metric 1');
    await untilFound();
    const gone = ['192.0.2.88', '2001:db8::88'];
    const timer = setInterval(() => gone.forEach(poke), 1_000);
    await until('both are missing', (note) => note(seen).length === 2, 60_000).finally(() => clearInterval(timer));
    expect(seen).toEqual(gone.map((key) => [key, { kind: 'notOnLink', interface: 'eth0' }]));
  } finally {
    ways.stop();
  }
});
