import { describe, expect, test } from 'vitest';
import { defaultLocalPref } from '../../../src/bgp/route.ts';
import { shortAge } from '../../../src/explain/text/age.ts';
import { overviewOf } from '../../../src/explain/overview/overview.ts';
import { problemsOf } from '../../../src/explain/overview/problems.ts';
import { explainService } from '../../../src/explain/service/service.ts';
import { poolReport } from '../../../src/explain/pools/pool-report.ts';
import { renderOverview } from '../../../src/explain/overview/render-overview.ts';
import { renderPools } from '../../../src/explain/pools/render-pools.ts';
import { renderRoutes } from '../../../src/explain/routes/render-routes.ts';
import { renderSessions } from '../../../src/explain/sessions/render-sessions.ts';
import { routeReport } from '../../../src/explain/routes/route-report.ts';
import { sessionCounts, sessionReport } from '../../../src/explain/sessions/session-report.ts';
import { tableLines } from '../../../src/explain/text/table-text.ts';
import type { NodeState, SessionStatus } from '../../../src/model/objects/node-state.ts';
import { reason } from '../../../src/model/reasons.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { cluster, metadata, type ClusterLiteral } from '../decisions/fixtures.ts';

const now = Date.UTC(2026, 0, 1, 12);

const literal: ClusterLiteral = {
  services: [
    { name: 'shop/a', clusterIPs: ['10.96.0.1', 'fd00:96::1'], assigned: ['192.0.2.1', '2001:db8::1'], sharingKey: 'k' },
    { name: 'shop/b', clusterIPs: ['10.96.0.2'], ports: ['443'], assigned: ['192.0.2.1'], sharingKey: 'k' },
    { name: 'shop/waits', clusterIPs: ['10.96.0.3'], requestedPool: 'full' },
    { name: 'shop/local', clusterIPs: ['10.96.0.4'], assigned: ['192.0.2.9'], externalTrafficPolicy: 'Local' },
  ],
  slices: [
    { service: 'shop/a', ports: ['8080'], endpoints: ['10.244.1.1@n1'] },
    { service: 'shop/a', name: 'a-6', ports: ['8080'], endpoints: ['fd00:244::1@n1'] },
    { service: 'shop/b', ports: ['8080'], endpoints: ['10.244.1.2@n1'] },
    { service: 'shop/local', ports: ['8080'], endpoints: ['10.244.1.9@n1 draining', '10.244.2.2@n2'] },
  ],
  pools: [
    { name: 'full', addresses: ['192.0.2.9/32'] },
    { name: 'main', addresses: ['192.0.2.1-192.0.2.2', '2001:db8::/64'] },
  ],
  peers: [
    { name: 'rr', peerAddress: '10.0.0.253', peerASN: 64_512 },
    { name: 'tor', peerAddress: '10.0.0.254', dualStackAddressFamily: true },
  ],
  advertisements: [{ name: 'all', communities: ['64512:100'], med: 5, asPathPrepend: 1 }],
  nodes: [
    { name: 'n1', internalIPs: ['10.0.0.1', 'fd00::1'] },
    { name: 'n2', internalIPs: ['10.0.0.2', 'fd00::2'] },
  ],
};

function session(peer: string, changes: Partial<SessionStatus> = {}): SessionStatus {
  const address = peer === 'rr' ? '10.0.0.253' : '10.0.0.254';
  const peerASN = peer === 'rr' ? 64_512 : 64_513;
  return { peer, address, state: 'Established', since: '2026-01-01T08:50:00Z', localASN: 64_512, peerASN, prefixesSent: 3, ...changes };
}

function state(name: string, changes: Partial<NodeState> = {}): NodeState {
  const both = [
    { family: 'IPv4', sent: 2, received: 7 },
    { family: 'IPv6', sent: 1, received: 0 },
  ] as const;
  const sessions = [session('rr'), session('tor', { families: both, bfd: { state: 'Up', since: '' } })];
  return {
    kind: 'NodeState',
    metadata: metadata(name),
    updated: '2026-01-01T11:59:55Z',
    consumed: {},
    sessions,
    differing: [],
    ...changes,
  };
}

function snapshot(...states: readonly NodeState[]): Snapshot {
  return { ...cluster(literal), nodeStates: new Map(states.map((one) => [one.metadata.name, one])) };
}

