import { describe, expect, test } from 'vitest';
import { explainPeer, renderPeer } from '../../../../src/explain/objects/peer.ts';
import { overviewOf } from '../../../../src/explain/overview/overview.ts';
import { problemsOf } from '../../../../src/explain/overview/problems.ts';
import { renderOverview } from '../../../../src/explain/overview/render-overview.ts';
import { sessionReport } from '../../../../src/explain/sessions/session-report.ts';
import { renderService } from '../../../../src/explain/service/render-service.ts';
import { explainService, type ServiceExplanation } from '../../../../src/explain/service/service.ts';
import { reason } from '../../../../src/model/reasons.ts';
import type { NodeState } from '../../../../src/model/objects/node-state.ts';
import { cluster, metadata, type ClusterLiteral } from '../../decisions/fixtures.ts';

const now = Date.UTC(2026, 0, 1, 12);
const key = 'shop/web';
const names = ['node1', 'node2', 'node3'];
const routers = ['tor1-v4', 'tor1-v6', 'tor2-v4', 'tor2-v6'];

const web = {
  name: key,
  clusterIPs: ['10.96.0.1', 'fd00:96::1'],
  ports: ['http:80/TCP', 'echo:80/UDP'],
  assigned: ['192.0.2.10', '2001:db8::10'],
};

const fabric: ClusterLiteral = {
  services: [web],
  slices: [
    { service: key, ports: ['http:8080/TCP', 'echo:8080/UDP'], endpoints: ['10.244.1.1@node1', '10.244.1.2@node1', '10.244.2.1@node2'] },
    {
      service: key,
      name: 'web-6',
      ports: ['http:8080/TCP', 'echo:8080/UDP'],
      endpoints: ['fd00:1::1@node1', 'fd00:1::2@node1', 'fd00:2::1@node2'],
    },
  ],
  pools: [
    { name: 'public', addresses: ['192.0.2.0/28', '2001:db8::/120'] },
    { name: 'tiny', addresses: ['198.51.100.1/32'] },
    { name: 'team', addresses: ['203.0.113.0/24'], autoAssign: false },
  ],
  peers: routers.map((name, index) => ({ name, peerAddress: name.endsWith('v4') ? `10.${index}.0.1` : `fd00:${index}::1` })),
  advertisements: [{ name: 'all', communities: ['64512:100'] }],
  nodes: names.map((name) => ({ name })),
};

/** A report in which the named sessions are down. */
function state(name: string, down: readonly string[] = []): NodeState {
  const sessions = routers.map((peer) => {
    const of = { peer, address: '', since: new Date(now - 60_000).toISOString(), localASN: 64512, peerASN: 64513, prefixesSent: 1 };
    return down.includes(peer)
      ? { ...of, state: 'Active' as const, lastError: 'connection refused' }
      : { ...of, state: 'Established' as const };
  });
  const updated = new Date(now - names.indexOf(name) * 1000).toISOString();
  return { kind: 'NodeState', metadata: metadata(name), updated, consumed: {}, sessions, differing: [] };
}

/** A report of a node whose IPv6 sessions never came up, with another time, address and symptom than those of the others. */
function silentOverIPv6(name: string, index: number): NodeState {
  const report = state(name);
  const sessions = report.sessions.map((session, at) => {
    if (!session.peer.endsWith('v6')) return session;
    const local = `fd00:9::${index + 1}`;
    const since = new Date(now - (30 - index) * 60_000).toISOString();
    const common = { peer: session.peer, router: `fd00:${at}::1`, local, since, latest: `attempt ${index} timed out` };
    const cause = reason('PeerUnreachable', {
      ...common,
      port: 179,
      why: 'no answer to SYN',
      wasUp: false,
      hints: `; compare neighbor ${local}`,
    });
    return { ...session, state: 'Active' as const, cause };
  });
  return { ...report, sessions };
}

const silence = (router: string): string =>
  `the router fd00:${routers.indexOf(router)}::1 of BGPPeer "${router}" does not answer at TCP port 179: no answer to SYN; since 2026-01-01 11:32 UTC at the latest`;

function explain(states: readonly NodeState[], literal = fabric): ServiceExplanation {
  const nodeStates = new Map(states.map((one) => [one.metadata.name, one]));
  const explanation = explainService({ ...cluster(literal), nodeStates }, key, now);
  if (explanation === undefined) throw new RangeError('no such Service');
  return explanation;
}

const screen = (states: readonly NodeState[], literal = fabric): string[] => renderService(explain(states, literal), 'brief');
const tor1 = ['tor1-v4', 'tor1-v6'];
const waiting = {
  ...fabric,
  services: [
    { name: key, requestedPool: 'tiny' },
    { name: 'shop/old', assigned: ['198.51.100.1'] },
  ],
};

