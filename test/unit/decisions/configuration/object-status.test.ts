import { describe, expect, test } from 'vitest';
import { defined } from '../../../../src/lang/defined.ts';
import { createAllocator } from '../../../../src/decisions/allocation/allocator.ts';
import { effectivePools } from '../../../../src/decisions/allocation/pools/pools.ts';
import { advertisementStatus } from '../../../../src/decisions/configuration/advertisement-status.ts';
import type { ObjectStatus } from '../../../../src/decisions/configuration/object-status.ts';
import { PeerSessionCounts } from '../../../../src/controller/configuration/peer-session-counts.ts';
import { peersOnNode, peerStatus, type PeerSummary } from '../../../../src/decisions/configuration/peer-status.ts';
import { conflictsOf } from '../../../../src/decisions/configuration/pool-conflicts.ts';
import { poolStatus, uncountable } from '../../../../src/decisions/configuration/pool-status.ts';
import type { IPAddressPool } from '../../../../src/model/kinds/types.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import { conditionText, reason, reasonText, remedyText } from '../../../../src/model/reasons.ts';
import { address } from '../../../../src/net/address.ts';
import { advertisement, cluster, l2Advertisement, matching, pool, type ClusterLiteral } from '../fixtures.ts';

const codes = ({ refused, unready }: ObjectStatus): string => `${refused?.code ?? 'accepted'}, ${unready?.code ?? 'ready'}`;

describe('the status of a pool', () => {
  /** Returns the status of the last pool while Services hold the addresses. */
  function statusOf(pools: readonly IPAddressPool[], ...held: readonly string[]): ObjectStatus {
    const { pools: giving, refused } = effectivePools(new Map(pools.map((one) => [one.metadata.name, one])));
    const allocator = createAllocator(giving, [...refused.values()]);
    for (const [index, text] of held.entries()) {
      const at = address(text);
      allocator.adopt(
        {
          service: `shop/s${index}`,
          namespace: 'shop',
          namespaceLabels: {},
          labels: {},
          families: [at.family],
          policy: 'SingleStack',
          requestedAddresses: [],
          sharingNamespaces: [],
          keepsAddresses: false,
          ports: [],
          externalTrafficPolicy: 'Cluster',
          selectorText: '',
        },
        [at],
      );
    }
    const last = pools.at(-1);
    if (last === undefined) throw new RangeError('no pool');
    const { name } = last.metadata;
    return poolStatus(last, {
      refused: refused.get(name)?.reason,
      usage: allocator.usage().filter((one) => one.pool === name),
      conflicts: conflictsOf(pools).get(name) ?? [],
      released: [],
    });
  }

  test('usage and free addresses are counted by family', () => {
    const both = pool({ name: 'p', addresses: ['192.0.2.0/24', '2001:db8::/120'] });
    expect(statusOf([both], '192.0.2.7', '192.0.2.8', '2001:db8::1')).toEqual({
      fields: {
        assignedIPv4: 2,
        assignedIPv6: 1,
        availableIPv4: 254n,
        availableIPv6: 255n,
        usage: '2/256, 1/256',
        conflicts: [],
        released: [],
      },
    });
  });

  test('a shared address counts once; reserved and avoided addresses are not free', () => {
    const avoiding = pool({ name: 'p', addresses: ['192.0.2.0/24'], avoidBuggyIPs: true, reserved: { '192.0.2.9': 'shop/later' } });
    expect(statusOf([avoiding], '192.0.2.7', '192.0.2.7').fields).toMatchObject({ assignedIPv4: 1, availableIPv4: 252n, usage: '1/254' });
  });

  test.each([
    ['2001:db8::/66', uncountable],
    ['2001:db8::/67', 2n ** 61n - 1n],
    ['2001:db8::/48', uncountable],
  ])('a pool with %s and one assignment has %s free addresses', (range, free) => {
    expect(statusOf([pool({ name: 'p', addresses: [range] })], '2001:db8::1').fields).toMatchObject({ availableIPv6: free });
  });

  test('large sizes are written as powers of two', () => {
    expect(statusOf([pool({ name: 'p', addresses: ['2001:db8::/64'] })]).fields).toMatchObject({ usage: '0/2^64' });
  });

  test('a pool is ready until it is full or draining', () => {
    const two = { name: 'p', addresses: ['192.0.2.0/31', '2001:db8::/127'] };
    expect(codes(statusOf([pool(two)], '192.0.2.0', '192.0.2.1'))).toBe('accepted, ready');
    expect(codes(statusOf([pool(two)], '192.0.2.0', '192.0.2.1', '2001:db8::', '2001:db8::1'))).toBe('accepted, PoolFull');
    expect(codes(statusOf([pool({ ...two, draining: true })]))).toBe('accepted, PoolDraining');
  });

  test('only the later of two overlapping pools is refused, and both list the other', () => {
    const older = pool({ name: 'a', addresses: ['192.0.2.0/24', '2001:db8::/64'] });
    const later = pool({ name: 'b', addresses: ['198.51.100.0/24', '192.0.2.128/25'] });
    const status = statusOf([older, later], '192.0.2.200');
    expect(codes(status)).toBe('PoolOverlaps, PoolOverlaps');
    expect(status.fields).toMatchObject({ assignedIPv4: 0, availableIPv4: 0n, usage: '0/0', conflicts: ['a'] });
    expect(statusOf([later, older], '192.0.2.200')).toMatchObject({ fields: { assignedIPv4: 1, conflicts: ['b'] } });
    expect(codes(statusOf([later, older]))).toBe('accepted, ready');
  });

  test('conflictsOf lists the overlapping pools of each pool', () => {
    const pools = [
      pool({ name: 'wide', addresses: ['10.0.0.0/8'] }),
      pool({ name: 'x', addresses: ['10.1.0.0/16'] }),
      pool({ name: 'y', addresses: ['10.2.0.0/16', '10.1.5.0-10.1.5.9'] }),
      pool({ name: 'z', addresses: ['11.0.0.0/8'] }),
      pool({ name: 'six', addresses: ['::a00:0-::aff:ffff'] }),
    ];
    expect(conflictsOf(pools)).toEqual(
      new Map([
        ['wide', ['x', 'y']],
        ['x', ['wide', 'y']],
        ['y', ['wide', 'x']],
      ]),
    );
  });
});