/** The result is plain data: a bigint would throw here. */
function plain<T extends object>(table: T): T {
  expect(JSON.parse(JSON.stringify(table))).toEqual(table);
  return table;
}

const told = (lines: readonly string[]): string => `\n${lines.join('\n')}\n`;

describe('tableLines', () => {
  test('columns fit their widest cell, empty ones are "-", repeated ones blank, no line ends with blanks', () => {
    expect(
      tableLines(
        ['A', 'Long', 'C'],
        [
          ['x', '', 'last'],
          [undefined, 'longer'],
        ],
      ),
    ).toEqual(['A  Long    C', 'x  -       last', '   longer']);
  });

  test.each([
    [0, '0s'],
    [59, '59s'],
    [60, '1m'],
    [750, '12m30s'],
    [11_400, '3h10m'],
    [86_400 * 9 + 3600 * 4 + 59, '9d4h'],
  ])('shortAge formats %i seconds as one word', (seconds, text) => {
    expect(shortAge(seconds)).toBe(text);
  });
});

describe('table of peers', () => {
  const down = session('tor', { state: 'Active', prefixesSent: 0, lastError: 'the peer refused the connection' });
  const twoNodes = snapshot(state('n1'), state('n2', { sessions: [session('rr'), down] }));

  test('each family of each session has a row; a session that is down has no uptime', () => {
    expect(told(renderSessions(plain(sessionReport(twoNodes, now)), false))).toMatchInlineSnapshot(`
      "
      Node  Peer  Local AS  Peer AS  Peer Address  Session      Uptime  Family  Received  Advertised
      n1    rr    64512     64512    10.0.0.253    Established  3h10m   IPv4    -         3
      n1    tor   64512     64513    10.0.0.254    Established  3h10m   IPv4    7         2
                                                                        IPv6    0         1
      n2    rr    64512     64512    10.0.0.253    Established  3h10m   IPv4    -         3
      n2    tor   64512     64513    10.0.0.254    Active       -       IPv4    -         -
                                                                        IPv6    -         -
      "
    `);
    expect(sessionCounts(sessionReport(twoNodes, now))).toEqual({ established: 3, expected: 4 });
  });

  test('wide output adds BFD, report age and reason; --node and --peer restrict it', () => {
    expect(told(renderSessions(plain(sessionReport(twoNodes, now, { node: 'n2', peer: 'tor' })), true))).toMatchInlineSnapshot(`
      "
      Node  Peer  Local AS  Peer AS  Peer Address  Session  Uptime  Family  Received  Advertised  BFD  Reported  Why Not
      n2    tor   64512     64513    10.0.0.254    Active   -       IPv4    -         -           -    5s ago    the session with "tor" is Active: the peer refused the connection
                                                                    IPv6    -         -
      "
    `);
  });

  test('an old report, and the report of a stopped agent, are not believed', () => {
    const stale = sessionReport(snapshot(state('n1', { updated: '2026-01-01T11:50:00Z' })), now, { node: 'n1' });
    expect(stale.sessions.map((row) => [row.state, row.reason?.code, row.reportedSecondsAgo])).toEqual([
      [undefined, 'AgentSilent', 600],
      [undefined, 'AgentSilent', 600],
    ]);
    expect(renderSessions(stale, false)[1]).toContain('not reported  -');
    const stopped = sessionReport(snapshot(state('n1', { problem: reason('AgentStopped', { node: 'n1' }) })), now, { node: 'n1' });
    expect(sessionCounts(stopped)).toEqual({ established: 0, expected: 2 });
  });

  test('a session that its BGPPeer shuts down is not expected', () => {
    const peers = (literal.peers ?? []).map((peer) => (peer.name === 'tor' ? { ...peer, adminDown: true } : peer));
    const idle = state('n1', { sessions: [session('rr'), session('tor', { state: 'Idle' })] });
    const table = sessionReport({ ...cluster({ ...literal, peers }), nodeStates: new Map([['n1', idle]]) }, now, { node: 'n1' });
    expect(sessionCounts(table)).toEqual({ established: 1, expected: 1 });
    expect(table.sessions[1]?.reason?.code).toBe('PeerAdminDown');
  });

  test('a table without sessions says so', () => {
    expect(renderSessions(sessionReport(cluster({}), now), true)).toEqual(['There are no sessions.']);
  });
});

