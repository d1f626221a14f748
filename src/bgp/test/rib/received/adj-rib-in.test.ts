import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ImportRules } from '../../../../../src/bgp/rib/received/import-filter.ts';
import { LLGR_STALE } from '../../../../../src/bgp/wire/attributes/well-known-communities.ts';
import { address } from '../../../../../src/net/address.ts';
import { prefix } from '../../../../../src/net/prefix.ts';
import { describe as named, everything, nameOf, routesIn, session, table, update } from './received.ts';

const only = (...prefixes: string[]): ImportRules => ({
  rules: [{ prefixes: prefixes.map((text) => ({ prefix: prefix(text) })) }],
  otherwise: 'refuse',
});

describe('an UPDATE', () => {
  test('announces, changes and withdraws routes of both families', () => {
    const rib = table();
    expect(named(rib.apply(update(['192.0.2.0/24', '198.51.100.0/24'])).changes)).toEqual([
      'announced 192.0.2.0/24',
      'announced 198.51.100.0/24',
    ]);
    rib.apply(update(['2001:db8::/32']));
    expect(named(rib.apply(update(['192.0.2.0/24'], ['198.51.100.0/24'], { med: 7 })).changes)).toEqual([
      'withdrawn 198.51.100.0/24',
      'changed 192.0.2.0/24',
    ]);
    expect(routesIn(rib)).toEqual(['192.0.2.0/24', '2001:db8::/32']);
    expect(rib.accepted).toEqual({ 4: 1, 6: 1 });
  });

  test('without a difference changes nothing', () => {
    const rib = table();
    rib.apply(update(['192.0.2.0/24'], [], { med: 7, communities: [LLGR_STALE] }));
    expect(rib.apply(update(['192.0.2.0/24'], ['192.0.2.0/24'], { med: 7, communities: [LLGR_STALE] })).changes).toEqual([]);
    expect(rib.apply(update([], ['203.0.113.0/24'])).changes).toEqual([]);
  });

  test('that counts as withdrawal removes its prefixes (RFC 7606 2)', () => {
    const rib = table();
    rib.apply(update(['192.0.2.0/24', '198.51.100.0/24']));
    expect(named(rib.apply({ ...update(['192.0.2.0/24']), treatAsWithdraw: true }).changes)).toEqual(['withdrawn 192.0.2.0/24']);
  });

  test('with path identifiers has several routes of a prefix (RFC 7911 5)', () => {
    const rib = table();
    rib.apply(update(['192.0.2.0/24 1', '192.0.2.0/24 2']));
    expect(rib.routesOf(prefix('192.0.2.0/24')).map(nameOf)).toEqual(['192.0.2.0/24 1', '192.0.2.0/24 2']);
    expect(named(rib.apply(update([], ['192.0.2.0/24 1'])).changes)).toEqual(['withdrawn 192.0.2.0/24 1']);
    expect(rib.routesOf(prefix('192.0.2.0/24')).map(nameOf)).toEqual(['192.0.2.0/24 2']);
  });

  test('leaves the attributes as they were when the received octets are overwritten', () => {
    const rib = table();
    const message = update(['192.0.2.0/24']);
    rib.apply(message);
    for (const { nextHop, bytes } of message.announced) for (const octets of [nextHop, bytes]) octets?.fill(0xff);
    expect([...rib.routes(4)]).toMatchObject([{ prefix: prefix('192.0.2.0/24'), nextHops: [address('10.0.0.1')] }]);
  });

  test('with more routes than the maximum reports the family', () => {
    const rib = table(everything, {}, 2);
    expect(rib.apply(update(['192.0.2.0/24', '198.51.100.0/24'])).exceeded).toBeUndefined();
    expect(rib.apply(update(['2001:db8::/32'])).exceeded).toBeUndefined();
    expect(rib.apply(update(['203.0.113.0/24'])).exceeded).toEqual({ family: 4, maximum: 2 });
  });

  test('with routes that the rules refuse does not exceed the maximum', () => {
    const rib = table(only('192.0.2.0/24'), {}, 1);
    expect(rib.apply(update(['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'])).exceeded).toBeUndefined();
  });
});

