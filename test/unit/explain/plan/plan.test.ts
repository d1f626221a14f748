import { describe, expect, test } from 'vitest';
import { sessionChange } from '../../../../src/agent/sessions/session-change.ts';
import { isEmptyPlan, planChanges, type Plan } from '../../../../src/explain/plan/plan.ts';
import { renderPlan } from '../../../../src/explain/plan/render-plan.ts';
import { cluster, type ClusterLiteral, type PeerLiteral, type ServiceLiteral } from '../../decisions/fixtures.ts';

const web = { name: 'shop/web', ports: ['http:80/TCP', 'echo:80/UDP'], clusterIPs: ['10.96.0.1', 'fd00:96::1'] };
const assigned: ServiceLiteral = { ...web, assigned: ['192.0.2.1', '2001:db8::1'] };
const tor: PeerLiteral = { name: 'tor', dualStackAddressFamily: true };

const base: ClusterLiteral = {
  services: [assigned],
  slices: [
    { service: 'shop/web', ports: ['http:8080/TCP', 'echo:8080/UDP'], endpoints: ['10.244.1.1@n1'] },
    { service: 'shop/web', name: 'web-6', ports: ['http:8080/TCP', 'echo:8080/UDP'], endpoints: ['fd00:1::1@n1'] },
  ],
  pools: [
    { name: 'main', addresses: ['192.0.2.0/28', '2001:db8::/124'] },
    { name: 'spare', addresses: ['198.51.100.0/28', '2001:db8:1::/124'] },
  ],
  peers: [tor],
  advertisements: [{ name: 'all' }],
  nodes: [{ name: 'n1' }, { name: 'n2' }],
};

function plan(current: ClusterLiteral, proposed: ClusterLiteral): Plan {
  const plan = planChanges(cluster(current), cluster(proposed), { classify: sessionChange });
  // Plain data: a bigint would throw here.
  expect(JSON.parse(JSON.stringify(plan))).toMatchObject({ routes: plan.routes, rules: plan.rules });
  return plan;
}

/** The manifests as they are proposed: without the recorded addresses. */
function unrecorded(literal: ClusterLiteral): ClusterLiteral {
  return { ...literal, services: (literal.services ?? []).map((service) => ({ ...service, assigned: [] })) };
}

describe('a plan of the same manifests', () => {
  test.each([
    ['with the record', base],
    ['without a record: addresses of Services that exist stay', unrecorded(base)],
  ])('equal manifests change nothing, %s', (_, proposed) => {
    const same = plan(base, proposed);
    expect(same).toEqual({
      pools: [],
      addresses: [],
      owners: [],
      routes: [],
      rules: [],
      sessions: [],
      drains: [],
      unannounced: [],
      unanswered: [],
      diverted: [],
    });
    expect(isEmptyPlan(same)).toBe(true);
    expect(renderPlan(same)).toEqual(['Nothing would change.']);
  });

  test('a Service that waits before and after is not a change', () => {
    const waiting = { ...base, services: [assigned, { name: 'shop/waits', requestedPool: 'none' }] };
    expect(renderPlan(plan(waiting, waiting))).toEqual(['Nothing would change.']);
  });

  test('a Service whose status another controller wrote is not a change', () => {
    const foreign = { name: 'shop/foreign', loadBalancerClass: 'example.com/other', assigned: ['203.0.113.1'] };
    const both = { ...base, services: [assigned, foreign] };
    expect(renderPlan(plan(both, both))).toEqual(['Nothing would change.']);
  });
});

