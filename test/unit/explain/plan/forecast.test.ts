import { describe, expect, test } from 'vitest';
import { sessionChange } from '../../../../src/agent/sessions/session-change.ts';
import { findFailures, type FailureKind } from '../../../../src/explain/plan/fail-on.ts';
import { planChanges, type Plan } from '../../../../src/explain/plan/plan.ts';
import { renderPlan } from '../../../../src/explain/plan/render-plan.ts';
import { cluster, type ClusterLiteral, type PeerLiteral, type ServiceLiteral } from '../../decisions/fixtures.ts';

const web: ServiceLiteral = { name: 'shop/web', clusterIPs: ['10.96.0.1'], assigned: ['192.0.2.1'] };
const local: ServiceLiteral = { name: 'shop/local', clusterIPs: ['10.96.0.2'], assigned: ['192.0.2.2'], externalTrafficPolicy: 'Local' };
const tor: PeerLiteral = { name: 'tor' };
const up = { tor: '10.0.0.254' };

const base: ClusterLiteral = {
  services: [web, local],
  slices: [
    { service: 'shop/web', endpoints: ['10.244.1.1@n1'] },
    { service: 'shop/local', endpoints: ['10.244.1.2@n1'] },
  ],
  pools: [{ name: 'main', addresses: ['192.0.2.0/28'] }],
  peers: [tor],
  advertisements: [{ name: 'all' }],
  nodes: [
    { name: 'n1', internalIPs: ['10.0.0.11'] },
    { name: 'n2', internalIPs: ['10.0.0.12'] },
  ],
};

const running: ClusterLiteral = { ...base, running: { n1: up, n2: up } };

function plan(current: ClusterLiteral, proposed: ClusterLiteral): Plan {
  return planChanges(cluster(current), cluster(proposed), { classify: sessionChange });
}

const routesOf = ({ routes }: Plan): string[] =>
  routes.map(({ node, change, what, afterSeconds }) => `${node} ${change} ${what}${afterSeconds === undefined ? '' : ` +${afterSeconds}`}`);
const failures = (of: Plan, ...kinds: FailureKind[]): string[] => findFailures(of, [], new Set(kinds)).map(({ what }) => what);

describe('a plan that drains a node', () => {
  const drained = (drain: 'keepLast' | 'force', current = running): ClusterLiteral => ({
    ...current,
    nodes: [{ name: 'n1', internalIPs: ['10.0.0.11'], drain }, ...(current.nodes ?? []).slice(1)],
  });

  test('forecasts the withdrawals with their time, and the routes that stay', () => {
    const forecast = plan(running, drained('keepLast'));
    expect(routesOf(forecast)).toEqual(['n1 remove 192.0.2.1/32 to tor +10', 'n1 change 192.0.2.2/32 to tor']);
    expect(forecast.drains).toEqual([{ node: 'n1', settleSeconds: 10, withdrawn: 1, kept: 1 }]);
    expect(forecast.rules).toEqual([]);
    const lines = renderPlan(forecast);
    expect(lines).toContain('  - 192.0.2.1/32 to tor, 10 s later  on n1');
    expect(lines).toContain('Of these, 0 sessions would reset, and 1 route would be withdrawn.');
    expect(lines.find((line) => line.startsWith('  ! n1: 1 routes'))).toContain('1 stay, because no other node');
    expect(failures(forecast, 'route-withdrawn')).toEqual(['n1 192.0.2.1/32 to tor']);
  });

  test('withdraws everything by force, at once without a settle time', () => {
    const now = { ...running, config: { nodeDrain: { settleSeconds: 0, deadlineSeconds: 60 } } };
    expect(routesOf(plan(now, drained('force', now)))).toEqual(['n1 remove 192.0.2.1/32 to tor', 'n1 remove 192.0.2.2/32 to tor']);
  });

  test('forecasts the drain by a taint that HeraldConfig names', () => {
    const nodes = [{ name: 'n1', internalIPs: ['10.0.0.11'], taints: ['leaving'] }, ...(running.nodes ?? []).slice(1)];
    const config = { nodeDrain: { taint: 'leaving', settleSeconds: 7, deadlineSeconds: 60 } };
    expect(routesOf(plan({ ...running, nodes }, { ...running, nodes, config }))).toContain('n1 remove 192.0.2.1/32 to tor +7');
  });

  test('keeps the routes if the other node is not heard, and counts on it in manifests without any report', () => {
    const silent = { ...base, running: { n1: up } };
    expect(plan(silent, drained('keepLast', silent)).drains).toMatchObject([{ withdrawn: 0, kept: 2 }]);
    expect(plan(base, drained('keepLast', base)).drains).toMatchObject([{ withdrawn: 1, kept: 1 }]);
  });

  test('forecasts the return of the routes at the end of the drain', () => {
    const since = '2026-01-01T00:00:00Z';
    const over = { ...drained('keepLast'), drains: { n1: { phase: 'Settled' as const, since, kept: 1 } } };
    expect(routesOf(plan(over, running))).toEqual(['n1 add 192.0.2.1/32 to tor', 'n1 change 192.0.2.2/32 to tor']);
  });
});

