import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { until } from '../lab/until.ts';
import { bothEstablished, expectRoutes, longTimeout, statusOf, type Bench } from './bench.ts';

const routes = ['192.0.2.1/32', '2001:db8::1/128'];

/** Tests of how sessions come up, stay and end. */
export function sessionTests(bench: Bench): void {
  test('BGP-048 the daemon shows the text with which the speaker stopped', async () => {
    const { daemon, speaker } = await bench.start();
    await speaker.call('stop', 'node drained');
    await until('the daemon shows our text', async (note) => note(await daemon.lastError()).includes('node drained'));
    expect(await daemon.established()).toBe(false);
  });

  test('BGP-046 the speaker shows the text with which the daemon closed, and comes back afterwards', async (context) => {
    bench.skipUnlessSupported('shutdown text', context);
    const { daemon, speaker } = await bench.start();
    await daemon.shutDown('switch upgrade');
    await until('our status shows the text of the daemon', async (note) =>
      note((await statusOf(speaker)).lastError)?.includes('"switch upgrade"'),
    );
    await daemon.bringUp();
    await bothEstablished(daemon, speaker);
  });

  test('BGP-054 a session comes up only with the same TCP MD5 password', async (context) => {
    bench.skipUnlessSupported('TCP MD5', context);
    const daemon = await bench.startDaemon({ password: 'right' });
    const speaker = await bench.startSpeaker({ password: 'wrong' }, { routes });
    await until('the kernel of the daemon dropped our segments', (note) => note(bench.link.drops('TCPMD5Failure')) > 0);
    expect(await daemon.established()).toBe(false);
    await speaker.call('reconfigure', { ...bench.peerOptions, password: 'right' });
    await bothEstablished(daemon, speaker);
    await expectRoutes(daemon, routes);
  });

  test('BGP-063 a passive peer waits for the daemon to connect, also with a TCP MD5 password', async () => {
    const daemon = await bench.startDaemon({ dials: true, password: 'shared' });
    const speaker = await bench.startSpeaker({ passive: true, password: 'shared' }, { listen: [{}], routes });
    await bothEstablished(daemon, speaker, 40_000);
    await expectRoutes(daemon, routes);
    expect((await statusOf(speaker)).counters.connectAttempts).toBe(0);
  });

  test('BGP-057 BGP-059 one session stays when both sides connect', async () => {
    const speaker = await bench.startSpeaker({}, { listen: [{}], routes });
    const daemon = await bench.startDaemon({ dials: true });
    await bothEstablished(daemon, speaker, 40_000);
    await expectRoutes(daemon, routes);
    const { counters } = await statusOf(speaker);
    for (let i = 0; i < 10; i++) {
      await sleep(200);
      expect(await daemon.established()).toBe(true);
    }
    await expectRoutes(daemon, routes);
    expect((await statusOf(speaker)).counters.established).toBe(counters.established);
  });

  test('BGP-061 a neighbour that checks the TTL accepts us only when we send 255', async (context) => {
    bench.skipUnlessSupported('GTSM', context);
    const { daemon, speaker } = await bench.start({ ttlSecurity: true }, { ttlSecurityHops: 1 }, { routes });
    await expectRoutes(daemon, routes);
    expect(bench.link.drops('TCPMinTTLDrop')).toBe(0);
    await speaker.call('reconfigure', bench.peerOptions);
    await until('the kernel of the daemon dropped our segments', (note) => note(bench.link.drops('TCPMinTTLDrop')) > 0, longTimeout);
    expect(await daemon.established()).toBe(false);
  });

  test('BGP-061 a neighbour that checks the TTL can connect to us', async (context) => {
    bench.skipUnlessSupported('GTSM', context);
    const daemon = await bench.startDaemon({ ttlSecurity: true, dials: true });
    const speaker = await bench.startSpeaker({ ttlSecurityHops: 1, passive: true }, { listen: [{}], routes });
    await bothEstablished(daemon, speaker, 40_000);
    await expectRoutes(daemon, routes);
  });

  test('BGP-085 a daemon that announces too many prefixes shows our Cease', async () => {
    const announces = [1, 2, 3].map((i) => (bench.family === 4 ? `203.0.113.${i}/32` : `2001:db8:99::${i}/128`));
    const daemon = await bench.startDaemon({ announces });
    await bench.startSpeaker({ maximumPrefixes: { ipv4: 2, ipv6: 2 } });
    const words = /maximum number of prefixes|max-?prefix|max prefix/i;
    await until('the daemon shows our Cease', async (note) => words.test(note(await daemon.lastError())), longTimeout);
  });

  test('BGP-043 a session without routes outlives its hold time', async () => {
    const { daemon, speaker } = await bench.start({}, { holdTime: 6 });
    await until('five KEEPALIVEs came', async (note) => note((await statusOf(speaker)).counters.received.keepalive) >= 5, longTimeout);
    expect(await daemon.established()).toBe(true);
    expect((await statusOf(speaker)).counters.flaps).toBe(0);
  });

  test.runIf(bench.family === 6)(
    'BGP-030 BGP-089 an unnumbered session comes up over link-local addresses and carries both families',
    async (context) => {
      bench.skipUnlessSupported('unnumbered', context);
      const daemon = await bench.startDaemon({ unnumbered: true });
      const speaker = await bench.startSpeaker({ interface: 'v0', peerAsn: 'external', nextHop: {} }, { routes });
      await bothEstablished(daemon, speaker, 40_000);
      await expectRoutes(daemon, routes);
      for (const family of [4, 6] as const) {
        const paths = [...(await daemon.paths(family)).values()].flat();
        expect(paths).toHaveLength(1);
        expect(paths[0]?.nextHop).toMatch(/^fe80:/);
      }
    },
  );
}