describe('a plan of changed Services', () => {
  test('a new Service gets the next free addresses, with routes and rules on every node, and no other moves', () => {
    const further = { ...base, services: [assigned, { ...web, name: 'shop/new', clusterIPs: ['10.96.0.2', 'fd00:96::2'] }] };
    const { addresses, routes, rules, sessions } = plan(base, unrecorded(further));
    expect(addresses).toEqual([{ service: 'shop/new', before: [], after: ['192.0.2.0', '2001:db8::'] }]);
    expect(routes.filter(({ change }) => change !== 'add')).toEqual([]);
    expect(new Set(rules.map(({ change, node }) => `${change} ${node}`))).toEqual(new Set(['add n1', 'add n2']));
    expect(rules.filter(({ node }) => node === 'n1').map(({ what }) => what)).toEqual(
      expect.arrayContaining(['192.0.2.0 TCP 80', '192.0.2.0 UDP 80', '2001:db8:: TCP 80', '10.96.0.2 UDP 80']),
    );
    expect(sessions).toEqual([]);
  });

  test('a removed Service loses its addresses, routes and rules', () => {
    const { addresses, routes, rules } = plan(base, { ...base, services: [] });
    expect(addresses).toEqual([{ service: 'shop/web', before: ['192.0.2.1', '2001:db8::1'], after: [] }]);
    expect(routes).toEqual([
      { node: 'n1', what: '192.0.2.1/32 to tor', change: 'remove' },
      { node: 'n1', what: '2001:db8::1/128 to tor', change: 'remove' },
      { node: 'n2', what: '192.0.2.1/32 to tor', change: 'remove' },
      { node: 'n2', what: '2001:db8::1/128 to tor', change: 'remove' },
    ]);
    expect(rules.every(({ change }) => change === 'remove')).toBe(true);
    expect(rules).toHaveLength(16);
  });

  test('a Service that requests another pool moves there', () => {
    const moved = { ...base, services: [{ ...web, requestedPool: 'spare' }] };
    const { addresses } = plan(base, moved);
    expect(addresses).toEqual([{ service: 'shop/web', before: ['192.0.2.1', '2001:db8::1'], after: ['198.51.100.0', '2001:db8:1::'] }]);
  });

  test('a Service that becomes a ClusterIP frees its addresses for a waiting one', () => {
    const small = { ...base, pools: [{ name: 'main', addresses: ['192.0.2.1-192.0.2.1', '2001:db8::1-2001:db8::1'] }] };
    const waits = { ...web, name: 'shop/waits', clusterIPs: ['10.96.0.2', 'fd00:96::2'] };
    const current = { ...small, services: [assigned, waits] };
    const proposed = { ...small, services: [{ ...web, type: 'ClusterIP' as const }, waits] };
    expect(plan(current, proposed).addresses).toEqual([
      { service: 'shop/waits', before: [], after: ['192.0.2.1', '2001:db8::1'] },
      { service: 'shop/web', before: ['192.0.2.1', '2001:db8::1'], after: [] },
    ]);
  });

  test('a Service that would wait is listed with its reason', () => {
    const proposed = { ...base, services: [assigned, { ...web, name: 'shop/more', requestedPool: 'none' }] };
    const { addresses } = plan(base, proposed);
    expect(addresses).toMatchObject([{ service: 'shop/more', before: [], after: [], reason: { code: 'PoolNotFound' } }]);
  });

  test('an added endpoint changes rules in place', () => {
    const [slice, six] = base.slices ?? [];
    const proposed = {
      ...base,
      slices: [
        { service: 'shop/web', ...slice, endpoints: ['10.244.1.1@n1', '10.244.1.2@n1'] },
        { service: 'shop/web', endpoints: [], ...six },
      ],
    };
    const { addresses, routes, rules } = plan(base, proposed);
    expect([addresses, routes]).toEqual([[], []]);
    expect(new Set(rules.map(({ change, what }) => `${change} ${what}`))).toEqual(
      new Set(['change 192.0.2.1 TCP 80', 'change 192.0.2.1 UDP 80', 'change 10.96.0.1 TCP 80', 'change 10.96.0.1 UDP 80']),
    );
  });

  test('other attributes are a change of the route', () => {
    const { routes } = plan(base, { ...base, advertisements: [{ name: 'all', communities: ['64512:1'] }] });
    expect(new Set(routes.map(({ change }) => change))).toEqual(new Set(['change']));
  });
});

