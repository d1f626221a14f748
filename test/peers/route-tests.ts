import { expect, test } from 'vitest';
import { until } from '../lab/until.ts';
import { expectCount, expectRoutes, longTimeout, statusOf, type Bench } from './bench.ts';
import { speakerAddress } from './link.ts';
import type { Daemon, Family, Path } from './daemon.ts';
import type { SpeakerProcess } from './speaker-process.ts';

/** Tests of the routes that a daemon receives from us. */
export function routeTests(bench: Bench): void {
  test('BGP-039 BGP-087 BGP-088 BGP-089 routes of both families arrive with their attributes', async () => {
    const { daemon, speaker } = await bench.start();
    const communities = ['64512:100', '65535:0', '64512:1:2'];
    await speaker.call('set', 'peer', [
      '192.0.2.1/32',
      '2001:db8::1/128',
      { prefix: '198.51.100.0/24', med: 7, asPathPrepend: 2, communities },
      { prefix: '2001:db8:1::/48', med: 7, asPathPrepend: 2, communities },
    ]);
    await expectRoutes(daemon, ['192.0.2.1/32', '198.51.100.0/24', '2001:db8::1/128', '2001:db8:1::/48']);
    const plain = { asPath: '64512', origin: 'IGP', communities: [], largeCommunities: [] };
    const rich = { asPath: '64512 64512 64512', origin: 'IGP', med: 7, largeCommunities: ['64512:1:2'] };
    const ipv4 = await routesOf(daemon, 4);
    const ipv6 = await routesOf(daemon, 6);
    expect(ipv4.get('192.0.2.1/32')).toMatchObject({ ...plain, nextHop: speakerAddress[4] });
    expect(ipv6.get('2001:db8::1/128')).toMatchObject({ ...plain, nextHop: speakerAddress[6] });
    // Some daemons show 0 for a missing MED.
    expect(ipv4.get('192.0.2.1/32')?.med ?? 0).toBe(0);
    expect(ipv4.get('198.51.100.0/24')).toMatchObject({ ...rich, nextHop: speakerAddress[4] });
    expect(ipv6.get('2001:db8:1::/48')).toMatchObject({ ...rich, nextHop: speakerAddress[6] });
    for (const path of [ipv4.get('198.51.100.0/24'), ipv6.get('2001:db8:1::/48')]) {
      expect(path?.communities).toContain('64512:100');
      // Some daemons show GRACEFUL_SHUTDOWN by name.
      expect(path?.communities).toHaveLength(2);
    }
  });

  test('BGP-087 inside one AS, LOCAL_PREF is sent and AS_PATH is empty', async () => {
    const { daemon, speaker } = await bench.start({ internal: true }, { peerAsn: 'internal' });
    await speaker.call('set', 'peer', [
      { prefix: '192.0.2.1/32', localPref: 150 },
      { prefix: '2001:db8::1/128', localPref: 150 },
    ]);
    await expectRoutes(daemon, ['192.0.2.1/32', '2001:db8::1/128']);
    expect((await routesOf(daemon, 4)).get('192.0.2.1/32')).toMatchObject({ asPath: '', localPref: 150, nextHop: speakerAddress[4] });
    expect((await routesOf(daemon, 6)).get('2001:db8::1/128')).toMatchObject({ asPath: '', localPref: 150, nextHop: speakerAddress[6] });
  });

  test.runIf(bench.family === 4)('BGP-023 a 4-octet AS number reaches a daemon that negotiated two octets', async (context) => {
    bench.skipUnlessSupported('no 4-octet AS numbers', context);
    const speakerAsn = 4_200_000_000;
    const { daemon, speaker } = await bench.start({ speakerAsn, fourOctetAsn: false }, { localAsn: speakerAsn, families: [4] });
    await speaker.call('set', 'peer', [{ prefix: '192.0.2.1/32', asPathPrepend: 1 }]);
    await expectRoutes(daemon, ['192.0.2.1/32']);
    // AS_PATH has AS_TRANS; the daemon restores the real number from AS4_PATH (RFC 6793 4.2.3).
    expect((await routesOf(daemon, 4)).get('192.0.2.1/32')?.asPath).toBe(`${speakerAsn} ${speakerAsn}`);
  });

  test('BGP-090 BGP-096 routes of both families are withdrawn, and a changed route is replaced in place', async () => {
    const { daemon, speaker } = await bench.start();
    await speaker.call('set', 'peer', ['192.0.2.1/32', '192.0.2.2/32', '2001:db8::1/128', '2001:db8::2/128']);
    await expectRoutes(daemon, ['192.0.2.1/32', '192.0.2.2/32', '2001:db8::1/128', '2001:db8::2/128']);
    const changed = { prefix: '192.0.2.2/32', med: 9 };
    await speaker.call('update', 'peer', [changed], ['192.0.2.1/32', '2001:db8::1/128']);
    await expectRoutes(daemon, ['192.0.2.2/32', '2001:db8::2/128']);
    await until('the changed route is there', async (note) => note((await routesOf(daemon, 4)).get('192.0.2.2/32'))?.med === 9);
    await speaker.call('set', 'peer', []);
    await expectRoutes(daemon, []);
    expect(await daemon.established()).toBe(true);
  });

  test('BGP-083 all routes are sent again on a route refresh', async (context) => {
    bench.skipUnlessSupported('route refresh', context);
    const { daemon, speaker } = await bench.start();
    await speaker.call('set', 'peer', ['192.0.2.1/32', '2001:db8::1/128']);
    await expectRoutes(daemon, ['192.0.2.1/32', '2001:db8::1/128']);
    const before = await daemon.updatesReceived();
    await daemon.requestRefresh();
    await until('both routes were sent again', async (note) => note(await daemon.updatesReceived()) >= before + 2, longTimeout);
    await expectRoutes(daemon, ['192.0.2.1/32', '2001:db8::1/128']);
    expect(await daemon.established()).toBe(true);
  });

  test.runIf(bench.family === 6)('BGP-030 BGP-088 IPv4 routes have the IPv6 address of the session as next hop', async (context) => {
    bench.skipUnlessSupported('extended next hop', context);
    const { daemon, speaker } = await bench.start({}, { nextHop: {} });
    await speaker.call('set', 'peer', ['192.0.2.1/32', '2001:db8::1/128']);
    await expectRoutes(daemon, ['192.0.2.1/32', '2001:db8::1/128']);
    expect((await routesOf(daemon, 4)).get('192.0.2.1/32')?.nextHop).toBe(speakerAddress[6]);
  });

  test('BGP-091 BGP-093 10,000 prefixes of each family arrive and are withdrawn', async () => {
    const { daemon, speaker } = await bench.start();
    await speaker.call('setMany', 'peer', 10_000, [4, 6]);
    for (const family of [4, 6] as const) await expectCount(daemon, family, 10_000);
    await speaker.call('set', 'peer', ['192.0.2.1/32', '2001:db8::1/128']);
    for (const family of [4, 6] as const) await expectCount(daemon, family, 1);
    await expectRoutes(daemon, ['192.0.2.1/32', '2001:db8::1/128']);
    await expectNoFlap(speaker);
  });

  test.runIf(bench.family === 4 && bench.kind.takesManyPrefixes === true)(
    'BGP-091 BGP-093 100,000 prefixes arrive and are withdrawn',
    async () => {
      const { daemon, speaker } = await bench.start();
      await speaker.call('setMany', 'peer', 100_000, [4]);
      await expectCount(daemon, 4, 100_000);
      await speaker.call('set', 'peer', []);
      await expectCount(daemon, 4, 0);
      await expectNoFlap(speaker);
    },
  );
}

/** Returns the only path of each prefix. */
async function routesOf(daemon: Daemon, family: Family): Promise<ReadonlyMap<string, Path | undefined>> {
  return new Map([...(await daemon.paths(family))].map(([prefix, paths]) => [prefix, paths.length === 1 ? paths[0] : undefined]));
}

/** Checks that the session came up once and stayed up. A failure shows the last error. */
async function expectNoFlap(speaker: SpeakerProcess): Promise<void> {
  const { counters, lastError } = await statusOf(speaker);
  const { established, flaps } = counters;
  expect({ established, flaps, lastError }).toEqual({ established: 1, flaps: 0, lastError });
}
