import { describe, expect, test } from 'vitest';
import { explainNode, renderNodeOverview } from '../../../../src/explain/objects/node.ts';
import { explainPeer, renderPeer } from '../../../../src/explain/objects/peer.ts';
import { explainPool, renderPool } from '../../../../src/explain/pools/pool.ts';
import type { NodeState } from '../../../../src/model/objects/node-state.ts';
import { reason } from '../../../../src/model/reasons.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import { cluster, metadata, type ClusterLiteral } from '../../decisions/fixtures.ts';

const now = Date.UTC(2026, 0, 1, 12);

const literal: ClusterLiteral = {
  services: [
    { name: 'shop/a', clusterIPs: ['10.96.0.1'], assigned: ['192.0.2.1'] },
    { name: 'shop/b', clusterIPs: ['10.96.0.2'], assigned: ['192.0.2.2'] },
    { name: 'shop/waits', clusterIPs: ['10.96.0.3'] },
    { name: 'shop/local', clusterIPs: ['10.96.0.4'], assigned: ['192.0.2.9'], externalTrafficPolicy: 'Local' },
  ],
  slices: [
    { service: 'shop/a', ports: ['8080'], endpoints: ['10.244.1.1@n1'] },
    { service: 'shop/b', ports: ['8080'], endpoints: ['10.244.1.2@n1'] },
    { service: 'shop/local', ports: ['8080'], endpoints: ['10.244.2.2@n2'] },
  ],
  pools: [
    { name: 'main', addresses: ['192.0.2.1-192.0.2.2'] },
    { name: 'manual', addresses: ['192.0.2.8/30', '2001:db8::/64'], autoAssign: false },
  ],
  peers: [
    { name: 'tor', peerAddress: '10.0.0.254', enableGracefulRestart: true },
    { name: 'gone', peerAddress: '10.0.0.253', nodeSelectors: [{ matchLabels: { rack: 'a' }, matchExpressions: [] }] },
  ],
  advertisements: [{ name: 'all', ipAddressPools: ['main', 'manual'], communities: ['64512:100'] }],
  nodes: [{ name: 'n1' }, { name: 'n2', labels: { rack: 'a' } }],
};

function state(name: string, changes: Partial<NodeState> = {}): NodeState {
  const session = {
    peer: 'tor',
    address: '10.0.0.254',
    state: 'Established',
    since: '2026-01-01T09:00:00Z',
    localASN: 64_512,
    peerASN: 64_513,
    prefixesSent: 2,
  } as const;
  return {
    kind: 'NodeState',
    metadata: metadata(name),
    updated: '2026-01-01T11:59:55Z',
    consumed: {},
    sessions: [session],
    differing: [],
    ...changes,
  };
}

function snapshot(...states: readonly NodeState[]): Snapshot {
  return { ...cluster(literal), nodeStates: new Map(states.map((one) => [one.metadata.name, one])) };
}

/** The result is plain data: a bigint would throw here. */
function plain<T extends object>(explanation: T | undefined): T {
  if (explanation === undefined) throw new RangeError('there is none');
  expect(JSON.parse(JSON.stringify(explanation))).toEqual(explanation);
  return explanation;
}

const told = (lines: readonly string[]): string => `\n${lines.join('\n')}\n`;

describe('explainPool', () => {
  test('a full pool lists its holders and the waiting Services', () => {
    expect(told(renderPool(plain(explainPool(snapshot(), 'main'))))).toMatchInlineSnapshot(`
      "
      IPAddressPool main

      Addresses  192.0.2.1-192.0.2.2
      Usage      IPv4 2 given, 0 of 2 free
      Gives      nothing more: pool main is full (2 of 2 IPv4 addresses)
          fix: add addresses to IPAddressPool main, or delete a Service that holds one
      Announced  by BGPAdvertisement all
      Held by    shop/a: 192.0.2.1
      Held by    shop/b: 192.0.2.2
      Waits      shop/waits: pool main is full (2 of 2 IPv4 addresses)
          fix: add addresses to IPAddressPool main, or release shop/a
      "
    `);
  });

  test('a pool of both families that gives on request only says so', () => {
    expect(told(renderPool(plain(explainPool(snapshot(), 'manual'))))).toMatchInlineSnapshot(`
      "
      IPAddressPool manual

      Addresses  192.0.2.8/30, 2001:db8::/64
      Usage      IPv4 1 given, 3 of 4 free; IPv6 0 given, 2^64 of 2^64 free
      Announced  by BGPAdvertisement all
      Held by    shop/local: 192.0.2.9
      Waits      shop/waits: pool "manual" has autoAssign: false
          fix: annotate the Service with herald.dev/address-pool: manual
      "
    `);
  });

  test('a pool that is not announced, or that gives nothing, has a reason', () => {
    const overlapping = { ...literal, pools: [...(literal.pools ?? []), { name: 'zz', addresses: ['192.0.2.0/24'] }] };
    const found = plain(explainPool(cluster(overlapping), 'zz'));
    expect(found).toMatchObject({ reason: { code: 'PoolOverlaps' }, unannounced: { code: 'NoAdvertisement' } });
    expect(explainPool(snapshot(), 'none')).toBeUndefined();
  });
});

