import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { reason } from '../../../../src/model/reasons.ts';
import { formatPrefix, isHostPrefix, prefix } from '../../../../src/net/prefix.ts';
import { formatCommunity, resolveCommunity, uniteCommunities } from '../../../../src/decisions/announcement/communities.ts';
import { mergeRoutes, routesByPeer } from '../../../../src/decisions/announcement/merge-routes.ts';
import { peersOfNode } from '../../../../src/decisions/announcement/peers.ts';
import type { RouteIntent } from '../../../../src/decisions/announcement/route.ts';
import { formatAddress, address } from '../../../../src/net/address.ts';
import { cluster, matching, metadata, type PeerLiteral } from '../fixtures.ts';

const community = fc.oneof(
  fc.record({ kind: fc.constant('standard' as const), value: fc.integer({ min: 0, max: 3 }) }),
  fc.record({
    kind: fc.constant('large' as const),
    globalAdministrator: fc.integer({ min: 0, max: 1 }),
    localData1: fc.constant(1),
    localData2: fc.constant(2),
  }),
);
const route: fc.Arbitrary<RouteIntent> = fc
  .record(
    {
      prefix: fc.constantFrom('192.0.2.0/24', '192.0.2.1/32', '2001:db8::/64').map(prefix),
      communities: fc.array(community, { maxLength: 3 }),
      localPref: fc.nat(3),
      med: fc.nat(3),
      asPathPrepend: fc.nat(2),
      linkBandwidth: fc.oneof(
        fc.record({ megabitsPerSecond: fc.constantFrom(1, 10) }),
        fc.nat(3).map((endpoints) => ({ megabitsPerSecond: 2 * endpoints, endpoints })),
      ),
    },
    { requiredKeys: ['prefix', 'communities', 'asPathPrepend'] },
  )
  .map((route) => Object.assign(route, { communities: uniteCommunities(route.communities), aggregate: !isHostPrefix(route.prefix) }));

describe('merged routes to one peer', () => {
  test('the result does not depend on the order of the routes, and merging again changes nothing', () => {
    const shuffled = fc
      .array(route, { maxLength: 8 })
      .chain((routes) => fc.tuple(fc.constant(routes), fc.shuffledSubarray(routes, { minLength: routes.length })));
    fc.assert(
      fc.property(shuffled, ([routes, other]) => {
        const merged = mergeRoutes(routes);
        expect(new Set(merged.map(({ prefix }) => formatPrefix(prefix))).size).toBe(merged.length);
        expect(mergeRoutes(other)).toEqual(merged);
        expect(mergeRoutes(merged)).toEqual(merged);
      }),
    );
  });

  test('communities are united, and of other attributes the best value wins', () => {
    const one = {
      prefix: prefix('192.0.2.1/32'),
      communities: [{ kind: 'standard', value: 2 }],
      localPref: 5,
      asPathPrepend: 0,
      aggregate: false,
    } as const;
    const two = {
      prefix: prefix('192.0.2.1/32'),
      communities: [{ kind: 'standard', value: 1 }],
      localPref: 7,
      med: 9,
      asPathPrepend: 3,
      aggregate: false,
    } as const;
    expect(mergeRoutes([one, two])).toEqual([
      {
        prefix: one.prefix,
        communities: [...two.communities, ...one.communities],
        localPref: 7,
        med: 9,
        asPathPrepend: 3,
        aggregate: false,
      },
    ]);
  });

  test('routes of several Services are collected by peer', () => {
    const intent = (text: string): RouteIntent => ({ prefix: prefix(text), communities: [], asPathPrepend: 0, aggregate: false });
    const announcement = (text: string, peer: string) => ({
      addresses: [
        {
          address: address('192.0.2.1'),
          type: 'LoadBalancer' as const,
          refused: [],
          result: { announce: true as const, peers: [{ peer, result: { routes: [intent(text)] } }] },
        },
      ],
    });
    const routes = routesByPeer([announcement('192.0.2.1/32', 'a'), announcement('192.0.2.1/32', 'a'), announcement('192.0.2.2/32', 'b')]);
    expect([...routes].map(([peer, list]) => [peer, list.length])).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
  });
});