describe('table of routes', () => {
  const all = snapshot(state('n1'), state('n2'));

  test('routes are shown as sent: merged for Services that share one, with next hop and last resort', () => {
    expect(told(renderRoutes(plain(routeReport(all, now, { node: 'n1' })), true))).toMatchInlineSnapshot(`
      "
      Node  Peer  Prefix           Next Hop  State  Local Pref  MED  Bandwidth  AS Path                              Communities        Service        Told By  Why Not
      n1    rr    192.0.2.1/32     self      sent   100         5    -          -                                    64512:100          shop/a,shop/b  report   -
      n1    rr    192.0.2.9/32     self      sent   0           5    -          -                                    64512:100,65535:0  shop/local     report   -
      n1    tor   192.0.2.1/32     self      sent   -           5    -          64512 64512                          64512:100          shop/a,shop/b  report   -
      n1    tor   192.0.2.9/32     self      sent   -           5    -          64512 64512 64512 64512 64512 64512  64512:100,65535:0  shop/local     report   -
      n1    tor   2001:db8::1/128  fd00::1   sent   -           5    -          64512 64512                          64512:100          shop/a         report   -
      "
    `);
  });

  test("a route without LOCAL_PREF gets the speaker's default", () => {
    const [first] = routeReport(all, now, { node: 'n1', peer: 'rr' }).routes;
    expect(first?.localPref).toBe(defaultLocalPref);
  });

  test('a peer and a Service restrict the table', () => {
    expect(told(renderRoutes(plain(routeReport(all, now, { peer: 'tor', service: 'shop/b' })), false))).toMatchInlineSnapshot(`
      "
      Node  Peer  Prefix        Next Hop  State  Communities  Service
      n1    tor   192.0.2.1/32  self      sent   64512:100    shop/a,shop/b
      n2    tor   192.0.2.1/32  self      sent   64512:100    shop/a,shop/b
      "
    `);
  });

  test('a route that is held back for one Service is announced for another, as that one needs it', () => {
    const held = (service: 'shop/a' | 'shop/b', frontend: string): NodeState['differing'][number] => ({
      service,
      aspect: 'Announced',
      reason: reason('AwaitsForwarding', { frontend }),
    });
    const of = (...differing: NodeState['differing']): unknown =>
      routeReport(snapshot(state('n1', { differing })), now, { node: 'n1', peer: 'tor' })
        .routes.filter(({ prefix }) => prefix === '192.0.2.1/32')
        .map(({ services, reason: why }) => [services, why?.code]);
    const a = held('shop/a', '192.0.2.1 TCP 80');
    const b = held('shop/b', '192.0.2.1 TCP 443');
    expect(of()).toEqual([[['shop/a', 'shop/b'], undefined]]);
    expect(of(a)).toEqual([[['shop/a', 'shop/b'], undefined]]);
    expect(of(a, b)).toEqual([[['shop/a', 'shop/b'], 'AwaitsForwarding']]);
  });

  test('a peer without a session has no routes, and those of a silent node are unknown', () => {
    const down = state('n1', { sessions: [session('tor', { state: 'Connect' })] });
    const { routes } = routeReport(snapshot(down), now, { peer: 'tor' });
    expect(new Set(routes.map(({ node, reason: why }) => `${node} ${why?.code}`))).toEqual(new Set(['n1 SessionDown', 'n2 AgentSilent']));
    expect(renderRoutes(routeReport(cluster({}), now), false)).toEqual(['There are no routes.']);
  });
});