describe('explainPeer', () => {
  test('a peer is explained node by node', () => {
    const down = {
      ...state('n2').sessions[0],
      state: 'Active',
      lastError: 'peer says AS 64999, configured 64513',
    } as NodeState['sessions'][number];
    const { nodes, ...overview } = plain(explainPeer(snapshot(state('n1'), state('n2', { sessions: [down] })), 'tor', now));
    expect(told(renderPeer({ nodes, ...overview }, false))).toMatchInlineSnapshot(`
      "
      Partly up: 1 of 2 sessions. Node n2: the session with "tor" is Active: peer says AS 64999, configured 64513. Check on both sides: address, port 179, AS numbers, password, and the route between them.
        both nodes: nodes "n1" and "n2" both use router ID 10.0.0.1 in their sessions with "tor", and some routers accept only one of them (RFC 6286)
            fix: remove routerID from BGPPeer "tor", so that each node uses its own IPv4 InternalIP, and check that no two Nodes have the same

      BGPPeer tor (10.0.0.254)

      Settings   our AS 64512, its AS 64513, hold time 90 s, graceful restart

      Node n1  (reported 5 s ago)
        session with tor (10.0.0.254, AS 64513): Established for 3 h
        sends 2 routes, reports 2 sent

      Node n2  (reported 5 s ago)
        session with tor (10.0.0.254, AS 64513): Active for 3 h
        would send 3 routes, reports 2 sent
      "
    `);
    expect(told(renderPeer({ ...overview, nodes: nodes.slice(0, 1) }, true))).toContain(
      '  sends 2 routes, reports 2 sent\n    192.0.2.1/32, communities 64512:100\n    192.0.2.2/32, communities 64512:100\n',
    );
  });

  test('a peer that selects one node with a silent agent says so', () => {
    expect(told(renderPeer(plain(explainPeer(snapshot(), 'gone', now)), false))).toMatchInlineSnapshot(`
      "
      Down: 0 of 1 sessions. Node n2: no agent reports for node "n2". Start the agent: the pod of DaemonSet herald-agent on n2; outside a cluster, herald agent --node n2.

      BGPPeer gone (10.0.0.253)

      Settings   our AS 64512, its AS 64513, hold time 90 s

      Node n2
        session with gone (10.0.0.253, AS 64513): not reported
        would send 3 routes

      Not selected by its nodeSelectors: n1
      "
    `);
    expect(explainPeer(snapshot(), 'none', now)).toBeUndefined();
  });
});

describe('explainNode', () => {
  test('a healthy node names Services that it does not announce for lack of endpoints', () => {
    expect(told(renderNodeOverview(plain(explainNode(snapshot(state('n1')), 'n1', now))))).toMatchInlineSnapshot(`
      "
      Node n1  (reported 5 s ago)

      Addresses  10.0.0.1
      Forwards   7 frontends of 4 Services
      Announces  2 Services
                 not shop/local: externalTrafficPolicy is Local and no endpoint on node "n1" can take traffic
                     fix: run a ready pod of the Service on the node, or set spec.externalTrafficPolicy: Cluster; nothing to do while another node announces the address
      Session    tor (10.0.0.254, AS 64513): Established for 3 h, 2 routes for it
      "
    `);
  });

  test('a single Service and route are counted in the singular', () => {
    const one = { ...literal, services: [{ name: 'shop/a', ports: ['80/TCP'], assigned: ['192.0.2.1'] }] };
    const only = { ...cluster(one), nodeStates: new Map([['n1', state('n1')]]) };
    expect(renderNodeOverview(plain(explainNode(only, 'n1', now))).slice(3)).toEqual([
      'Forwards   2 frontends of 1 Service',
      'Announces  1 Service',
      'Session    tor (10.0.0.254, AS 64513): Established for 3 h, 1 route for it',
    ]);
  });

  test('a node whose agent was stopped is not shown as announcing', () => {
    const problem = reason('AgentStopped', { node: 'n1' });
    const lines = renderNodeOverview(plain(explainNode(snapshot(state('n1', { problem })), 'n1', now)));
    expect(lines).toContain('Forwards   should: 7 frontends of 4 Services');
    expect(lines).toContain('Announces  would: 2 Services');
  });

  test("a node shows its agent's problems, also a node that exists only in reports", () => {
    const refused = reason('FrontendQuarantined', { frontend: '192.0.2.1 TCP 80', error: 'No space left on device' });
    const differing = [{ service: 'shop/a' as const, aspect: 'Programmed' as const, reason: refused }];
    const reported = plain(explainNode(snapshot(state('n1', { differing, truncated: true })), 'n1', now));
    expect(told(renderNodeOverview(reported))).toContain('Differs    shop/a: the kernel refused the rules for 192.0.2.1 TCP 80');
    expect(told(renderNodeOverview(reported))).toContain('more Services differ than the agent lists');
    expect(plain(explainNode(snapshot(state('stray')), 'stray', now)).problem?.code).toBe('NodeUnknown');
    expect(explainNode(snapshot(), 'none', now)).toBeUndefined();
  });
});
