import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { selectBestPath, selectBestPaths, type ReceivedRoute, type SelectionOptions } from '../../../../../src/bgp/index.ts';
import { LLGR_STALE } from '../../../../../src/bgp/wire/attributes/well-known-communities.ts';
import { address } from '../../../../../src/net/address.ts';
import { formatPrefix, prefix } from '../../../../../src/net/prefix.ts';
import { router } from './received.ts';

interface Change extends Partial<Omit<ReceivedRoute, 'from' | 'asPath'>> {
  readonly asPath?: readonly number[];
  readonly from?: Partial<ReceivedRoute['from']>;
}

const route = ({ from, asPath = [65001], ...change }: Change = {}): ReceivedRoute => ({
  prefix: prefix('192.0.2.0/24'),
  nextHops: [address('10.0.0.1')],
  origin: 'igp',
  asPath: asPath.length === 0 ? [] : [{ kind: 'sequence', asns: asPath }],
  localPref: 100,
  communities: [],
  ...change,
  from: { ...router, ...from },
});

const other = { peer: 'tor2', address: address('10.0.0.9'), routerId: address('10.0.0.9') };

describe('BGP-114 the deciding step of each pair', () => {
  const cost = (nextHop: { readonly value: bigint }): number => Number(nextHop.value & 0xffn);
  const cases: readonly [string, Change, Change, number | string, number | string, SelectionOptions?][] = [
    ['longLivedStale', { localPref: 50 }, { stale: 'longLived' }, 0, 1],
    ['longLivedStale', { localPref: 50 }, { communities: [LLGR_STALE] }, 0, 1],
    ['localPref', { localPref: 200, asPath: [65001, 65002] }, {}, 200, 100],
    ['asPathLength', { origin: 'incomplete' }, { asPath: [65001, 65002] }, 1, 2],
    ['origin', { med: 9 }, { origin: 'egp' }, 'igp', 'egp'],
    ['origin', { origin: 'egp' }, { origin: 'incomplete' }, 'egp', 'incomplete'],
    ['med', { from: { internal: true } }, { med: 5 }, 0, 5],
    ['external', { nextHops: [address('10.0.0.9')] }, { from: { internal: true } }, 0, 1, { interiorCost: cost }],
    ['interiorCost', { from: { routerId: address('10.0.0.99') } }, { nextHops: [address('10.0.0.2')] }, 1, 2, { interiorCost: cost }],
    ['routerId', { from: { address: address('10.0.0.99') } }, {}, '10.0.0.1', '10.0.0.9'],
    ['routerId', {}, { originatorId: address('10.0.0.5'), from: { routerId: address('10.0.0.0') } }, '10.0.0.1', '10.0.0.5'],
    ['clusterListLength', {}, { from: { routerId: router.routerId }, clusterList: [address('1.1.1.1')] }, 0, 1],
    ['peerAddress', {}, { from: { routerId: router.routerId } }, '10.0.0.1', '10.0.0.9'],
    ['pathId', { pathId: 1 }, { pathId: 2, from: router }, 1, 2],
    ['peerName', {}, { from: { ...router, peer: 'tor2' } }, 'tor1', 'tor2'],
  ];
  test.each(cases)('%s', (step, better, worse, betterValue, value, options = {}) => {
    const [winner, loser] = [route(better), route({ ...worse, from: { ...other, ...worse.from } })];
    for (const candidates of [
      [winner, loser],
      [loser, winner],
    ]) {
      const selection = selectBestPath(candidates, options);
      expect(selection?.best).toBe(winner);
      expect(selection?.eliminated).toEqual([{ route: loser, step, by: winner, value, better: betterValue }]);
    }
  });
});

