import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { until } from '../lab/until.ts';
import { bothEstablished, expectRoutes, longTimeout, statusOf, type Bench } from './bench.ts';
import type { Daemon } from './daemon.ts';
import { watchKernel, type Watch } from './route-watch.ts';
import type { SpeakerProcess } from './speaker-process.ts';

const routes = ['192.0.2.1/32', '2001:db8::1/128'];
/**
 * A short hold time, so that a lost connection is noticed with the next KEEPALIVE, but long enough for a machine that stalls for a moment.
 */
const graceful = { gracefulRestart: { restartTime: 60 }, holdTime: 9 };

/** Tests of our routes when either side restarts. */
export function restartTests(bench: Bench): void {
  test('BGP-097 BGP-098 the current routes are announced again after the daemon was killed and restarted', async () => {
    const { daemon: first, speaker } = await bench.start({}, {}, { routes });
    await expectRoutes(first, routes);
    await first.kill();
    await until('the session is down', async () => (await statusOf(speaker)).state !== 'Established');
    await speaker.call('update', 'peer', ['192.0.2.2/32'], ['192.0.2.1/32']);
    const second = await bench.startDaemon();
    await expectRoutes(second, ['192.0.2.2/32', '2001:db8::1/128']);
  });

  test('BGP-047 BGP-048 the routes go when the speaker is killed or stops, and return with the next one', async () => {
    const { daemon, speaker: first } = await bench.start({}, {}, { routes });
    await expectRoutes(daemon, routes);
    await first.kill();
    await expectRoutes(daemon, []);
    const second = await bench.startSpeaker({}, { routes: ['192.0.2.2/32'] });
    await expectRoutes(daemon, ['192.0.2.2/32']);
    await second.call('stop', 'upgrade');
    await expectRoutes(daemon, []);
  });

  test('BGP-102 BGP-103 graceful restart keeps the routes when the speaker restarts, dies or reconnects', async (context) => {
    bench.skipUnlessSupported('graceful restart', context);
    const { daemon, speaker: first } = await bench.start({ gracefulRestart: true, kernel: true }, graceful, { routes });
    await expectRoutes(daemon, routes);
    await using watch = await watchRoutes(bench, daemon);

    await first.call('stop', undefined, 'restart');
    await first.kill();
    await until('the daemon has noticed', async () => !(await daemon.established()), longTimeout);
    const second = await bench.startSpeaker(graceful, { routes, restarted: true });
    await untilRestarted(daemon, second);

    await second.kill();
    await until('the daemon has noticed', async () => !(await daemon.established()), longTimeout);
    const third = await bench.startSpeaker(graceful, { routes, restarted: true });
    await untilRestarted(daemon, third);

    const allow = bench.link.resetConnections();
    await until(
      'the connection was reset',
      async () => (await statusOf(third)).counters.flaps > 0 && !(await daemon.established()),
      longTimeout,
    );
    allow();
    await bothEstablished(daemon, third);
    // Leaves time for End-of-RIB, at which the daemon would drop routes that were not announced again.
    await sleep(1_000);
    await expectRoutes(daemon, routes);
    expect(watch.seen()).toEqual([]);

    await third.call('stop', 'for good');
    await expectRoutes(daemon, []);
    await until('the watch sees routes go', (note) => note(watch.seen()).length > 0);
  });

  test('BGP-104 graceful restart keeps the routes when the hold timer expires', async (context) => {
    bench.skipUnlessSupported('graceful restart after NOTIFICATION', context);
    const { daemon, speaker } = await bench.start({ gracefulRestart: true, kernel: true }, graceful, { routes });
    await expectRoutes(daemon, routes);
    await using watch = await watchRoutes(bench, daemon);
    const reconnect = bench.link.dropEverything();
    await until('the hold timer of the daemon expires', async () => !(await daemon.established()), longTimeout);
    reconnect();
    await until('our session was lost too', async () => (await statusOf(speaker)).counters.flaps > 0, longTimeout);
    await bothEstablished(daemon, speaker);
    await sleep(1_000);
    await expectRoutes(daemon, routes);
    expect(watch.seen()).toEqual([]);
  });
}

/**
 * Waits until the daemon has what a restarted speaker announces, with the End-of-RIB of both families. If the speaker is lost before, a daemon deletes the
 * routes that it has kept (RFC 4724 4.2, consecutive restarts).
 */
async function untilRestarted(daemon: Daemon, speaker: SpeakerProcess): Promise<void> {
  await bothEstablished(daemon, speaker);
  // One for each route, and one for each End-of-RIB.
  await until('the speaker has sent its routes', async (note) => note((await statusOf(speaker)).counters.sent.update) >= 4, longTimeout);
  await sleep(1_000);
}

const watchRoutes = async (bench: Bench, daemon: Daemon): Promise<Watch> =>
  bench.kind.usesKernel ? watchKernel(bench.link, routes) : watchDaemon(daemon);

/** Watches a daemon without kernel routes by polling its table. */
function watchDaemon(daemon: Daemon): Watch {
  const seen: string[] = [];
  const stop = new AbortController();
  const ended = (async () => {
    while (!stop.signal.aborted) {
      for (const family of [4, 6] as const) {
        const present = await daemon.paths(family);
        if (present.size !== 1) seen.push(`${present.size} IPv${family} routes`);
      }
      await sleep(20);
    }
  })();
  return {
    seen: () => seen,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await ended;
    },
  };
}