describe('table of pools', () => {
  test('each family has a row with its advertisements and the waiting Services by reason', () => {
    expect(told(renderPools(plain(poolReport(snapshot())), true))).toMatchInlineSnapshot(`
      "
      Pool  Family  Addresses  Given  Free        Announced By  Pending     Ranges                             Gives No More
      full  IPv4    1          1      0           all           PoolFull 1  192.0.2.9/32                       pool full is full (1 of 1 IPv4 addresses)
      main  IPv4    2          1      1           all           -           192.0.2.1-192.0.2.2,2001:db8::/64  -
            IPv6    2^64       1      about 2^64

      1 Service waits for an address.
      "
    `);
  });

  test('a Service that asks for another pool does not wait for this one', () => {
    const explained = explainService(snapshot(), 'shop/waits', now)?.allocation.pools;
    expect(explained?.find(({ pool }) => pool === 'main')?.reason?.code).toBe('PoolNotRequested');
    expect(poolReport(snapshot()).pools.map(({ pool, pending }) => [pool, pending])).toEqual([
      ['full', [{ code: 'PoolFull', count: 1 }]],
      ['main', []],
    ]);
  });

  test('one pool that is not announced, and no pools at all', () => {
    const { advertisements: _, ...unannounced } = literal;
    const table = poolReport(cluster(unannounced), { pool: 'main' });
    expect(table.pools.map(({ pool, unannounced: why }) => [pool, why?.code])).toEqual([['main', 'NoAdvertisement']]);
    expect(renderPools(table, false)[1]).toMatch(/\bnone\b/);
    expect(renderPools(poolReport(cluster({})), false)).toEqual(['There are no IPAddressPools.']);
  });
});