describe('a plan that drains a Service', () => {
  test('withdraws its routes at once and says who would announce it', () => {
    const forecast = plan(running, { ...running, services: [{ ...web, drain: true }, local] });
    expect(routesOf(forecast)).toEqual(['n1 remove 192.0.2.1/32 to tor', 'n2 remove 192.0.2.1/32 to tor']);
    expect(forecast.unannounced).toMatchObject([{ service: 'shop/web', address: '192.0.2.1', reason: { code: 'ServiceDrained' } }]);
  });

  test('forecasts that rules behind a withdrawn route go after drainSeconds, and others at once', () => {
    const { rules } = plan(running, { ...running, services: [local] });
    expect(rules.filter(({ node }) => node === 'n1')).toEqual([
      { node: 'n1', change: 'remove', what: '10.96.0.1 TCP 80' },
      { node: 'n1', change: 'remove', what: '192.0.2.1 TCP 80', afterSeconds: 5 },
    ]);
  });
});

describe('a plan that resets sessions', () => {
  const reset = (change: Partial<PeerLiteral>, current = running): Plan => plan(current, { ...current, peers: [{ ...tor, ...change }] });

  test.each<[string, Partial<PeerLiteral>, string]>([
    ['AS number', { peerASN: 64999 }, 'peerAsn'],
    ['own AS number', { localASN: 64600 }, 'localAsn'],
    ['password', { password: 'secret-word' }, 'password'],
    ['address', { peerAddress: '10.0.0.253' }, 'address'],
    ['port', { peerPort: 1790 }, 'port'],
  ])('says that its routes come back only with the router, for another %s', (_, change, field) => {
    const forecast = reset(change);
    expect(forecast.sessions).toMatchObject([
      { node: 'n1', change: 'reset', agreed: [field], lost: 2 },
      { node: 'n2', change: 'reset', agreed: [field], lost: 1 },
    ]);
    const lines = renderPlan(forecast);
    expect(lines).toContain('Of these, 2 sessions would reset, and 3 routes would be withdrawn.');
    expect(lines).toContain(`3 routes are withdrawn by resets; they come back only if the router has the same change (${field}).`);
    expect(failures(forecast, 'route-withdrawn')).toEqual(['n1 2 routes to tor', 'n2 1 routes to tor']);
  });

  test('says that the routes are sent again after a reset that needs no change of the router', () => {
    const forecast = reset({ holdTimeSeconds: 30, keepaliveTimeSeconds: 10 });
    expect(renderPlan(forecast)).toContain('3 routes are withdrawn by resets, and sent again when the session is up.');
    expect(forecast.sessions[0]).not.toHaveProperty('agreed');
  });

  test('counts no routes that graceful restart keeps, and none of a session that is down', () => {
    const kept = { ...running, peers: [{ ...tor, enableGracefulRestart: true }] };
    const hold = { enableGracefulRestart: true, holdTimeSeconds: 30, keepaliveTimeSeconds: 10 };
    expect(reset(hold, kept).sessions.map(({ lost }) => lost)).toEqual([undefined, undefined]);
    expect(reset({ enableGracefulRestart: true, peerASN: 64999 }, kept).sessions.map(({ lost }) => lost)).toEqual([2, 1]);
    expect(renderPlan(reset({ enableGracefulRestart: true, peerASN: 64999 }, kept))).toContain(
      'With graceful restart a router may keep them until its restart time is over.',
    );
    const down = cluster(running);
    const states = [...down.nodeStates].map(
      ([name, state]) => [name, { ...state, sessions: state.sessions.map((one) => ({ ...one, state: 'Active' as const })) }] as const,
    );
    const proposed = cluster({ ...running, peers: [{ ...tor, peerASN: 64999 }] });
    const forecast = planChanges({ ...down, nodeStates: new Map(states) }, proposed, { classify: sessionChange });
    expect(forecast.sessions.map(({ lost }) => lost)).toEqual([undefined, undefined]);
  });

  test('needs no change of the router if the new setting accepts its AS number', () => {
    const external = { ...base, peers: [{ name: 'tor', dynamicASN: 'external' as const }] };
    expect(plan(base, external).sessions[0]).not.toHaveProperty('agreed');
  });

  test('stops a session that is shut down, with its routes, and starts it again', () => {
    const shut = { ...running, peers: [{ ...tor, adminDown: true }] };
    expect(plan(running, shut)).toMatchObject({
      sessions: [{ change: 'stop', fields: ['adminDown'] }, { change: 'stop' }],
      unannounced: [{ address: '192.0.2.2' }, { address: '192.0.2.1' }],
    });
    expect(routesOf(plan(running, shut))).toHaveLength(3);
    expect(plan(shut, running).sessions.map(({ change }) => change)).toEqual(['start', 'start']);
    expect(renderPlan(plan(shut, running))).toContain(
      '3 of the added routes are for new sessions, which come up only if the router has them too.',
    );
    expect(plan(shut, running).routes.map(({ change }) => change)).toEqual(['add', 'add', 'add']);
  });
});

