import { describe, expect, test } from 'vitest';
import { AnnouncedRoutes, type PeerRouteChanges, type RoutesByPeer } from '../../../../src/agent/reconcile/announced-routes.ts';
import type { RouteIntent } from '../../../../src/decisions/announcement/route.ts';
import { formatPrefix, prefix } from '../../../../src/net/prefix.ts';

function route(text: string, values: readonly number[] = []): RouteIntent {
  return {
    prefix: prefix(text),
    communities: values.map((value) => ({ kind: 'standard', value })),
    asPathPrepend: 0,
    aggregate: !/\/(32|128)$/.test(text),
  };
}

function toTor1(...routes: readonly RouteIntent[]): RoutesByPeer {
  return new Map([['tor1', routes]]);
}

function texts(changes: Map<string, PeerRouteChanges>): unknown {
  return Object.fromEntries(
    [...changes].map(([peer, { announce, withdraw }]) => [
      peer,
      {
        announce: announce.map(({ prefix, communities }) =>
          [formatPrefix(prefix), ...communities.map((c) => (c.kind === 'standard' ? c.value : 'large'))].join(' '),
        ),
        withdraw: withdraw.map(formatPrefix),
      },
    ]),
  );
}

describe('announced routes', () => {
  test('routes of a Service are announced, and withdrawn when it no longer wants them', () => {
    const table = new AnnouncedRoutes();
    table.replaceRoutes('a/a', toTor1(route('192.0.2.1/32'), route('2001:db8::1/128')));
    expect(texts(table.takeChanges(0))).toEqual({ tor1: { announce: ['192.0.2.1/32', '2001:db8::1/128'], withdraw: [] } });
    table.replaceRoutes('a/a', toTor1(route('2001:db8::1/128', [7])));
    expect(texts(table.takeChanges(0))).toEqual({ tor1: { announce: ['2001:db8::1/128 7'], withdraw: ['192.0.2.1/32'] } });
    expect(table.takeChanges(0).size).toBe(0);
  });

  test('a shared prefix has merged attributes and is withdrawn when no Service announces it any more', () => {
    const table = new AnnouncedRoutes();
    table.replaceRoutes('a/a', toTor1(route('192.0.2.1/32', [1])));
    table.replaceRoutes('a/b', toTor1(route('192.0.2.1/32', [2])));
    expect(texts(table.takeChanges(0))).toEqual({ tor1: { announce: ['192.0.2.1/32 1 2'], withdraw: [] } });
    table.replaceRoutes('a/a', new Map());
    expect(texts(table.takeChanges(0))).toEqual({ tor1: { announce: ['192.0.2.1/32 2'], withdraw: [] } });
    table.replaceRoutes('a/b', new Map());
    expect(texts(table.takeChanges(0))).toEqual({ tor1: { announce: [], withdraw: ['192.0.2.1/32'] } });
  });

  test('a prefix is announced since it was absent last, or had other communities, for each peer', () => {
    const table = new AnnouncedRoutes();
    table.replaceRoutes('a/a', toTor1(route('192.0.2.1/32')));
    table.takeChanges(1_000);
    table.replaceRoutes('a/a', toTor1(route('192.0.2.1/32', [7])));
    table.replaceRoutes('a/b', new Map([['tor2', [route('192.0.2.1/32')]]]));
    table.takeChanges(2_000);
    expect(table.announcement('tor1', '192.0.2.1/32')).toMatchObject({ at: 2_000, isReplacement: true });
    expect(table.announcement('tor2', '192.0.2.1/32')).toMatchObject({ at: 2_000, isReplacement: false });
    table.replaceRoutes('a/a', new Map());
    table.takeChanges(3_000);
    expect(table.announcement('tor1', '192.0.2.1/32')).toBeUndefined();
    table.replaceRoutes('a/a', toTor1(route('192.0.2.1/32')));
    table.takeChanges(4_000);
    expect(table.announcement('tor1', '192.0.2.1/32')).toMatchObject({ at: 4_000, isReplacement: false });
  });

  test('a new session gets every route once', () => {
    const table = new AnnouncedRoutes();
    table.replaceRoutes('a/a', toTor1(route('192.0.2.1/32')));
    table.replaceRoutes('a/b', toTor1(route('192.0.2.1/32'), route('192.0.2.2/32')));
    expect(table.allRoutes('tor1').map(({ prefix }) => formatPrefix(prefix))).toEqual(['192.0.2.1/32', '192.0.2.2/32']);
    expect(table.allRoutes('tor2')).toEqual([]);
  });

  test('an aggregate is listed as long as any Service announces it to any peer', () => {
    const table = new AnnouncedRoutes();
    table.replaceRoutes(
      'a/a',
      new Map([
        ['tor1', [route('192.0.2.0/24')]],
        ['tor2', [route('192.0.2.0/24')]],
      ]),
    );
    table.replaceRoutes('a/b', toTor1(route('192.0.2.0/24'), route('192.0.2.7/32')));
    expect(table.aggregates().map(formatPrefix)).toEqual(['192.0.2.0/24']);
    table.replaceRoutes('a/a', new Map());
    expect(table.aggregates()).toHaveLength(1);
    table.replaceRoutes('a/b', toTor1(route('192.0.2.7/32')));
    expect(table.aggregates()).toEqual([]);
  });
});