describe('renderOverview', () => {
  const condition = (type: string, status: 'True' | 'False', why: string) => ({
    type: `herald.dev/${type}`,
    status,
    reason: why,
    message: '',
  });
  const conditions = new Map([
    ['shop/a' as const, [condition('AddressAssigned', 'True', 'Assigned'), condition('Announced', 'True', 'Announced')]],
    ['shop/waits' as const, [condition('AddressAssigned', 'False', 'PoolFull')]],
  ]);
  const lease = { lease: 'herald-system/herald-controller', holder: 'c1', renewedSecondsAgo: 3, durationSeconds: 15 };

  test('an overview is one screen', () => {
    const down = session('tor', { state: 'Active', lastError: 'the peer refused the connection' });
    const drain = { phase: 'Draining', since: '', kept: 0 } as const;
    const states = [state('n1', { drain, sessions: [session('rr'), down] }), state('n2', { updated: '2026-01-01T11:50:00Z' })];
    const overview = plain(overviewOf({ snapshot: snapshot(...states), conditions, objects: [], controller: lease, now }));
    expect(told(renderOverview(overview, false))).toMatchInlineSnapshot(`
      "
      Controller  c1 leads, renewed 3s ago
      Nodes       1 of 2 report, 1 drained or being drained
                  n2: no agent reports for node "n2" (last report 10m ago)
                  n1: drain Draining
      Sessions    1 of 4 established
                  n1 tor: the session with "tor" is Active: the peer refused the connection
      Objects     1 not as they should be
                  IPAddressPool/full: PoolFull: pool full is full (1 of 1 IPv4 addresses)
      Services    4 of type LoadBalancer, 2 of them Herald's

      Condition        Status  Reason     Services  Which
      AddressAssigned  False   PoolFull   1         shop/waits
      AddressAssigned  True    Assigned   1         -
      Announced        True    Announced  1         -

      Pool  Family  Addresses  Given  Free        Announced By  Pending
      full  IPv4    1          1      0           all           PoolFull 1
      main  IPv4    2          1      1           all           -
            IPv6    2^64       1      about 2^64
      "
    `);
  });

  test('Services without a class that no controller serves are listed with both fixes', () => {
    const services = [{ name: 'shop/b' }, { name: 'shop/a' }, { name: 'shop/theirs', loadBalancerClass: 'example.com/lb' }];
    const overview = plain(
      overviewOf({ snapshot: cluster({ services, config: { defaultClass: false } }), conditions: new Map(), objects: [], now }),
    );
    const lines = renderOverview(overview, false);
    const first = lines.findIndex((line) => line.startsWith('Services'));
    expect(lines.slice(first + 1, first + 4)).toEqual([
      '            2 served by no controller: shop/a, shop/b',
      expect.stringMatching(
        /^ {12}ClassNotSet: spec\.loadBalancerClass is not set, and HeraldConfig\/default does not set defaultClass: true/,
      ),
      expect.stringMatching(
        /^ {12}fix: set spec\.loadBalancerClass: herald\.dev\/herald .*, or set defaultClass: true in HeraldConfig\/default/,
      ),
    ]);
  });

  test('an agent without a Node, a denied external IP and a clock that differs have lines', () => {
    const snapshot = cluster({
      nodes: [{ name: 'n1' }],
      services: [{ name: 'shop/ext', type: 'ClusterIP', externalIPs: ['198.51.100.7'] }],
    });
    const withStray = { ...snapshot, nodeStates: new Map([['typo', state('typo')]]) };
    const overview = plain(overviewOf({ snapshot: withStray, conditions: new Map(), objects: [], clockSkewSeconds: -41.6, now }));
    const lines = renderOverview(overview, false);
    expect(lines[0]).toMatch(/^Clock {7}the clock of this host is 42 s behind the API server's/);
    expect(lines).toContain('            typo: there is no Node object "typo"');
    expect(lines).toContain('            shop/ext: no ExternalIPPolicy allows namespace "shop" the external IP 198.51.100.7');
    const problems = problemsOf({ unusable: [], services: new Map(), overview, sessions: [] });
    expect(problems.map(({ object, code }) => `${object} ${code}`)).toEqual([
      'Node/typo NodeUnknown',
      'Node/n1 AgentSilent',
      'this host ClockSkew',
      'Service/shop/ext ExternalIPNotAllowed',
    ]);
    // The verdict on the Service may say so already.
    const verdict = { code: 'ExternalIPNotAllowed', line: 'Not served' } as const;
    const once = problemsOf({ unusable: [], services: new Map([['shop/ext', verdict]]), overview, sessions: [] });
    expect(once.filter(({ object }) => object === 'Service/shop/ext')).toEqual([{ object: 'Service/shop/ext', ...verdict }]);
  });

  test('Services that no controller serves are one problem', () => {
    const snapshot = cluster({ services: [{ name: 'shop/b' }, { name: 'shop/a' }], config: { defaultClass: false } });
    const overview = overviewOf({ snapshot, conditions: new Map(), objects: [], now });
    expect(problemsOf({ unusable: [], services: new Map(), overview, sessions: [] })).toMatchObject([
      { object: 'Service/shop/a', others: ['Service/shop/b'], code: 'ClassNotSet', line: expect.stringContaining('defaultClass: true') },
    ]);
  });

  test('a Lease that is free or expired is reported', () => {
    const first = (changes: object): string | undefined =>
      renderOverview(overviewOf({ snapshot: snapshot(), conditions, objects: [], controller: { ...lease, ...changes }, now }), false)[0];
    expect(first({ holder: '' })).toBe('Controller  none leads: the Lease herald-system/herald-controller is free');
    expect(first({ renewedSecondsAgo: 60 })).toBe(
      'Controller  c1 leads, renewed 1m ago (it has expired: no controller runs, or clocks differ)',
    );
  });

  test.each([
    ['is free', { holder: '' }, ['the Lease herald-system/herald-controller is free']],
    ['has expired', { renewedSecondsAgo: 60 }, ['the Lease herald-system/herald-controller has expired: c1 renewed it 1m ago']],
    ['was renewed in time', {}, []],
  ])('a Lease that %s is a problem with a fix, unless a controller leads', (_, changes, words) => {
    const overview = overviewOf({ snapshot: cluster({}), conditions: new Map(), objects: [], controller: { ...lease, ...changes }, now });
    const problems = problemsOf({ unusable: [], services: new Map(), overview, sessions: [] });
    expect(problems).toEqual(
      words.map((line) => ({
        object: 'Lease/herald-system/herald-controller',
        code: 'NoControllerLeads',
        line: expect.stringMatching(new RegExp(`${line}.*Look at the controllers: kubectl -n herald-system get pods`)),
      })),
    );
  });

  test('a few of many names are listed, and all of them with wide', () => {
    const nodes = Array.from({ length: 8 }, (_, index) => ({ name: `n${index}` }));
    const overview = overviewOf({ snapshot: cluster({ nodes }), conditions: new Map(), objects: [], now });
    expect(renderOverview(overview, false).slice(0, 8)).toEqual([
      'Nodes       0 of 8 report',
      ...[0, 1, 2, 3, 4].map((index) => `            n${index}: no agent reports for node "n${index}"`),
      '            and 3 more',
      'Sessions    0 of 0 established',
    ]);
    expect(renderOverview(overview, true)[8]).toContain('n7: no agent');
  });
});