describe('a plan of an address that no node announces', () => {
  const more: ServiceLiteral = { name: 'shop/new', clusterIPs: ['10.96.0.3'] };
  const slices = [...(base.slices ?? []), { service: 'shop/new', endpoints: ['10.244.1.3@n1'] }];
  const elsewhere = [...(base.pools ?? []), { name: 'other', addresses: ['198.51.100.0/28'] }];
  const limited: ClusterLiteral = { ...running, pools: elsewhere, advertisements: [{ name: 'all', ipAddressPools: ['main'] }] };
  const added = (current: ClusterLiteral, service = more): ClusterLiteral => ({ ...current, slices, services: [web, local, service] });

  test('names the missing advertisement of a new address', () => {
    const forecast = plan(limited, added(limited, { ...more, requestedPool: 'other' }));
    expect(forecast.unannounced).toMatchObject([{ service: 'shop/new', address: '198.51.100.0', reason: { code: 'NoAdvertisement' } }]);
    expect(renderPlan(forecast)).toContain('1 address would be announced by no node.');
    expect(failures(forecast, 'unannounced-address')).toEqual(['shop/new 198.51.100.0']);
  });

  test('names the missing node, the missing peer and the missing endpoint', () => {
    const reasonOf = (current: ClusterLiteral, proposed: ClusterLiteral): unknown =>
      plan(current, proposed).unannounced.find(({ service }) => service === 'shop/new')?.reason.code;
    const unselected = {
      ...running,
      advertisements: [{ name: 'all', nodeSelectors: [{ matchLabels: { a: 'b' }, matchExpressions: [] }] }],
    };
    expect(reasonOf(unselected, added(unselected))).toBe('NodeNotSelected');
    expect(reasonOf({ ...running, nodes: [] }, added({ ...running, nodes: [] }))).toBe('NoNodes');
    expect(reasonOf({ ...running, peers: [] }, added({ ...running, peers: [] }))).toBe('NoPeers');
    expect(reasonOf(running, { ...added(running), slices: base.slices ?? [] })).toBe('NoEndpoints');
  });

  test('says nothing of an address that some node announces, or that was announced by none before', () => {
    expect(plan(running, added(running)).unannounced).toEqual([]);
    expect(plan({ ...running, advertisements: [] }, { ...running, advertisements: [], config: { drainSeconds: 7 } }).unannounced).toEqual(
      [],
    );
  });

  test('says that an announced address would be announced no more', () => {
    expect(plan(running, { ...running, advertisements: [] }).unannounced.map(({ address }) => address)).toEqual(['192.0.2.2', '192.0.2.1']);
  });

  test('says nothing of an address for which a node answers ARP', () => {
    const links = { n1: { eth0: ['192.0.2.0/24'] }, n2: { eth0: ['192.0.2.0/24'] } };
    const l2: ClusterLiteral = { ...base, peers: [], advertisements: [], l2Advertisements: [{ name: 'lan' }], running: {}, links };
    expect(plan(l2, added(l2)).unannounced).toEqual([]);
    expect(plan(l2, { ...l2, l2Advertisements: [] }).unannounced).toHaveLength(2);
  });
});