describe('explain service on one screen', () => {
  test.each([
    ['everything works', screen(names.map((name) => state(name)))],
    ['a router is down', screen(names.map((name) => state(name, tor1)))],
    ['a node has no session', screen([state('node1'), state('node2'), state('node3', routers)])],
    ['an agent is silent', screen([state('node1'), state('node2')])],
    ['no agent reports', screen([])],
    [
      'the pool is full',
      screen(
        names.map((name) => state(name)),
        waiting,
      ),
    ],
  ])('takes at most 40 lines, and begins with the verdict, when %s', (_, lines) => {
    expect(lines.length).toBeLessThanOrEqual(40);
    expect(lines[0]).toMatch(/^(Announced|Not served|Not known)/);
  });

  test('shows three nodes with IPv6 sessions down once, with the latest of their times, and at most one screen', () => {
    const states = names.map((name, index) => silentOverIPv6(name, index));
    const two = { ...fabric, services: [{ ...web, assigned: [...web.assigned, '2001:db8::11'] }] };
    const lines = screen(states, two);
    expect(lines.filter((line) => line.includes('does not answer')).length).toBe(3);
    expect(lines).toContain('Nodes node1, node2 and node3');
    for (const router of ['tor1-v6', 'tor2-v6'])
      expect(lines).toContain(`  2001:db8::10 and 2001:db8::11 are not announced to ${router}: ${silence(router)}`);
    expect(lines.filter((line) => line.includes('fix:')).length).toBe(2);
    expect(lines.length).toBeLessThanOrEqual(40);
    expect(screen(states.slice(0, 2).concat(state('node3')), two).length).toBeLessThanOrEqual(40);
  });

  test('shows them once in status and its problems, and in the peer with at most one screen', () => {
    const states = new Map(names.map((name, index) => [name, silentOverIPv6(name, index)]));
    const snapshot = { ...cluster(fabric), nodeStates: states };
    const overview = overviewOf({ snapshot, now, conditions: new Map(), objects: [] });
    const lines = renderOverview(overview, false);
    expect(lines.filter((line) => line.includes('does not answer'))).toEqual(
      ['tor1-v6', 'tor2-v6'].map((router) => `            node1, node2, node3 ${router}: ${silence(router)}`),
    );
    const problems = problemsOf({ unusable: [], services: new Map(), overview, sessions: sessionReport(snapshot, now).sessions });
    expect(problems.length).toBeLessThanOrEqual(3);
    const peer = explainPeer(snapshot, 'tor1-v6', now);
    const ofPeer = peer === undefined ? [] : renderPeer(peer, false);
    expect(ofPeer[0]).toContain(`All 3 nodes: ${silence('tor1-v6')}. Check`);
    expect(ofPeer.filter((line) => line.includes('does not answer')).length).toBe(1);
    expect(ofPeer.length).toBeLessThanOrEqual(40);
  });

  test('names no fix for a peer that spec.peers of an advertisement leaves out while another has the route', () => {
    const literal = { ...fabric, advertisements: [{ name: 'all', peers: ['tor1-v4', 'tor1-v6'] }] };
    const states = names.map((name) => state(name));
    expect(screen(states, literal).join('\n')).not.toMatch(/fix:|does not name peer/);
    const whole = renderService(explain(states, literal), 'whole').join('\n');
    expect(whole).toContain('192.0.2.10 is not announced to tor2-v4: spec.peers of BGPAdvertisement all does not name peer "tor2-v4"');
    expect(whole).not.toContain('add "tor2-v4"');
    const nobody = { ...fabric, advertisements: [{ name: 'all', peers: ['gone'] }] };
    expect(screen(states, nobody).join('\n')).toContain('add "tor1-v4"');
  });

  test('shows alike nodes once, and those with a problem first', () => {
    const lines = screen([state('node1'), state('node2'), state('node3', tor1)]);
    expect(`\n${lines.join('\n')}\n`).toMatchInlineSnapshot(`
      "
      Announced, but not through every router: the session with "tor1-v4" is Active: connection refused (on node3); the session with "tor1-v6" is Active: connection refused (on node3). Check on both sides: address, port 179, AS numbers, password, and the route between them.

      Service shop/web (LoadBalancer)

      Address    192.0.2.10 (pool public), 2001:db8::10 (pool public)
      Endpoints  3 ready, 0 not usable
      Balancing  random

      Node node3
        192.0.2.10 is not announced to tor1-v4: the session with "tor1-v4" is Active: connection refused
        2001:db8::10 is not announced to tor1-v6: the session with "tor1-v6" is Active: connection refused
            fix: check on both sides: address, port 179, AS numbers, password, and the route between them
        forwards 8 frontends to 3 endpoints
        192.0.2.10 is announced to tor2-v4
        2001:db8::10 is announced to tor2-v6

      Nodes node1 and node2
        forwards 8 frontends to 3 endpoints
        192.0.2.10 is announced to tor1-v4, tor2-v4
        2001:db8::10 is announced to tor1-v6, tor2-v6

      Routers    what was sent to tor1-v4, tor2-v4, tor1-v6 and tor2-v6 may be unused there: run there show bgp ipv4 unicast 192.0.2.10 (BIRD: show route for 192.0.2.10)

      Clients
        192.0.2.10:80/TCP is announced by node1, node2, node3, not checked
        192.0.2.10:80/UDP is announced by node1, node2, node3, not checked
        [2001:db8::10]:80/TCP is announced by node1, node2, node3, not checked
        [2001:db8::10]:80/UDP is announced by node1, node2, node3, not checked
      "
    `);
  });

  test('leaves nodes out while the Service has no address', () => {
    expect(
      `\n${screen(
        names.map((name) => state(name)),
        waiting,
      ).join('\n')}\n`,
    ).toMatchInlineSnapshot(`
      "
      Not served: pool tiny is full (1 of 1 IPv4 addresses). Add addresses to IPAddressPool tiny, or release shop/old.

      Service shop/web (LoadBalancer)

      Address    none
                 pool tiny is full (1 of 1 IPv4 addresses)
                 fix: add addresses to IPAddressPool tiny, or release shop/old
                 3 pools refuse it (-o wide lists them)
      Endpoints  3 ready, 0 not usable
      Balancing  random
      Nodes      3, which announce nothing for it (-o wide lists them)

      Clients
        no client outside the cluster can connect: the Service has no address
      "
    `);
  });
});