describe('a plan of changed sessions', () => {
  test.each([
    ['holdTime', { holdTimeSeconds: 30, keepaliveTimeSeconds: 10 }, 'reset', 'holdTime'],
    ['password', { password: 'secret-word' }, 'reset', 'password'],
    ['connectTime', { connectTimeSeconds: 1 }, 'live', 'connectRetryTime'],
    ['keepaliveTime', { keepaliveTimeSeconds: 5 }, 'live', 'keepaliveTime'],
    ['shutdownMessage', { shutdownMessage: 'maintenance' }, 'live', 'shutdownMessage'],
  ])('a changed %s resets or keeps the session', (_, fields, change, field) => {
    const { sessions, routes } = plan(base, { ...base, peers: [{ ...tor, ...fields }] });
    expect(sessions.map(({ node, peer, change }) => ({ node, peer, change }))).toEqual([
      { node: 'n1', peer: 'tor', change },
      { node: 'n2', peer: 'tor', change },
    ]);
    expect(sessions[0]?.fields).toContain(field);
    expect(routes).toEqual([]);
    expect(JSON.stringify(sessions)).not.toContain('secret-word');
  });

  test('a missing Secret or a second BGPPeer with its address does not change a running session', () => {
    const passwordSecret = { namespace: 'herald', name: 'bgp' };
    const locked = { ...tor, passwordSecret };
    const running = { n1: { tor: '10.0.0.254' }, n2: { tor: '10.0.0.254' } };
    const secrets = [{ name: 'herald/bgp', password: 'secret-word' }];
    const current = { ...base, peers: [locked], running, secrets };
    expect(plan(current, { ...base, peers: [locked] }).sessions).toEqual([]);
    expect(plan(current, { ...current, peers: [{ name: 'a' }, locked] }).sessions).toEqual([]);
    expect(plan({ ...current, running: {} }, { ...base, peers: [locked] }).sessions).toMatchObject([
      { change: 'stop' },
      { change: 'stop' },
    ]);
  });

  test('an added peer starts sessions, a removed peer stops them', () => {
    const two = { ...base, peers: [tor, { name: 'tor2', peerAddress: '10.0.0.253' }] };
    expect(plan(base, two).sessions).toMatchObject([
      { node: 'n1', peer: 'tor2', change: 'start' },
      { node: 'n2', change: 'start' },
    ]);
    expect(plan(two, base).sessions).toMatchObject([
      { node: 'n1', peer: 'tor2', change: 'stop' },
      { node: 'n2', change: 'stop' },
    ]);
  });

  test('a removed node stops its sessions and withdraws its routes', () => {
    const { sessions, routes } = plan(base, { ...base, nodes: [{ name: 'n1' }] });
    expect(sessions).toEqual([{ node: 'n2', peer: 'tor', change: 'stop', fields: [] }]);
    expect(routes.every(({ node, change }) => node === 'n2' && change === 'remove')).toBe(true);
  });
});

describe('a plan of what all nodes share', () => {
  test('data plane settings are listed if they differ', () => {
    expect(plan(base, { ...base, config: { masqueradeBit: 13, drainSeconds: 7 } }).rules).toEqual([
      { node: 'n1', change: 'change', what: 'setting: masquerade bit' },
      { node: 'n2', change: 'change', what: 'setting: masquerade bit' },
    ]);
    expect(plan(base, { ...base, config: { podCIDRs: ['10.244.0.0/16'] } }).rules).toContainEqual({
      node: 'n1',
      change: 'add',
      what: 'setting: prefixes of pods',
    });
  });
});

describe('a plan of an edit of pools', () => {
  const without = (...names: readonly string[]) => ({ ...base, pools: (base.pools ?? []).filter(({ name }) => !names.includes(name)) });

  test('a Service whose pool is deleted keeps addresses and routes, and the plan says by which advertisements', () => {
    const lines = renderPlan(plan(base, without('main')));
    expect(lines.join('\n')).toMatch(
      /shop\/web: keeps 192\.0\.2\.1, 2001:db8::1 {2}\(the Service keeps 192\.0\.2\.1, which is in no valid IPAddressPool any more; advertisements for pool "main", which contained it, still apply\)/,
    );
    expect(lines.at(-1)).toBe('0 addresses, 0 sessions, 0 routes and 0 rules would change.');
  });

  test('a pool that is deleted with its advertisement leaves addresses that no node would announce', () => {
    const named = { ...base, advertisements: [{ name: 'all', ipAddressPools: ['main'] }] };
    const { routes, unannounced } = plan(named, { ...without('main'), advertisements: [] });
    expect(new Set(routes.map(({ change, what }) => `${change} ${what}`))).toEqual(
      new Set(['remove 192.0.2.1/32 to tor', 'remove 2001:db8::1/128 to tor']),
    );
    expect(unannounced.map(({ address, reason }) => `${address} ${reason.code} ${JSON.stringify(reason.details)}`)).toEqual([
      '192.0.2.1 NoAdvertisement {"type":"LoadBalancer","former":"main"}',
      '2001:db8::1 NoAdvertisement {"type":"LoadBalancer","former":"main"}',
    ]);
  });
});
