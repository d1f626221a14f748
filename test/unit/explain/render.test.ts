import { describe, expect, test } from 'vitest';
import type { Plan } from '../../../src/explain/plan/plan.ts';
import { renderPlan } from '../../../src/explain/plan/render-plan.ts';
import { renderService } from '../../../src/explain/service/render-service.ts';
import type { AddressExplanation, NodeExplanation } from '../../../src/explain/service/service-node.ts';
import type { ServiceExplanation } from '../../../src/explain/service/service.ts';
import { reason } from '../../../src/model/reasons.ts';

const address: AddressExplanation = {
  address: '192.0.2.1',
  type: 'LoadBalancer',
  peers: [{ peer: 'tor', prefixes: ['192.0.2.1/32'] }],
  refused: [],
};
const node: NodeExplanation = { node: 'n1', host: [], frontends: 2, elsewhere: 0, forwarding: [], addresses: [address] };
const explanation: ServiceExplanation = {
  service: 'shop/web',
  verdict: { outcome: 'served', line: 'Served.' },
  type: 'LoadBalancer',
  allocation: { addresses: [{ address: '192.0.2.1', pool: 'main' }], pools: [] },
  endpoints: { ready: 2, terminating: 0, unusable: 0 },
  seen: { answered: [] },
  nodes: [node],
};

const rendered = (changes: Partial<ServiceExplanation>): string => renderService({ ...explanation, ...changes }).join('\n');
const renderedNode = (changes: Partial<NodeExplanation>): string => rendered({ nodes: [{ ...node, ...changes }] });
const renderedAddress = (changes: Partial<AddressExplanation>): string => renderedNode({ addresses: [{ ...address, ...changes }] });

describe('renderService', () => {
  test('a health check shows the answers to load balancers', () => {
    const localEndpoints = [
      { family: 'IPv4', count: 2 },
      { family: 'IPv6', count: 0 },
    ];
    expect(renderedNode({ healthCheck: { port: 32_000, localEndpoints } })).toContain(
      '\n  answers load balancers at port 32000: 200 over IPv4 (2 ready here), 503 over IPv6 (0 ready here)\n',
    );
  });

  test('a problem of the host is shown at its node, with the fix', () => {
    const host = [reason('HealthzNotServed', { address: '0.0.0.0:10256', why: 'the port is in use' })];
    expect(renderedNode({ host })).toMatch(
      /Node n1\n {2}host: \/healthz is not served at 0\.0\.0\.0:10256: the port is in use\n {6}fix: stop kube-proxy/,
    );
  });

  test('a drained node shows why it still announces', () => {
    expect(renderedAddress({ drain: reason('LastNextHop', { node: 'n1' }) })).toMatch(
      /192\.0\.2\.1 is announced to tor\n {4}drain: node "n1" is drained, but no other node announces the address.*\n.*fix: let another node announce it/,
    );
  });

  test('a healthy Service takes six lines', () => {
    expect(rendered({})).toBe(
      [
        'Served.',
        '',
        'Service shop/web (LoadBalancer)',
        '',
        'Address    192.0.2.1 (pool main)',
        'Endpoints  2 ready, 0 not usable',
        '',
        'Node n1',
        '  forwards 2 frontends',
        '  192.0.2.1 is announced to tor',
        '',
        'Routers    what was sent to tor may be unused there: run there show bgp ipv4 unicast 192.0.2.1 (BIRD: show route for 192.0.2.1)',
      ].join('\n'),
    );
  });

  test("every pool's refusal has its fix in the line below", () => {
    const text = rendered({
      allocation: {
        addresses: [],
        reason: reason('NoPoolFits', { pool: 'a', because: 'pool a is full', remedy: 'add addresses' }),
        pools: [
          { pool: 'a', reason: reason('PoolFull', { pool: 'a', family: 'IPv6', total: '16' }) },
          { pool: 'b', reason: reason('PoolNotAutoAssigned', { pool: 'b' }) },
        ],
      },
    });
    expect(text).toContain('Address    none\n           pool a is full, and no other pool fits\n');
    expect(text).toContain('pool a: pool a is full (16 of 16 IPv6 addresses)\n               fix: add addresses');
    expect(text).toContain(
      'pool b: pool "b" has autoAssign: false\n               fix: annotate the Service with herald.dev/address-pool: b',
    );
  });

  test('the reason of a single pool is printed once if it is the whole reason', () => {
    const full = reason('PoolFull', { pool: 'a', family: 'IPv4', total: '1' });
    const text = rendered({ allocation: { addresses: [], reason: full, pools: [{ pool: 'a', reason: full }] } });
    expect(text.match(/is full/g)).toHaveLength(1);
  });

  test('a free address that was not assigned yet points at the controller', () => {
    expect(rendered({ allocation: { addresses: [], pools: [] } })).toContain('the controller has not assigned one; is it running?');
  });

  test('a session that is down shows its last error', () => {
    const down = reason('SessionDown', { peer: 'tor', state: 'Active', lastError: 'connection refused' });
    expect(renderedAddress({ peers: [{ peer: 'tor', prefixes: ['192.0.2.1/32'], reason: down }] })).toContain(
      '192.0.2.1 is not announced to tor: the session with "tor" is Active: connection refused\n      fix: check on both sides',
    );
  });

  test('a silent agent is reported once, and the node shows what it would announce', () => {
    const silent = reason('AgentSilent', { node: 'n1' });
    const peers = ['tor', 'tor2'].map((peer) => ({ peer, prefixes: ['192.0.2.1/32'], reason: silent }));
    const text = renderedNode({
      problem: reason('AgentSilent', { node: 'n1' }),
      addresses: [
        { ...address, peers },
        { ...address, address: '2001:db8::1', peers },
      ],
    });
    expect(text.match(/no agent reports/g)).toHaveLength(1);
    expect(text).toContain('fix: start the agent: the pod of DaemonSet herald-agent on n1; outside a cluster, herald agent --node n1');
    expect(text).toContain('192.0.2.1 would be announced to tor, tor2');
    expect(text).not.toContain('is announced');
  });

  test('a quarantined frontend is shown with its reason', () => {
    const refused = reason('FrontendQuarantined', { frontend: '192.0.2.1 TCP 80', error: 'No space left on device' });
    expect(renderedNode({ forwarding: [refused] })).toContain('the kernel refused the rules for 192.0.2.1 TCP 80: No space left on device');
  });

  test('an aggregate route is named, a host route is not', () => {
    expect(renderedAddress({ peers: [{ peer: 'tor', prefixes: ['192.0.2.0/24'] }] })).toContain('is announced to tor as 192.0.2.0/24');
  });

  test('a ClusterIP without an advertisement is not a problem', () => {
    const text = renderedAddress({
      type: 'ClusterIP',
      address: '10.96.0.1',
      peers: [],
      reason: reason('NoAdvertisement', { type: 'ClusterIP' }),
    });
    expect(text).toContain('10.96.0.1 (ClusterIP) stays inside the cluster');
    expect(text).not.toContain('fix:');
  });

  test('a session of the other family is hidden, unless it is the only one', () => {
    const notCarried = { peer: 'tor6', family: 'IPv4', others: 'none' as const, names: '', advertisements: '' };
    const other = { peer: 'tor6', prefixes: [], reason: reason('PeerFamilyNotCarried', notCarried) };
    expect(renderedAddress({ peers: [...address.peers, other] })).not.toContain('tor6');
    expect(renderedAddress({ peers: [other] })).toContain('the session with "tor6" does not carry IPv4');
  });

  test('an advertisement with an error is shown beside the announced routes', () => {
    const unknown = reason('UnknownCommunity', { community: 'gold', advertisement: 'b' });
    const text = renderedAddress({ refused: [{ advertisement: 'b', reason: unknown }] });
    expect(text).toContain('is announced to tor');
    expect(text).toContain('names community "gold"');
  });

  test('a missing Node object is reported', () => {
    expect(rendered({ nodes: [], noNodes: reason('NoNodes', undefined) })).toContain('there is no Node object');
  });
});