describe('a plan of a route that contains the address of another Node or router', () => {
  test('announces no address that a Node has, and says whose it is', () => {
    const third = { name: 'n3', internalIPs: ['192.0.2.1'] };
    const forecast = plan(running, { ...running, nodes: [...(running.nodes ?? []), third] });
    expect(forecast.diverted).toEqual([]);
    expect(forecast.unannounced).toMatchObject([
      { address: '192.0.2.1', reason: { code: 'AddressInUseBy', details: { kind: 'Node', object: 'n3' } } },
    ]);
  });

  test('names the Node that an aggregate cuts off, and the nodes that announce it', () => {
    const third = { name: 'n3', internalIPs: ['192.0.2.14'] };
    const aggregated = { ...running, advertisements: [{ name: 'all', aggregationLength: 28 }] };
    const forecast = plan(aggregated, { ...aggregated, nodes: [...(running.nodes ?? []), third] });
    expect(forecast.diverted).toEqual([{ prefix: '192.0.2.0/28', address: '192.0.2.14', kind: 'Node', name: 'n3', nodes: ['n1', 'n2'] }]);
    expect(renderPlan(forecast)).toContain(
      '  ! 192.0.2.0/28 contains 192.0.2.14, an InternalIP of node n3: routers that prefer this route send its packets to n1, n2, and cut n3 off',
    );
  });

  test('names the router that an aggregate contains, and says nothing again afterwards', () => {
    const near = { ...running, peers: [{ name: 'tor', peerAddress: '192.0.2.14' }] };
    const aggregated = { ...near, advertisements: [{ name: 'all', aggregationLength: 28 }] };
    const forecast = plan(near, aggregated);
    expect(forecast.diverted).toMatchObject([{ prefix: '192.0.2.0/28', kind: 'BGPPeer', name: 'tor', nodes: ['n1', 'n2'] }]);
    expect(plan(aggregated, { ...aggregated, config: { drainSeconds: 7 } }).diverted).toEqual([]);
  });
});

describe('a plan in which no address changes', () => {
  const summary = (of: Plan): string | undefined => renderPlan(of).find((line) => line.endsWith('would change.'));

  test('counts no Service that keeps its address for another reason', () => {
    const classless = { ...running, config: { defaultClass: true } };
    expect(summary(plan(classless, { ...classless, config: { defaultClass: false } }))).toMatch(/^0 addresses,/);
    expect(summary(plan(running, { ...running, pools: [{ name: 'main', addresses: ['198.51.100.0/28'] }] }))).toMatch(/^0 addresses,/);
  });

  test('takes another order of the same addresses for no change', () => {
    const dual = (assigned: string[]): ClusterLiteral => ({
      ...running,
      pools: [{ name: 'main', addresses: ['192.0.2.0/28', '2001:db8::/124'] }],
      services: [{ ...web, clusterIPs: ['10.96.0.1', 'fd00:96::1'], assigned }],
    });
    const recorded = dual(['2001:db8::1', '192.0.2.1']);
    expect(plan(recorded, recorded).addresses).toEqual([]);
    const twice = dual(['192.0.2.1', '192.0.2.1', '2001:db8::1']);
    expect(plan(twice, twice).addresses).toEqual([]);
  });

  test('takes requested addresses in another order for no change', () => {
    const asks = (requested: string[]): ClusterLiteral => ({
      ...running,
      pools: [{ name: 'main', addresses: ['192.0.2.0/28', '2001:db8::/124'] }],
      services: [{ ...web, clusterIPs: ['10.96.0.1', 'fd00:96::1'], assigned: ['192.0.2.1', '2001:db8::1'], requested }],
    });
    expect(plan(asks([]), asks(['2001:db8::1', '192.0.2.1'])).addresses).toEqual([]);
  });

  test('takes Services that share an address, or hold one outside of all pools, for unchanged by edits of other objects', () => {
    const shared = { sharingKey: 'one', assigned: ['203.0.113.1'] };
    const both = {
      ...running,
      services: [
        { ...web, ...shared },
        { ...local, ...shared, externalTrafficPolicy: 'Cluster' as const, ports: ['81'] },
      ],
    };
    for (const edited of [
      { ...both, config: { drainSeconds: 9 } },
      { ...both, advertisements: [] },
      { ...both, nodes: (both.nodes ?? []).slice(1) },
      { ...both, namespaces: { shop: { team: 'a' } } },
    ])
      expect(plan(both, edited).addresses).toEqual([]);
  });

  test('counts each address that a Service gets or exchanges once', () => {
    const pools = [{ name: 'main', addresses: ['192.0.2.0/28', '2001:db8::/124'] }];
    const dual = { ...running, pools, services: [web, local, { name: 'shop/new', clusterIPs: ['10.96.0.3', 'fd00:96::3'] }] };
    expect(summary(plan({ ...running, pools }, dual))).toMatch(/^2 addresses,/);
    const moved = { ...running, services: [{ ...web, requested: ['192.0.2.9'] }, local] };
    expect(summary(plan(running, moved))).toMatch(/^1 address,/);
  });
});

