import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HeraldInLab } from './herald.ts';
import type { Lab } from './lab.ts';
import { startOneNodeFabric } from './one-node-fabric.ts';

/** What routers send when their policy for received routes changes, and what Herald says of answers that were seen before. */
const torAsn = { tor1: 65_101, tor2: 65_102 } as const;
const tors = ['tor1', 'tor2'] as const;
type Tor = (typeof tors)[number];
const families = ['IPv4', 'IPv6'] as const;

let lab: Lab;
let herald: HeraldInLab;
let addresses: readonly string[];

beforeAll(async () => {
  ({ lab, herald, addresses } = await startOneNodeFabric());
});

afterAll(async () => {
  await lab?.stop();
});

/** Returns when a router last asked for all routes of each family, as node1 reports it. */
async function requests(tor: Tor): Promise<(string | undefined)[]> {
  const sessions = (await herald.sessions('node1')).filter(({ peer }) => peer.startsWith(tor));
  return families.map((family) => sessions.flatMap((one) => one.families ?? []).find((one) => one.family === family)?.refreshRequested);
}

const configure = (tor: Tor, ...lines: readonly string[]): Promise<void> => lab.router(tor).configure(lines);

const ofNodes = (tor: Tor, family: string, line: string): string[] => [
  `router bgp ${torAsn[tor]}`,
  `address-family ${family} unicast`,
  line,
  'exit-address-family',
];

async function clearSoftly(tor: Tor): Promise<void> {
  const router = lab.router(tor);
  await router.exec(['vtysh', '-N', router.namespace, '-c', 'clear bgp ipv4 unicast * soft in']);
}

const connect = async (): Promise<void> => {
  const all = [...addresses, '192.0.2.10', '2001:db8:2::10'].map((address) => ({ address, port: 80, count: 6, timeoutMs: 1500 }));
  await Promise.all(all.flatMap((request) => [lab.client.tcp(request), lab.client.udp(request)]));
};

const firstLine = async (): Promise<string> => (await herald.explain('shop/web')).split('\n')[0] ?? '';

/** Looks at connections are further apart on a busy machine, because each is paid for by a pause. */
async function untilFirstLine(pattern: RegExp, send?: () => Promise<void>): Promise<string> {
  return lab.until(
    `the first line is ${pattern}`,
    async (note) => {
      await send?.();
      const line = await firstLine();
      return pattern.test(note(line)) ? line : undefined;
    },
    240_000,
  );
}

describe('FRR asks for all routes again', () => {
  test.each<[string, (tor: Tor) => Promise<void>, readonly (typeof families)[number][]]>([
    [
      'when a prefix-list is attached',
      (tor) => configure(tor, 'ip prefix-list L seq 5 permit any', ...ofNodes(tor, 'ipv4', 'neighbor NODES prefix-list L in')),
      ['IPv4'],
    ],
    // It does not apply the change to the routes that it has, either.
    ['not when the prefix-list is edited', (tor) => configure(tor, 'ip prefix-list L seq 3 deny 203.0.113.0/24'), []],
    [
      'when a route-map is attached',
      (tor) => configure(tor, 'route-map M permit 10', 'exit', ...ofNodes(tor, 'ipv6', 'neighbor NODES route-map M in')),
      ['IPv6'],
    ],
    ['when the route-map is edited', (tor) => configure(tor, 'route-map M permit 10', 'set local-preference 120'), ['IPv6']],
    ['when a person clears it softly', (tor) => clearSoftly(tor), ['IPv4']],
  ])('%s', async (_, act, asked) => {
    const before = await requests('tor1');
    await act('tor1');
    // FRR waits 5 s before it applies changes of a route-map.
    if (asked.length === 0) await setTimeout(8000);
    await lab.until(`it asked for ${asked.join()}`, async (note) => {
      const now = note(await requests('tor1'));
      return families.every((family, at) => (now[at] !== before[at]) === asked.includes(family));
    });
  });
});

describe('answers that were seen before', () => {
  /** Refuses all routes of the nodes on a router, or accepts them again. */
  const filter = async (tor: Tor, isOn: boolean): Promise<void> => {
    const lines = ['ipv4', 'ipv6'].flatMap((family) => ofNodes(tor, family, `${isOn ? '' : 'no '}neighbor NODES prefix-list NONE in`));
    await configure(tor, 'ip prefix-list NONE seq 5 deny any', 'ipv6 prefix-list NONE seq 5 deny any', ...lines);
  };

  // It depends on when the agent looks, so it is not tried beside other suites.
  test.runIf(process.env['TIER'] === 'full')(
    'count while one of two routers has not asked, not when both have, and those that were seen later do',
    async () => {
      await untilFirstLine(/^Served/, connect);
      await filter('tor1', true);
      await lab.until('tor1 has asked', async (note) => note(await requests('tor1')).every((one) => one !== undefined));
      await setTimeout(3000);
      expect(await firstLine()).toMatch(/^Served/);
      await filter('tor2', true);
      expect(await untilFirstLine(/^Announced, not checked/)).toMatch(
        /; no answer to a connection was seen since tor1-v4, tor1-v6, tor2-v4 and tor2-v6 asked for all routes again \d+ s ago: their policy may have changed\. Check it: herald check service shop\/web\.$/,
      );
      await connect();
      expect(await firstLine()).toMatch(/^Announced, not checked/);
      for (const tor of tors) await filter(tor, false);
      await untilFirstLine(/^Served/, connect);
    },
  );
});
