import { expect, test } from 'vitest';
import { RouteGroup } from '../../../../src/agent/live/route-group.ts';
import type { RouteIntent } from '../../../../src/decisions/announcement/route.ts';
import { limits } from '../../../../src/live/limits.ts';

/** Groups do not look into the route. */
const route = {} as RouteIntent;

function groupOf(...peers: string[]): RouteGroup {
  const group = new RouteGroup();
  for (const peer of peers) group.addRoute(peer, '192.0.2.1/32', route);
  return group;
}

const peersOf = (group: RouteGroup): string[] => group.toHistory().routes.map(({ peer }) => peer);

test('routes with the same text form one group', () => {
  const why: Record<string, string | undefined> = { tor1: 'down', tor2: 'not selected', tor3: 'down', tor4: undefined };
  const found = groupOf('tor1', 'tor2', 'tor3', 'tor4').groupBy(
    (peer) => why[peer],
    (text) => text ?? '',
  );
  expect(found.map(({ key, group }) => [key, peersOf(group)])).toEqual([
    ['down', ['tor1', 'tor3']],
    ['not selected', ['tor2']],
    [undefined, ['tor4']],
  ]);
});

test('with too many different texts the last routes lose theirs, but no route is lost', () => {
  const found = groupOf('a', 'b', 'c', 'd', 'e', 'f').groupBy(
    (peer) => peer,
    (text) => text,
  );
  expect(found).toHaveLength(limits.entriesOfChange + 1);
  expect(found.at(-1)?.key).toBeUndefined();
  expect(found.flatMap(({ group }) => peersOf(group))).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
});

test('routes that an entry does not list are counted', () => {
  const { routes, moreRoutes } = groupOf(...Array.from({ length: limits.routesOfEntry + 5 }, (_, n) => `p${n}`)).toHistory();
  expect(routes).toHaveLength(limits.routesOfEntry);
  expect(moreRoutes).toBe(5);
  expect(groupOf('one').toHistory()).toEqual({ routes: [{ peer: 'one', prefix: '192.0.2.1/32' }] });
});