describe('a plan that changes maxNextHops', () => {
  const nodes = ['n1', 'n2', 'n3', 'n4'];
  const four: ClusterLiteral = {
    ...base,
    services: [web],
    nodes: nodes.map((name, index) => ({ name, internalIPs: [`10.0.0.1${index + 1}`] })),
    running: Object.fromEntries(nodes.map((name) => [name, up])),
  };
  const bounded = (maxNextHops: number, more: ClusterLiteral = {}): ClusterLiteral => {
    return { ...four, advertisements: [{ name: 'all', maxNextHops }], ...more };
  };

  test('names the routes that go, and those that come when the bound is raised', () => {
    const removed = routesOf(plan(four, bounded(3)));
    expect(removed).toEqual([expect.stringMatching(/^n\d remove 192.0.2.1\/32 to tor$/)]);
    const more = routesOf(plan(four, bounded(1)));
    expect(more).toHaveLength(3);
    expect(more).toEqual(expect.arrayContaining(removed));
    expect(routesOf(plan(bounded(1), four)).toSorted()).toEqual(more.map((line) => line.replace('remove', 'add')).toSorted());
  });

  test('names the node that takes the place of one that drains', () => {
    const two = routesOf(plan(four, bounded(2))).map((line) => line.split(' ')[0]);
    const drained = nodes.find((name) => !two.includes(name)) ?? '';
    const draining = (four.nodes ?? []).map((node) => (node.name === drained ? { ...node, drain: 'keepLast' as const } : node));
    const forecast = routesOf(plan(bounded(2), bounded(2, { nodes: draining })));
    expect(forecast).toHaveLength(2);
    expect(forecast).toContain(`${drained} remove 192.0.2.1/32 to tor +10`);
    expect(two.map((name) => `${name} add 192.0.2.1/32 to tor`)).toEqual(
      expect.arrayContaining(forecast.filter((line) => line.includes('add'))),
    );
  });
});

describe('a pool inside the network of the nodes', () => {
  const lan = { eth0: ['192.0.2.0/24'] };
  const onLink: ClusterLiteral = { ...running, links: { n1: lan, n2: lan } };
  const title = "Addresses that machines of the nodes' own network would not reach";
  const remedies = /fix: create an L2Advertisement .*: \[main\], beside .*answerOnLocalLinks: true in HeraldConfig/;

  test('is named with both remedies by the plan that begins to announce it by BGP only', () => {
    const lines = renderPlan(plan({ ...onLink, advertisements: [] }, onLink));
    expect(lines.slice(lines.indexOf(title), lines.indexOf(title) + 3)).toEqual([
      title,
      expect.stringMatching(/^ {2}! 192\.0\.2\.1 of Service shop\/web .*lies in 192\.0\.2\.0\/24, the network of eth0/),
      expect.stringMatching(remedies),
    ]);
  });

  test('is not named by a plan that leaves it as it is', () => {
    expect(plan(onLink, { ...onLink, config: { drainSeconds: 7 } }).unanswered).toEqual([]);
  });

  test('has an owner by the plan that sets answerOnLocalLinks, and loses it by the plan that takes the field away', () => {
    const answered: ClusterLiteral = { ...onLink, config: { answerOnLocalLinks: true } };
    const forecast = plan(onLink, answered);
    expect(forecast.unanswered).toEqual([]);
    expect(forecast.owners.map(({ address, before, after }) => [address, before, after?.replace(/n\d/, 'n')])).toEqual([
      ['192.0.2.1', undefined, 'n (eth0)'],
      ['192.0.2.2', undefined, 'n (eth0)'],
    ]);
    expect(plan(answered, onLink).unanswered).toHaveLength(1);
    expect(plan(answered, onLink).owners).toHaveLength(2);
  });
});