describe('BGP-112 BGP-113 a route that the protocol forbids is not used, whatever the rules', () => {
  test.each([
    [
      'asSet',
      {
        asPath: [
          { kind: 'sequence', asns: [65001] },
          { kind: 'set', asns: [65002] },
        ],
      },
      {},
    ],
    ['asSet', { asPath: [{ kind: 'confederationSet', asns: [65002] }] }, {}],
    ['asSet', { as4Path: [{ kind: 'set', asns: [70000] }] }, {}],
    ['asLoop', { asPath: [{ kind: 'sequence', asns: [65001, 64512] }] }, {}],
    ['originatorLoop', { originatorId: 0x0a00_0002 }, {}],
    ['ownNextHop', {}, { localAddress: address('10.0.0.1') }],
    ['routeLeak', { onlyToCustomer: 65001 }, { peerRole: 'customer' }],
    ['routeLeak', { onlyToCustomer: 65009 }, { peerRole: 'peer' }],
  ] as const)('%s: %j', (reason, attributes, change) => {
    const before = table();
    before.apply(update(['198.51.100.0/24']));
    const rib = before.forSession({ ...session, ...change });
    expect(named(rib.apply(update(['192.0.2.0/24', '198.51.100.0/24'], [], attributes)).changes)).toEqual(['withdrawn 198.51.100.0/24']);
    expect(routesIn(rib)).toEqual([]);
    expect(rib.refused).toEqual({ [reason]: 2 });
  });

  test('ONLY_TO_CUSTOMER is no leak from a provider, or from a peer that set it (RFC 9234 5)', () => {
    for (const peerRole of ['provider', 'peer', 'routeServer'] as const) {
      const rib = table(everything, { peerRole });
      rib.apply(update(['192.0.2.0/24'], [], { onlyToCustomer: 65001 }));
      expect(routesIn(rib)).toEqual(['192.0.2.0/24']);
    }
  });
});

describe('other import rules', () => {
  test('apply to the kept routes at once, from the attributes that the peer sent', () => {
    const rib = table({ rules: [{ setLocalPref: 300 }], otherwise: 'refuse' });
    rib.apply(update(['192.0.2.0/24', '198.51.100.0/24'], [], { localPref: 150 }));
    expect([...rib.routes(4)].map(({ localPref }) => localPref)).toEqual([300, 300]);
    expect(named(rib.configure(only('192.0.2.0/24'), 1_000))).toEqual(['changed 192.0.2.0/24', 'withdrawn 198.51.100.0/24']);
    expect([...rib.routes(4)].map(({ localPref }) => localPref)).toEqual([150]);
    expect(rib.configure(only('192.0.2.0/24'), 1_000)).toEqual([]);
  });

  test('bring back refused routes only where the peer cannot send them again', () => {
    for (const keepRefused of [false, true]) {
      const rib = table(only('192.0.2.0/24'), { keepRefused });
      rib.apply(update(['192.0.2.0/24', '198.51.100.0/24']));
      expect(routesIn(rib)).toEqual(['192.0.2.0/24']);
      expect(named(rib.configure(everything, 1_000))).toEqual(keepRefused ? ['announced 198.51.100.0/24'] : []);
    }
  });

  test('apply to stale routes, which stay stale', () => {
    const rib = table();
    rib.apply(update(['192.0.2.0/24', '198.51.100.0/24']));
    rib.markStale(4, 'restart');
    rib.configure(only('192.0.2.0/24'), 1_000);
    expect(routesIn(rib)).toEqual(['192.0.2.0/24 restart']);
  });
});