describe('communities', () => {
  const objects = [
    { kind: 'Community' as const, metadata: metadata('b'), communities: [{ name: 'mine', value: '65000:2' }] },
    {
      kind: 'Community' as const,
      metadata: metadata('a'),
      communities: [
        { name: 'mine', value: 'large:4200000000:0:7' },
        { name: 'bad', value: 'x' },
        { name: 'stop', value: 'blackhole' },
      ],
    },
  ];
  test.each([
    ['65000:100', '65000:100'],
    ['65535:65535', '65535:65535'],
    ['large:4294967295:0:1', 'large:4294967295:0:1'],
    ['no-export', '65535:65281'],
    ['no-advertise', '65535:65282'],
    ['no-export-subconfed', '65535:65283'],
    ['local-as', '65535:65283'],
    ['no-peer', '65535:65284'],
    ['blackhole', '65535:666'],
    ['graceful-shutdown', '65535:0'],
    ['planned-shut', '65535:0'],
    ['accept-own', '65535:1'],
    ['route-filter-translated-v4', '65535:2'],
    ['route-filter-v4', '65535:3'],
    ['route-filter-translated-v6', '65535:4'],
    ['route-filter-v6', '65535:5'],
    ['llgr-stale', '65535:6'],
    ['no-llgr', '65535:7'],
    ['internet', '0:0'],
    ['mine', 'large:4200000000:0:7'],
    ['stop', '65535:666'],
    ['bad', undefined],
    ['65536:1', undefined],
    ['1:2:3', undefined],
    ['large:1:2', undefined],
    ['large:4294967296:1:2', undefined],
    ['toString', undefined],
    ['', undefined],
  ])('"%s" is read as %s', (text, expected) => {
    const result = resolveCommunity(text, objects);
    expect(result.ok ? formatCommunity(result.value) : undefined).toBe(expected);
  });
});