describe('renderPlan', () => {
  const nothing: Plan = {
    pools: [],
    owners: [],
    addresses: [],
    sessions: [],
    rules: [],
    routes: [],
    drains: [],
    unannounced: [],
    unanswered: [],
    diverted: [],
  };

  test('a plan has signs, reasons and a summary', () => {
    const lines = renderPlan({
      ...nothing,
      addresses: [
        { service: 'shop/a', before: [], after: ['192.0.2.1', '2001:db8::1'] },
        { service: 'shop/b', before: ['192.0.2.2'], after: ['192.0.2.2'], reason: reason('PoolNotFound', { pool: 'x' }) },
      ],
      sessions: [
        { node: 'n1', peer: 'tor', change: 'reset', fields: ['holdTime'] },
        { node: 'n2', peer: 'tor', change: 'live', fields: ['connectRetryTime'] },
      ],
      routes: [{ node: 'n1', change: 'add', what: '192.0.2.1/32 to tor' }],
      rules: [{ node: 'n1', change: 'remove', what: '192.0.2.9 UDP 53' }],
    });
    expect(lines).toContain('  shop/a: none -> 192.0.2.1, 2001:db8::1');
    expect(lines.find((line) => line.startsWith('  shop/b: keeps 192.0.2.2  ('))).toContain('pool "x"');
    expect(lines).toContain('  ! tor: reset (holdTime)  on n1');
    expect(lines).toContain('  ~ tor: changes without a reset (connectRetryTime)  on n2');
    expect(lines).toContain('  + 192.0.2.1/32 to tor  on n1');
    expect(lines).toContain('  - 192.0.2.9 UDP 53  on n1');
    expect(lines.slice(-2)).toEqual([
      '2 addresses, 2 sessions, 1 route and 1 rule would change.',
      'Of these, 1 session would reset, and 0 routes would be withdrawn.',
    ]);
  });

  test('a change of many nodes takes one line', () => {
    const routes = ['n1', 'n2', 'n3', 'n4'].map((node) => ({ node, change: 'remove' as const, what: '192.0.2.1/32 to tor' }));
    expect(renderPlan({ ...nothing, routes })).toContain('  - 192.0.2.1/32 to tor  on 4 nodes');
    expect(renderPlan({ ...nothing, routes: routes.slice(1) })).toContain('  - 192.0.2.1/32 to tor  on n2, n3, n4');
  });
});