describe('stale routes', () => {
  test('become fresh when they are announced again, and the others go', () => {
    const rib = table();
    rib.apply(update(['192.0.2.0/24', '198.51.100.0/24']));
    rib.apply(update(['2001:db8::/32']));
    expect(named(rib.markStale(4, 'restart'))).toEqual(['changed 192.0.2.0/24 restart', 'changed 198.51.100.0/24 restart']);
    expect(rib.stale).toEqual({ 4: 2, 6: 0 });
    const next = rib.forSession(session);
    expect(named(next.apply(update(['192.0.2.0/24'])).changes)).toEqual(['changed 192.0.2.0/24']);
    expect(named(next.removeStale(4))).toEqual(['withdrawn 198.51.100.0/24 restart']);
    expect(routesIn(next)).toEqual(['192.0.2.0/24', '2001:db8::/32']);
    expect(next.stale).toEqual({ 4: 0, 6: 0 });
  });

  test('go when the next session ends before they were announced again (RFC 4724 4.2)', () => {
    const rib = table();
    rib.apply(update(['192.0.2.0/24', '198.51.100.0/24']));
    rib.markStale(4, 'restart');
    rib.apply(update(['192.0.2.0/24']));
    expect(named(rib.markStale(4, 'restart'))).toEqual(['changed 192.0.2.0/24 restart', 'withdrawn 198.51.100.0/24 restart']);
  });
});

test('after an enhanced refresh the routes that did not come again are gone (RFC 7313 4)', () => {
  const rib = table();
  rib.apply(update(['192.0.2.0/24', '198.51.100.0/24']));
  rib.apply(update(['2001:db8::/32']));
  rib.beginRefresh(4);
  rib.apply(update(['192.0.2.0/24', '203.0.113.0/24']));
  expect(named(rib.endRefresh(4))).toEqual(['withdrawn 198.51.100.0/24']);
  expect(rib.endRefresh(4)).toEqual([]);
  expect(routesIn(rib)).toEqual(['192.0.2.0/24', '2001:db8::/32', '203.0.113.0/24']);
});

test('the changes lead from no routes to the present ones, for any sequence of steps', () => {
  const name = fc.constantFrom('192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '192.0.2.0/24 1', '192.0.2.0/24 2');
  const names = fc.uniqueArray(name, { maxLength: 3 });
  const rules = fc.constantFrom(everything, only('192.0.2.0/24'), only('198.51.100.0/24', '203.0.113.0/24'));
  const step = fc.oneof(
    fc.record({ kind: fc.constant('update' as const), announced: names, withdrawn: names, med: fc.nat(1) }),
    fc.record({ kind: fc.constant('rules' as const), rules }),
    fc.record({ kind: fc.constantFrom('stale' as const, 'removeStale' as const, 'begin' as const, 'end' as const, 'next' as const) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), fc.boolean(), (steps, keepRefused) => {
      let rib = table(everything, { keepRefused });
      const followed = new Map<string, unknown>();
      for (const each of steps) {
        const changes = (() => {
          switch (each.kind) {
            case 'update': {
              // Prefixes with and without path identifiers never share a message.
              const [plain, other] = [false, true].map(
                (ids) => (list: readonly string[]) => list.filter((text) => text.includes(' ') === ids),
              );
              return [plain, other].flatMap(
                (pick) => rib.apply(update(pick?.(each.announced) ?? [], pick?.(each.withdrawn) ?? [], { med: each.med })).changes,
              );
            }
            case 'rules':
              return rib.configure(each.rules, 1_000);
            case 'stale':
              return rib.markStale(4, 'restart');
            case 'removeStale':
              return rib.removeStale(4);
            case 'begin':
              rib.beginRefresh(4);
              return [];
            case 'end':
              return rib.endRefresh(4);
            case 'next':
              rib = rib.forSession({ ...session, keepRefused });
              return [];
          }
        })();
        for (const { kind, route } of changes) {
          const { prefix: at, pathId } = route;
          const key = JSON.stringify([String(at.address.value), at.length, pathId]);
          expect(followed.has(key)).toBe(kind !== 'announced');
          if (kind === 'withdrawn') followed.delete(key);
          else followed.set(key, route);
        }
        const present = [...rib.routes(4)];
        expect(new Set(followed.values())).toEqual(new Set(present));
        expect(rib.accepted[4]).toBe(present.length);
        expect(rib.stale[4]).toBe(present.filter(({ stale }) => stale !== undefined).length);
        for (const route of present) expect(rib.routesOf(route.prefix)).toContainEqual(route);
      }
    }),
  );
});