describe('the peers of a node', () => {
  const nodes = [
    { name: 'here', labels: { rack: 'one' }, internalIPs: ['fd00::1', '10.0.0.1'] },
    { name: 'six', internalIPs: ['fd00::6'] },
  ];
  const secret = { namespace: 'herald', name: 'bgp' };
  const sessions = (peers: readonly PeerLiteral[], secrets: Parameters<typeof cluster>[0]['secrets'] = [], node = 'here') =>
    peersOfNode(cluster({ nodes, peers, secrets: secrets ?? [] }), node);
  const codes = (...args: Parameters<typeof sessions>): string[] =>
    sessions(...args).map(({ peer, result }) => `${peer} ${'session' in result ? 'session' : result.reason.code}`);

  test('a node has the peers whose nodeSelectors match, sorted by name', () => {
    const peers = [
      { name: 'b', peerAddress: '10.0.0.2' },
      { name: 'a', nodeSelectors: [matching({ rack: 'one' })] },
      { name: 'c', nodeSelectors: [matching({ rack: 'two' })] },
    ];
    expect(codes(peers)).toEqual(['a session', 'b session']);
    expect(codes(peers, [], 'nobody')).toEqual([]);
  });

  test('the first by name of two peers with one address gets the session', () => {
    expect(codes([{ name: 'b' }, { name: 'a' }])).toEqual(['a session', 'b DuplicatePeer']);
  });

  describe('two peers with one address and the reported sessions', () => {
    const twins = [{ name: 'b' }, { name: 'a' }];
    const codesWhere = (running: Record<string, string>, peers: readonly PeerLiteral[] = twins): string[] => {
      const found = peersOfNode(cluster({ nodes, peers, running: { here: running } }), 'here');
      return found.map(({ peer, result }) => `${peer} ${'session' in result ? 'session' : result.reason.code}`);
    };

    test('the peer with the running session keeps it, whatever the name of the other', () => {
      expect(codesWhere({ b: '10.0.0.254' })).toEqual(['a DuplicatePeer', 'b session']);
      expect(codesWhere({ a: '10.0.0.254' })).toEqual(['a session', 'b DuplicatePeer']);
    });

    test('a peer with a session elsewhere that is edited to this address does not take it over', () => {
      expect(codesWhere({ b: '10.0.0.254', a: '10.0.0.253' })).toEqual(['a DuplicatePeer', 'b session']);
    });

    test('the older peer gets the session when none runs', () => {
      const { peers, ...rest } = cluster({ nodes, peers: twins });
      const aged = [...peers].map(([name, peer], index) => {
        const metadata = { ...peer.metadata, creationTimestamp: `2026-01-0${index + 1}T00:00:00Z` };
        return [name, { ...peer, metadata }] as const;
      });
      expect(aged.map(([name]) => name)).toEqual(['b', 'a']);
      expect(peersOfNode({ ...rest, peers: new Map(aged) }, 'here').map(({ result }) => 'session' in result)).toEqual([false, true]);
    });
  });

  test.each<[string, readonly Omit<PeerLiteral, 'name'>[], boolean]>([
    [
      'the same link-local address on one link',
      [
        { peerAddress: 'fe80::1', interface: 'eth1' },
        { peerAddress: 'fe80::1', interface: 'eth1' },
      ],
      true,
    ],
    [
      'the same link-local address on two links',
      [
        { peerAddress: 'fe80::1', interface: 'eth1' },
        { peerAddress: 'fe80::1', interface: 'eth2' },
      ],
      false,
    ],
    [
      'two link-local addresses on one link',
      [
        { peerAddress: 'fe80::1', interface: 'eth1' },
        { peerAddress: 'fe80::2', interface: 'eth1' },
      ],
      false,
    ],
    ['two unnumbered ones on one link', [{ interface: 'eth1' }, { interface: 'eth1' }], true],
    ['two unnumbered ones on two links', [{ interface: 'eth1' }, { interface: 'eth2' }], false],
    [
      'an unnumbered one and a link-local address on its link',
      [{ interface: 'eth1' }, { peerAddress: 'fe80::1', interface: 'eth1' }],
      true,
    ],
    ['an unnumbered one and an address on its link', [{ interface: 'eth1' }, { peerAddress: '10.0.0.254', interface: 'eth1' }], false],
    ['one address with and without an interface', [{ peerAddress: '10.0.0.254' }, { peerAddress: '10.0.0.254', interface: 'eth1' }], true],
    [
      'one address on two links',
      [
        { peerAddress: '10.0.0.254', interface: 'eth1' },
        { peerAddress: '10.0.0.254', interface: 'eth2' },
      ],
      false,
    ],
  ])('two peers with %s count as one router or as two', (_, literals, oneRouter) => {
    const peers = literals.map((literal, index) => ({ name: `p${index}`, ...literal }));
    expect(codes(peers)).toEqual(['p0 session', oneRouter ? 'p1 DuplicatePeer' : 'p1 session']);
  });

  test('an unnumbered peer with a running session keeps its interface', () => {
    const running = { here: { b: 'fe80::9%eth1' } };
    const peers = [
      { name: 'a', interface: 'eth1' },
      { name: 'b', interface: 'eth1' },
    ];
    const [first] = peersOfNode(cluster({ nodes, peers, running }), 'here');
    expect(first?.result).toEqual({ reason: reason('DuplicatePeer', { address: 'the router on eth1', other: 'b' }) });
  });

  test('an unnumbered session carries both families and has no other next hop', () => {
    const [only] = sessions([{ name: 'tor', interface: 'eth1', enableGracefulRestart: true, ttlSecurityHops: 1, localASN: 64_999 }]);
    expect(only?.result).toMatchObject({
      session: { interface: 'eth1', families: [4, 6], gracefulRestart: true, ttlSecurityHops: 1, localASN: 64_999 },
    });
    expect(only?.result).not.toHaveProperty('session.peerAddress');
    expect(only?.result).not.toHaveProperty('session.otherNextHop');
    const [linkLocal] = sessions([{ name: 'tor', peerAddress: 'fe80::1', interface: 'eth1', dualStackAddressFamily: true }]);
    expect(linkLocal?.result).toMatchObject({ session: { families: [4, 6] } });
    expect(linkLocal?.result).not.toHaveProperty('session.otherNextHop');
    const [oneFamily] = sessions([{ name: 'tor', peerAddress: 'fe80::1', interface: 'eth1' }]);
    expect(oneFamily?.result).toMatchObject({ session: { families: [6] } });
  });

  test('a running session keeps its password when its Secret is gone, and reports it', () => {
    const peers = [{ name: 'tor', passwordSecret: secret }];
    const [gone] = peersOfNode(cluster({ nodes, peers, running: { here: { tor: '10.0.0.254' } } }), 'here');
    expect(gone?.result).toMatchObject({ session: { peer: 'tor' }, passwordGone: { secret: 'herald/bgp', why: 'it does not exist' } });
    expect(gone?.result).not.toHaveProperty('session.password');
  });

  test.each([
    [undefined, 'tor PeerPasswordMissing'],
    [{ name: 'herald/bgp', password: '' }, 'tor PeerPasswordMissing'],
    [{ name: 'herald/bgp' }, 'tor PeerPasswordMissing'],
    [{ name: 'herald/bgp', type: 'Opaque', password: 'x' }, 'tor PeerPasswordMissing'],
    [{ name: 'herald/bgp', password: 'x' }, 'tor session'],
  ])('a peer with a passwordSecret needs a Secret of the right type with a password: %j', (object, expected) => {
    const peers = [{ name: 'tor', passwordSecret: secret }];
    expect(codes(peers, object === undefined ? [] : [object])).toEqual([expected]);
    const passwords = sessions(peers, object === undefined ? [] : [object]).map(
      ({ result }) => 'session' in result && result.session.password,
    );
    expect(passwords).toEqual([expected === 'tor session' && 'x']);
  });

  test('router ID, peer ASN and families of a session are resolved', () => {
    const session = (peer: Omit<PeerLiteral, 'name'>, node?: string) => {
      const result = sessions([{ name: 'tor', ...peer }], [], node)[0]?.result;
      if (result === undefined || 'reason' in result) throw new RangeError('no session');
      return result.session;
    };
    expect(formatAddress(session({}).routerID)).toBe('10.0.0.1');
    expect(formatAddress(session({ routerID: '1.2.3.4' }).routerID)).toBe('1.2.3.4');
    expect(session({}, 'six').routerID.family).toBe(4);
    expect(session({}, 'six').routerID.value).not.toBe(0n);
    expect(session({ dynamicASN: 'internal' }).peerASN).toBe('internal');
    expect(session({}).families).toEqual([4]);
    expect(session({ peerAddress: 'fd00::2' }).families).toEqual([6]);
    expect(session({ dualStackAddressFamily: true }).families).toEqual([4, 6]);
  });
});