describe('the status of a peer', () => {
  const now = Date.UTC(2026, 0, 1);

  function statusOf(literal: ClusterLiteral, snapshot: Snapshot = cluster(literal)): ObjectStatus {
    const found = snapshot.peers.get('tor');
    if (found === undefined) throw new RangeError('no peer');
    const on = [...snapshot.nodes.keys()].flatMap((node) => peersOnNode(snapshot, node, now).get('tor') ?? []);
    const refused = on.find((one) => one.refused !== undefined)?.refused;
    return peerStatus(found, {
      nodes: on.length,
      expected: on.filter(({ expected }) => expected).length,
      established: on.filter(({ established }) => established).length,
      ...defined({ refused }),
    });
  }

  const nodes = [{ name: 'n1', labels: { rack: 'a' } }, { name: 'n2' }, { name: 'n3' }];
  const tor = { name: 'tor', peerAddress: '10.0.0.254' };
  const up = { tor: '10.0.0.254' };
  const twoNodes = [
    { name: 'n1', internalIPs: ['10.0.0.1'] },
    { name: 'n2', internalIPs: ['10.0.0.2'] },
  ];

  test('established sessions are counted among the nodes that the peer selects', () => {
    const status = statusOf({ nodes, peers: [tor], running: { n1: up, n2: up } });
    expect(status.fields).toEqual({ sessions: '2/3', sessionsEstablished: 2, sessionsExpected: 3 });
    expect(codes(status)).toBe('accepted, SessionsMissing');
    expect(codes(statusOf({ nodes, peers: [tor], running: { n1: up, n2: up, n3: up } }))).toBe('accepted, ready');
    expect(codes(statusOf({ nodes, peers: [{ ...tor, nodeSelectors: [matching({ rack: 'a' })] }], running: { n1: up } }))).toBe(
      'accepted, ready',
    );
  });

  test('a session in an old report does not count as established', () => {
    const snapshot = cluster({ nodes: nodes.slice(0, 1), peers: [tor], running: { n1: up } });
    expect(peersOnNode(snapshot, 'n1', now).get('tor')).toMatchObject({ established: true });
    expect(peersOnNode(snapshot, 'n1', now + 91_000).get('tor')).toMatchObject({ expected: true, established: false });
  });

  test('two nodes with one router ID are both named, and their sessions count', () => {
    const running = { n1: up, n2: up };
    const status = (literal: ClusterLiteral): { readonly sharedID: PeerSummary['sharedID']; readonly status: ObjectStatus } => {
      const snapshot = cluster(literal);
      const sessions = new PeerSessionCounts();
      sessions.updateAllNodes(snapshot, now);
      const found = snapshot.peers.get('tor');
      if (found === undefined) throw new RangeError('no peer');
      const summary = sessions.of('tor');
      return { sharedID: summary.sharedID, status: peerStatus(found, summary) };
    };
    const shared = status({ nodes: twoNodes, peers: [{ ...tor, routerID: '10.0.0.1' }], running });
    expect(shared.sharedID).toEqual({ routerID: '10.0.0.1', nodes: ['n1', 'n2'] });
    expect(codes(shared.status)).toBe('DuplicateRouterID, ready');
    expect(codes(status({ nodes: twoNodes, peers: [tor], running }).status)).toBe('accepted, ready');
    expect(codes(status({ nodes: twoNodes.slice(0, 1), peers: [{ ...tor, routerID: '10.0.0.1' }], running }).status)).toBe(
      'accepted, ready',
    );
  });

  test('a shared router ID is no longer reported after it was changed', () => {
    const sessions = new PeerSessionCounts();
    const literal = (routerID?: string) => cluster({ nodes: twoNodes, peers: [{ ...tor, ...defined({ routerID }) }] });
    sessions.updateAllNodes(literal('10.0.0.1'), now);
    expect(sessions.of('tor').sharedID).toBeDefined();
    expect([...sessions.updateAllNodes(literal(), now)]).toEqual(['tor']);
    expect(sessions.of('tor').sharedID).toBeUndefined();
  });

  test('the cause that the first node reports is the reason, and the sentence names it', () => {
    const literal: ClusterLiteral = { nodes: twoNodes, peers: [tor], running: { n1: up, n2: up } };
    const snapshot = cluster(literal);
    const details = { peer: 'tor', router: '10.0.0.254', local: '', since: '', latest: '', port: 179, localASN: 64512, atOnce: false };
    const cause = reason('PeerRefusesConnection', details);
    const nodeStates = new Map(
      [...snapshot.nodeStates].map(([name, state]) => {
        return [name, { ...state, sessions: state.sessions.map((one) => ({ ...one, state: 'Idle' as const, cause })) }];
      }),
    );
    const sessions = new PeerSessionCounts();
    sessions.updateAllNodes({ ...snapshot, nodeStates }, now);
    const found = snapshot.peers.get('tor');
    if (found === undefined) throw new RangeError('no peer');
    const status = peerStatus(found, sessions.of('tor'));
    expect(codes(status)).toBe('accepted, PeerRefusesConnection');
    expect(status.unready && conditionText(status.unready)).toMatch(/the router 10.0.0.254 refuses connections for BGPPeer "tor"/);
    sessions.updateAllNodes(snapshot, now);
    expect(codes(peerStatus(found, sessions.of('tor')))).toBe('accepted, ready');
  });

  test('a BGPPeer is not ready, with the code BFDDown, while a session is up without BFD and none is down', () => {
    const details = {
      peer: 'tor',
      router: '10.0.0.254',
      local: '',
      since: '',
      latest: '',
      why: 'no answer',
      profile: 'fast',
      tcpWorks: true,
    };
    const warning = reason('BFDDown', details);
    const statusWith = (running: ClusterLiteral['running']): ObjectStatus => {
      const snapshot = cluster({ nodes: twoNodes, peers: [tor], ...defined({ running }) });
      const nodeStates = new Map(
        [...snapshot.nodeStates].map(([name, state]) => [name, { ...state, sessions: state.sessions.map((one) => ({ ...one, warning })) }]),
      );
      const sessions = new PeerSessionCounts();
      sessions.updateAllNodes({ ...snapshot, nodeStates }, now);
      const found = snapshot.peers.get('tor');
      if (found === undefined) throw new RangeError('no peer');
      return peerStatus(found, sessions.of('tor'));
    };
    const status = statusWith({ n1: up, n2: up });
    expect(codes(status)).toBe('accepted, BFDDown');
    expect(status.unready && conditionText(status.unready)).toMatch(/^BFD with "tor" .* although the TCP connection works/);
    expect(codes(statusWith({ n1: up }))).toBe('accepted, SessionsMissing');
  });

  test('a peer that selects no node or is shut down is not ready', () => {
    expect(codes(statusOf({ nodes, peers: [{ ...tor, nodeSelectors: [matching({ rack: 'z' })] }] }))).toBe('accepted, PeerSelectsNoNode');
    const down = statusOf({ nodes, peers: [{ ...tor, adminDown: true }], running: { n1: up } });
    expect(codes(down)).toBe('accepted, PeerAdminDown');
    expect(down.fields).toMatchObject({ sessions: '0/0' });
  });

  test('only the later of two peers for one router is refused', () => {
    const first = { name: 'another', peerAddress: '10.0.0.254' };
    expect(codes(statusOf({ nodes, peers: [tor, first] }))).toBe('DuplicatePeer, DuplicatePeer');
    expect(codes(statusOf({ nodes, peers: [tor, { ...first, name: 'zebra' }], running: { n1: up, n2: up, n3: up } }))).toBe(
      'accepted, ready',
    );
  });

  test('a missing BFDProfile is reported, and running sessions count', () => {
    const running = { n1: up, n2: up, n3: up };
    expect(codes(statusOf({ nodes, peers: [{ ...tor, bfdProfile: 'fast' }], running }))).toBe('BFDProfileMissing, ready');
    expect(codes(statusOf({ nodes, peers: [{ ...tor, bfdProfile: 'fast' }] }))).toBe('BFDProfileMissing, SessionsMissing');
    const strict = { ...tor, bfdProfile: 'fast', bfdStrict: true };
    expect(codes(statusOf({ nodes, peers: [strict], running }))).toBe('StrictBFDProfileMissing, ready');
    expect(codes(statusOf({ nodes, peers: [strict] }))).toBe('StrictBFDProfileMissing, SessionsMissing');
    expect(codes(statusOf({ nodes, peers: [{ ...strict, adminDown: true }] }))).toBe('accepted, PeerAdminDown');
  });

  test('a peer whose Secret is gone stays ready while its sessions run', () => {
    const passwordSecret = { namespace: 'herald-system', name: 'tor' };
    const running = { n1: up, n2: up, n3: up };
    const status = statusOf({ nodes, peers: [{ ...tor, passwordSecret }], running });
    expect(codes(status)).toBe('PeerPasswordGone, ready');
    // The peer may just have been changed to name a Secret that never existed. No report shows yet that its session ends, so the sentence
    // covers both cases.
    expect(status.refused === undefined ? '' : reasonText(status.refused)).toContain(
      'a session that already uses its password keeps running, others end',
    );
  });

  test('a peer whose Secret is missing is refused', () => {
    const passwordSecret = { namespace: 'herald-system', name: 'tor' };
    expect(codes(statusOf({ nodes, peers: [{ ...tor, passwordSecret }] }))).toBe('PeerPasswordMissing, PeerPasswordMissing');
    const secrets = [{ name: 'herald-system/tor', password: 'swordfish' }];
    expect(codes(statusOf({ nodes, peers: [{ ...tor, passwordSecret }], secrets, running: { n1: up, n2: up, n3: up } }))).toBe(
      'accepted, ready',
    );
  });
});

