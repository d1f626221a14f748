import { afterAll, afterEach, beforeAll, describe, expect, test, type TestContext } from 'vitest';
import type { PeerStatus } from '../../src/bgp/index.ts';
import { until } from '../lab/until.ts';
import { speakerAsn, type Daemon, type DaemonKind, type DaemonOptions, type Family, type Feature } from './daemon.ts';
import { Link, routerAddress, speakerAddress } from './link.ts';
import { startSpeaker, type SpeakerProcess } from './speaker-process.ts';

const families: readonly Family[] = [4, 6];
const patience = 20_000;

/** What holds between our speaker and any daemon, over IPv4 and over IPv6. Everything is judged by what the daemon shows. */
export function commonSuite(kind: DaemonKind): void {
  describe.each(families)(`${kind.name} over IPv%i`, (family) => {
    let link: Link;
    let daemon: Daemon | undefined;
    let speaker: SpeakerProcess | undefined;

    beforeAll(() => {
      link = new Link('hp');
    });
    afterAll(() => link.close());
    afterEach(async ({ task }) => {
      if (task.result?.state === 'fail' && daemon !== undefined) console.error(`the daemon:\n${(await daemon.lastError()).slice(-4000)}`);
      await speaker?.kill();
      await daemon?.kill();
      speaker = undefined;
      daemon = undefined;
    });

    const startDaemon = async (options: Omit<DaemonOptions, 'family'> = {}): Promise<Daemon> => {
      daemon = await kind.start(link, { family, ...options });
      return daemon;
    };

    const startPeer = async (options: Record<string, unknown> = {}): Promise<SpeakerProcess> => {
      const started = startSpeaker(link.speaker);
      speaker = started;
      await started.call('addPeer', {
        name: 'peer',
        address: routerAddress[family],
        families: [4, 6],
        nextHop: { ipv4: speakerAddress[4], ipv6: speakerAddress[6] },
        ...options,
      });
      return started;
    };

    const status = async (of: SpeakerProcess): Promise<PeerStatus> => (await of.call('status', 'peer')) as PeerStatus;

    const bothEstablished = async (one: Daemon, other: SpeakerProcess): Promise<void> => {
      await until(
        'both sides say Established',
        async (note) => {
          const { state, lastError } = await status(other);
          const seen = note({ daemon: (await one.established()) ? 'Established' : 'not established', speaker: state, lastError });
          return seen.daemon === 'Established' && seen.speaker === 'Established';
        },
        patience,
      );
    };

    const both = async (options: Record<string, unknown> = {}): Promise<{ daemon: Daemon; speaker: SpeakerProcess }> => {
      const one = await startDaemon();
      const other = await startPeer(options);
      await bothEstablished(one, other);
      return { daemon: one, speaker: other };
    };

    /** Waits until the daemon has exactly these routes of ours. */
    const expectRoutes = async (of: Daemon, expected: readonly string[]): Promise<void> => {
      const wanted = [...expected].sort().join(' ');
      await until(
        `the daemon has ${wanted || 'no routes'}`,
        async (note) => note([...(await of.routes(4)).keys(), ...(await of.routes(6)).keys()].sort().join(' ')) === wanted,
        patience,
      );
    };

    /** A row of the table that the daemon does not have is skipped, and the reason is printed. */
    const needs = (feature: Feature, { skip }: TestContext): void => skip(kind.lacks[feature] !== undefined, kind.lacks[feature]);

    test('BGP-039 BGP-087 BGP-088 BGP-089 announces both families with their attributes', async () => {
      const { daemon, speaker } = await both();
      const communities = [
        { kind: 'standard', value: speakerAsn * 65536 + 100 },
        { kind: 'standard', value: 65535 * 65536 },
        { kind: 'large', globalAdministrator: speakerAsn, localData1: 1, localData2: 2 },
      ];
      await speaker.call('set', 'peer', [
        '192.0.2.1/32',
        '2001:db8::1/128',
        { prefix: '198.51.100.0/24', med: 7, asPathPrepend: 2, communities },
        { prefix: '2001:db8:1::/48', med: 7, asPathPrepend: 2, communities },
      ]);
      await expectRoutes(daemon, ['192.0.2.1/32', '198.51.100.0/24', '2001:db8::1/128', '2001:db8:1::/48']);
      const plain = { asPath: '64512', origin: 'IGP', med: undefined, communities: [], largeCommunities: [] };
      const rich = { asPath: '64512 64512 64512', origin: 'IGP', med: 7, largeCommunities: ['64512:1:2'] };
      const ipv4 = await daemon.routes(4);
      const ipv6 = await daemon.routes(6);
      expect(withoutMed(ipv4.get('192.0.2.1/32'))).toEqual({ ...plain, nextHop: speakerAddress[4] });
      expect(withoutMed(ipv6.get('2001:db8::1/128'))).toEqual({ ...plain, nextHop: speakerAddress[6] });
      expect(ipv4.get('198.51.100.0/24')).toMatchObject({ ...rich, nextHop: speakerAddress[4] });
      expect(ipv6.get('2001:db8:1::/48')).toMatchObject({ ...rich, nextHop: speakerAddress[6] });
      for (const path of [ipv4.get('198.51.100.0/24'), ipv6.get('2001:db8:1::/48')]) {
        expect(path?.communities).toContain('64512:100');
        expect(path?.communities).toHaveLength(2);
      }
    });

    test('BGP-090 BGP-096 withdraws in both families, and changes a route in place', async () => {
      const { daemon, speaker } = await both();
      await speaker.call('set', 'peer', ['192.0.2.1/32', '192.0.2.2/32', '2001:db8::1/128', '2001:db8::2/128']);
      await expectRoutes(daemon, ['192.0.2.1/32', '192.0.2.2/32', '2001:db8::1/128', '2001:db8::2/128']);
      const changed = { prefix: '192.0.2.2/32', med: 9 };
      await speaker.call('update', 'peer', [changed], ['192.0.2.1/32', '2001:db8::1/128']);
      await expectRoutes(daemon, ['192.0.2.2/32', '2001:db8::2/128']);
      await until('the changed route is there', async (note) => note((await daemon.routes(4)).get('192.0.2.2/32'))?.med === 9);
      await speaker.call('set', 'peer', []);
      await expectRoutes(daemon, []);
      expect(await daemon.established()).toBe(true);
    });

    test('BGP-083 sends everything again when asked to', async (context) => {
      needs('route refresh', context);
      const { daemon, speaker } = await both();
      await speaker.call('set', 'peer', ['192.0.2.1/32', '2001:db8::1/128']);
      await expectRoutes(daemon, ['192.0.2.1/32', '2001:db8::1/128']);
      const before = await daemon.updatesReceived();
      await daemon.requestRefresh();
      await until('both routes came again', async (note) => note(await daemon.updatesReceived()) >= before + 2, patience);
      await expectRoutes(daemon, ['192.0.2.1/32', '2001:db8::1/128']);
      expect(await daemon.established()).toBe(true);
    });

    test('BGP-097 BGP-098 the routes are back after the daemon was killed and came back, as they are by then', async () => {
      const { daemon: first, speaker } = await both();
      await speaker.call('set', 'peer', ['192.0.2.1/32', '2001:db8::1/128']);
      await expectRoutes(first, ['192.0.2.1/32', '2001:db8::1/128']);
      await first.kill();
      await until('the session is down', async () => (await status(speaker)).state !== 'Established');
      await speaker.call('update', 'peer', ['192.0.2.2/32'], ['192.0.2.1/32']);
      const second = await startDaemon();
      await expectRoutes(second, ['192.0.2.2/32', '2001:db8::1/128']);
    });

    test('BGP-047 BGP-048 the routes go when the speaker stops and when it is killed, and are back with the next one', async () => {
      const { daemon, speaker: first } = await both();
      await first.call('set', 'peer', ['192.0.2.1/32', '2001:db8::1/128']);
      await expectRoutes(daemon, ['192.0.2.1/32', '2001:db8::1/128']);
      await first.kill();
      await expectRoutes(daemon, []);
      const second = await startPeer();
      await second.call('set', 'peer', ['192.0.2.2/32']);
      await expectRoutes(daemon, ['192.0.2.2/32']);
      await second.call('stop', 'upgrade');
      await expectRoutes(daemon, []);
    });

    test('BGP-048 the daemon shows in words why the speaker stopped', async () => {
      const { daemon, speaker } = await both();
      await speaker.call('stop', 'node drained');
      await until('the daemon shows our words', async (note) => note(await daemon.lastError()).includes('node drained'));
      expect(await daemon.established()).toBe(false);
    });

    test('BGP-046 the speaker shows in words why the daemon closed, and comes back when it may', async (context) => {
      needs('shutdown text', context);
      const { daemon, speaker } = await both();
      await daemon.shutDown('switch upgrade');
      await until('our status shows its words', async (note) => note((await status(speaker)).lastError)?.includes('"switch upgrade"'));
      await daemon.bringUp();
      await bothEstablished(daemon, speaker);
    });

    test('BGP-054 comes up with the same TCP MD5 password only', async (context) => {
      needs('TCP MD5', context);
      const one = await startDaemon({ password: 'right' });
      const other = await startPeer({ password: 'wrong' });
      await until('the kernel of the daemon dropped our segments', (note) => note(link.md5Failures()) > 0);
      expect(await one.established()).toBe(false);
      await other.call('reconfigure', {
        name: 'peer',
        address: routerAddress[family],
        families: [4, 6],
        nextHop: { ipv4: speakerAddress[4], ipv6: speakerAddress[6] },
        password: 'right',
      });
      await bothEstablished(one, other);
      await other.call('set', 'peer', ['192.0.2.1/32', '2001:db8::1/128']);
      await expectRoutes(one, ['192.0.2.1/32', '2001:db8::1/128']);
    });

    test.runIf(family === 6)('BGP-030 IPv4 routes have the IPv6 address of the session as next hop', async (context) => {
      needs('extended next hop', context);
      const { daemon, speaker } = await both({ nextHop: {} });
      await speaker.call('set', 'peer', ['192.0.2.1/32', '2001:db8::1/128']);
      await expectRoutes(daemon, ['192.0.2.1/32', '2001:db8::1/128']);
      expect((await daemon.routes(4)).get('192.0.2.1/32')?.nextHop).toBe(speakerAddress[6]);
    });

    test('BGP-043 the session outlives several hold times without routes', async () => {
      const { daemon, speaker } = await both({ holdTime: 3 });
      await until('seven KEEPALIVEs came', async (note) => note((await status(speaker)).counters.received.keepalive) >= 7, patience);
      expect(await daemon.established()).toBe(true);
      expect((await status(speaker)).counters.flaps).toBe(0);
    });

    test('BGP-091 BGP-093 10,000 prefixes of each family arrive, and go', async () => {
      const { daemon, speaker } = await both();
      await speaker.call('setMany', 'peer', 10_000, [4, 6]);
      for (const one of families) await expectCount(daemon, one, 10_000);
      await speaker.call('set', 'peer', ['192.0.2.1/32', '2001:db8::1/128']);
      for (const one of families) await expectCount(daemon, one, 1);
      await expectRoutes(daemon, ['192.0.2.1/32', '2001:db8::1/128']);
      expect((await status(speaker)).counters).toMatchObject({ established: 1, flaps: 0 });
    });

    test.runIf(family === 4 && kind.takesManyPrefixes === true)('BGP-091 BGP-093 100,000 prefixes arrive, and go', async () => {
      const { daemon, speaker } = await both();
      await speaker.call('setMany', 'peer', 100_000, [4]);
      await expectCount(daemon, 4, 100_000);
      await speaker.call('set', 'peer', []);
      await expectCount(daemon, 4, 0);
      expect((await status(speaker)).counters).toMatchObject({ established: 1, flaps: 0 });
    });
  });
}

async function expectCount(daemon: Daemon, family: Family, expected: number): Promise<void> {
  await until(`${expected} IPv${family} prefixes`, async (note) => note(await daemon.count(family)) === expected, 40_000);
}

/** FRR and others show 0 or nothing where there is no MED. */
function withoutMed<T extends { med: number | undefined }>(path: T | undefined): T | undefined {
  return path === undefined ? undefined : { ...path, med: path.med === 0 ? undefined : path.med };
}
