import { expect, test } from 'vitest';
import { until } from '../lab/until.ts';
import { longTimeout, statusOf, type Bench } from './bench.ts';
import { familyOf, type Family } from './daemon.ts';
import { speakerAddress } from './link.ts';

const prefixes = ['198.51.100.0/24', '2001:db8:7::/48'] as const;
const otherNextHop = { 4: '10.99.0.77', 6: 'fd99::77' } as const;

/** One path of both prefixes: its identifier, its next hops and its MED. */
type ExpectedPath = readonly [pathId: number, nextHop: Readonly<Record<Family, string>>, med: number];

/** Tests of several paths of one prefix, which we tell apart by ADD-PATH (RFC 7911). */
export function severalPathsTests(bench: Bench): void {
  const showsPathIds = bench.kind.lacks['path identifiers'] === undefined;
  const paths = (pathId: number, med: number, nextHop?: Readonly<Record<Family, string>>) =>
    prefixes.map((prefix) => ({ prefix, pathId, med, ...(nextHop === undefined ? {} : { nextHop: nextHop[familyOf(prefix)] }) }));

  test.each([
    ['arrive, change and go one by one', true],
    ['give a daemon that takes one the first, and then the next', false],
  ] as const)('BGP-128 BGP-129 BGP-130 BGP-131 several paths of a prefix %s', async (_, severalPaths) => {
    const { daemon, speaker } = await bench.start({ severalPaths }, { addPathSend: [4, 6] });
    /** Waits until the daemon has exactly these paths of both prefixes, or the first of them if it takes one. */
    const expectPaths = async (...expected: readonly ExpectedPath[]): Promise<void> => {
      for (const prefix of prefixes) {
        const family = familyOf(prefix);
        const show = (pathId: number | undefined, nextHop: string, med: number | undefined): string =>
          showsPathIds ? `${pathId} ${nextHop} ${med}` : `${nextHop} ${med}`;
        const wanted = (severalPaths ? expected : expected.slice(0, 1)).map(([pathId, nextHop, med]) =>
          show(severalPaths ? pathId : undefined, nextHop[family], med),
        );
        await until(
          `${prefix} has ${wanted.join(', ')}`,
          async (note) => {
            const seen = (await daemon.paths(family)).get(prefix)?.map(({ pathId, nextHop, med }) => show(pathId, nextHop, med)) ?? [];
            return note(seen).toSorted().join() === wanted.toSorted().join();
          },
          longTimeout,
        );
      }
    };
    const announced = [...paths(3, 30), ...paths(8, 80, otherNextHop), ...paths(70_000, 90)];
    await speaker.call('set', 'peer', announced);
    await expectPaths([3, speakerAddress, 30], [8, otherNextHop, 80], [70_000, speakerAddress, 90]);
    await speaker.call('update', 'peer', paths(8, 81, otherNextHop), []);
    await expectPaths([3, speakerAddress, 30], [8, otherNextHop, 81], [70_000, speakerAddress, 90]);
    // A withdrawal without the identifier of its announcement would leave the path, or end the session.
    const first = prefixes.map((prefix) => ({ prefix, pathId: 3 }));
    await speaker.call('update', 'peer', [], first);
    await expectPaths([8, otherNextHop, 81], [70_000, speakerAddress, 90]);
    await speaker.call('set', 'peer', []);
    await expectPaths();
    expect(await daemon.established()).toBe(true);
    expect((await statusOf(speaker)).counters).toMatchObject({ established: 1, flaps: 0 });
  });
}
