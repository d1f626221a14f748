import { expect, test } from 'vitest';
import type { PeerOptions } from '../../src/bgp/index.ts';
import { until } from '../lab/until.ts';
import { bothEstablished, longTimeout, statusOf, type Bench } from './bench.ts';
import { asnOf, type DaemonOptions } from './daemon.ts';
import { routerAddress } from './link.ts';
import type { SpeakerProcess } from './speaker-process.ts';

interface Received {
  readonly prefix: string;
  readonly nextHops: readonly string[];
  readonly asPath: string;
  readonly stale?: string;
}

const announces = ['203.0.113.0/24', '198.51.100.0/24', '2001:db8:99::/48', '2001:db8:98::/48'];
/** Of each family one prefix is accepted with its longer ones, and one is refused until the rules change. */
const rules = [{ prefixes: [{ prefix: '203.0.0.0/16', le: 24 }, '2001:db8:99::/48'] }];
const accepted = ['2001:db8:99::/48', '203.0.113.0/24'];
const all = announces.toSorted();
const everything = { otherwise: 'accept' } as const;

/** Tests of the routes that a daemon announces and that our import rules accept. */
export function receivedTests(bench: Bench): void {
  test('BGP-109 BGP-111 accepted routes of both families arrive, follow other rules, and are withdrawn', async (context) => {
    bench.skipUnlessSupported('routes of the other family', context);
    // FRR answers a request for its routes only after End-of-RIB, which it sends only to peers with graceful restart.
    const graceful = { gracefulRestart: { restartTime: 60 } };
    const { daemon, speaker } = await bench.start({ announces }, { import: { rules }, ...graceful });
    const present = await expectReceived(speaker, accepted);
    expect(present.map(({ asPath }) => asPath)).toEqual([String(asnOf({ family: bench.family })), String(asnOf({ family: bench.family }))]);
    for (const { nextHops, prefix } of present) {
      const own = prefix.includes(':') ? 6 : 4;
      if (own === bench.family) expect(nextHops[0]).toBe(routerAddress[own]);
      else expect(nextHops).not.toEqual([]);
    }
    await speaker.call('reconfigure', { ...bench.peerOptions, import: everything, ...graceful });
    await expectReceived(speaker, all);
    expect((await statusOf(speaker)).counters).toMatchObject({ established: 1, sent: { routeRefresh: 2 } });
    await daemon.withdraw('203.0.113.0/24');
    await expectReceived(speaker, ['198.51.100.0/24', '2001:db8:98::/48', '2001:db8:99::/48']);
    await daemon.withdraw('2001:db8:99::/48');
    await expectReceived(speaker, ['198.51.100.0/24', '2001:db8:98::/48']);
    expect(await daemon.established()).toBe(true);
  });

  test('BGP-109 routes of a daemon that was killed go, and return with the next one', async (context) => {
    bench.skipUnlessSupported('routes of the other family', context);
    await expectReturnAfterKill({ announces }, { import: everything }, []);
  });

  test('BGP-116 routes of a killed daemon stay as stale until the next one has sent them, if it asked', async (context) => {
    bench.skipUnlessSupported('routes of the other family', context);
    bench.skipUnlessSupported('retained routes', context);
    const stale = all.map((prefix) => `${prefix} restart`);
    await expectReturnAfterKill({ announces, restarts: true }, { import: everything, gracefulRestart: { restartTime: 60 } }, stale);
  });

  async function expectReturnAfterKill(
    options: Omit<DaemonOptions, 'family'>,
    peerOptions: Partial<PeerOptions>,
    meanwhile: readonly string[],
  ): Promise<void> {
    const { daemon, speaker } = await bench.start(options, peerOptions);
    await expectReceived(speaker, all);
    await daemon.kill();
    await expectReceived(speaker, meanwhile);
    const next = await bench.startDaemon(options);
    await bothEstablished(next, speaker);
    await expectReceived(speaker, all);
  }
}

/** Waits until the speaker has exactly these routes, each with its kind of staleness behind it if it is stale. */
async function expectReceived(speaker: SpeakerProcess, expected: readonly string[]): Promise<readonly Received[]> {
  const present = async (): Promise<readonly Received[]> => (await speaker.call('received', 'peer')) as Received[];
  const named = (routes: readonly Received[]): string =>
    routes
      .map(({ prefix, stale }) => (stale === undefined ? prefix : `${prefix} ${stale}`))
      .toSorted()
      .join(', ');
  const wanted = expected.toSorted().join(', ');
  await until(`the speaker has ${wanted || 'no routes'}`, async (note) => note(named(await present())) === wanted, longTimeout);
  return present();
}