describe('the status of an advertisement', () => {
  const whole: ClusterLiteral = {
    pools: [{ name: 'p', addresses: ['192.0.2.0/24'], labels: { tier: 'web' } }],
    peers: [{ name: 'tor', nodeSelectors: [matching({ rack: 'a' })] }],
    nodes: [
      { name: 'n1', labels: { rack: 'a' } },
      { name: 'n2', labels: { rack: 'b' } },
    ],
    communities: { internal: '64512:1' },
  };

  test.each([
    [{ ipAddressPools: ['public-3'] }, 'did you mean "public-1"? Else create IPAddressPool "public-3", or remove the name'],
    [{ peers: ['torr'] }, 'did you mean "tor"? Else create BGPPeer "torr", or remove the name'],
    [{ peers: ['spine'] }, 'create BGPPeer "spine", or remove the name'],
  ] as const)('an unknown name in %o has the fix %o', (change, fix) => {
    const named = cluster({ ...whole, pools: [{ name: 'public-1', addresses: ['192.0.2.0/28'] }] });
    const { refused } = advertisementStatus(advertisement({ name: 'all', ...change }), named);
    expect(refused && remedyText(refused)).toBe(fix);
  });

  test.each([
    ['names nothing', {}, 'accepted, ready'],
    ['names existing objects', { ipAddressPools: ['p'], peers: ['tor'], communities: ['internal', 'no-export'] }, 'accepted, ready'],
    ['names an undefined community', { communities: ['internal', 'nope'] }, 'UnknownCommunity, UnknownCommunity'],
    ['names an existing and a missing pool', { ipAddressPools: ['p', 'nope'] }, 'UnknownPool, ready'],
    ['names only a missing pool', { ipAddressPools: ['nope'] }, 'UnknownPool, AdvertisesNothing'],
    ['names only a missing peer', { peers: ['nope'] }, 'UnknownPeer, AdvertisesNothing'],
    ['selects no pool', { ipAddressPoolSelectors: [matching({ tier: 'db' })] }, 'accepted, AdvertisesNothing'],
    ['selects a pool by its label', { ipAddressPoolSelectors: [matching({ tier: 'web' })] }, 'accepted, ready'],
    ['selects no node', { nodeSelectors: [matching({ rack: 'z' })] }, 'accepted, AdvertisesNothing'],
    ['selects a node without peers', { nodeSelectors: [matching({ rack: 'b' })] }, 'accepted, AdvertisesNothing'],
    ['announces ClusterIPs, which need no pool', { addressTypes: ['ClusterIP'], ipAddressPools: [] }, 'accepted, ready'],
  ] as const)('an advertisement that %s', (_, change, expected) => {
    expect(codes(advertisementStatus(advertisement({ name: 'all', ...change }), cluster(whole)))).toBe(expected);
  });

  test.each([
    ['names the pool', { ipAddressPools: ['old'] }, 'UnknownPool, ready'],
    ['selects the pool by its label', { ipAddressPoolSelectors: [matching({ tier: 'old' })] }, 'accepted, ready'],
    ['is about every pool', {}, 'accepted, ready'],
    ['is about another pool', { ipAddressPools: ['other'] }, 'UnknownPool, AdvertisesNothing'],
  ])('an advertisement that %s is ready while a Service keeps an address of a pool that is gone', (_, change, expected) => {
    const recordedPools = [{ address: address('198.51.100.1'), pool: 'old', labels: { tier: 'old' } }];
    const services = ['shop/b', 'shop/a'].map((name) => ({ name, assigned: ['198.51.100.1'], recordedPools }));
    for (const made of [advertisement, l2Advertisement]) {
      const status = advertisementStatus(made({ name: 'all', ...change }), cluster({ ...whole, pools: [], services }));
      expect(codes(status)).toBe(expected);
      if (expected !== 'UnknownPool, ready' || status.refused === undefined) continue;
      expect(reasonText(status.refused)).toContain('and for the address that Service shop/a keeps of "old"');
      expect(remedyText(status.refused)).toBe(
        'create IPAddressPool "old", or remove the name when no Service keeps an address of the pool any more',
      );
    }
  });

  test('an advertisement without pools advertises nothing unless it names other address types', () => {
    const none = cluster({ ...whole, pools: [] });
    expect(codes(advertisementStatus(advertisement({ name: 'all' }), none))).toBe('accepted, AdvertisesNothing');
    expect(codes(advertisementStatus(advertisement({ name: 'all', addressTypes: ['ClusterIP'] }), none))).toBe('accepted, ready');
  });
});