describe('BGP-114 MULTI_EXIT_DISC', () => {
  test('is compared among routes of one neighbouring AS only', () => {
    const [low, high] = [route({ med: 1, asPath: [65002], from: other }), route({ med: 9 })];
    expect(selectBestPath([low, high])).toMatchObject({ best: high, eliminated: [{ route: low, step: 'routerId' }] });
  });

  test('eliminates within each group first, so that the order of arrival does not matter', () => {
    const a = route({ med: 10, from: { peer: 'a', routerId: address('10.0.0.1'), address: address('10.0.0.1') } });
    const b = route({ med: 5, from: { peer: 'b', routerId: address('10.0.0.3'), address: address('10.0.0.3') } });
    const c = route({ asPath: [65002], from: { peer: 'c', routerId: address('10.0.0.2'), address: address('10.0.0.2') } });
    for (const order of [
      [a, b, c],
      [c, b, a],
      [b, a, c],
    ]) {
      expect(selectBestPath(order)).toMatchObject({
        best: c,
        eliminated: [
          { route: a, step: 'med', by: b },
          { route: b, step: 'routerId', by: c },
        ],
      });
    }
  });
});

test('routes that are equal up to the interior cost form the multipath set, with the best one first', () => {
  const [first, second] = [route(), route({ from: other })];
  const longer = route({ asPath: [65001, 65002], from: { peer: 'tor3' } });
  expect(selectBestPath([longer, second, first])?.multipath).toEqual([first, second]);
});

test('routes whose next hop cannot be reached are not considered', () => {
  const [near, far] = [route(), route({ nextHops: [address('10.0.0.9')], localPref: 500, from: other })];
  const interiorCost = ({ value }: { readonly value: bigint }): number => ((value & 0xffn) === 9n ? Infinity : 0);
  expect(selectBestPath([near, far], { interiorCost })?.best).toBe(near);
  expect(selectBestPath([far], { interiorCost })).toBeUndefined();
  expect(selectBestPath([])).toBeUndefined();
});

test('every prefix is selected on its own', () => {
  const routes = [route(), route({ from: other }), route({ prefix: prefix('198.51.100.0/24'), from: other })];
  const selected = [...selectBestPaths(routes)].map(({ best, eliminated }) => [
    formatPrefix(best.prefix),
    best.from.peer,
    eliminated.length,
  ]);
  expect(selected).toEqual([
    ['192.0.2.0/24', 'tor1', 1],
    ['198.51.100.0/24', 'tor2', 0],
  ]);
});

test('BGP-114 one route is best and each other one is explained by a route that beats it, in any order', () => {
  const small = fc.nat(2);
  const candidate = fc.record({
    pref: small,
    length: small,
    origin: small,
    med: small,
    as: small,
    internal: fc.boolean(),
    id: small,
    host: small,
  });
  fc.assert(
    fc.property(fc.array(candidate, { minLength: 1, maxLength: 8 }), fc.nat(), (list, seed) => {
      const routes = list.map(({ pref, length, origin, med, as, internal, id, host }, n) =>
        route({
          localPref: 100 + pref,
          asPath: Array.from({ length: length + 1 }, () => 65001 + as),
          origin: (['igp', 'egp', 'incomplete'] as const)[origin] ?? 'igp',
          med,
          from: { peer: `peer${n}`, internal, routerId: address(`10.0.1.${id}`), address: address(`10.0.2.${host}`) },
        }),
      );
      const shuffled = routes.map((each, n) => ({ each, at: (n * 7919 + seed) % 8 })).toSorted((a, b) => a.at - b.at);
      const selection = selectBestPath(routes);
      expect(selectBestPath(shuffled.map(({ each }) => each))).toEqual(selection);
      const eliminated = selection?.eliminated ?? [];
      expect(new Set([selection?.best, ...eliminated.map(({ route: lost }) => lost)])).toEqual(new Set(routes));
      for (const { route: lost, step, by } of eliminated) {
        // The pair alone gives the same result, because MED is compared within one neighbouring AS.
        expect(selectBestPath([lost, by])).toMatchObject({ best: by, eliminated: [{ step }] });
      }
    }),
  );
});
