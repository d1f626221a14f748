import { describe, expect, test } from 'vitest';
import { renderService } from '../../../../src/explain/service/render-service.ts';
import { explainService, narrowToNodeAndPeer, type ServiceExplanation } from '../../../../src/explain/service/service.ts';
import type { NodeState, SessionStatus } from '../../../../src/model/objects/node-state.ts';
import type { Pod } from '../../../../src/model/objects/pod.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { cluster, metadata, type ClusterLiteral } from '../../decisions/fixtures.ts';

const now = Date.UTC(2026, 0, 1, 12);
const key = 'shop/web' as const;

const fabric: ClusterLiteral = {
  services: [
    {
      name: key,
      clusterIPs: ['10.96.0.1'],
      ports: ['http:80/TCP', 'echo:80/UDP'],
      assigned: ['192.0.2.1'],
      hasSelector: true,
      selectorText: 'app=web',
    },
  ],
  slices: [
    { service: key, ports: ['http:8080/TCP', 'echo:8080/UDP'], endpoints: ['10.244.1.1@n1', '10.244.2.1@n2', '10.244.2.2@n2 notready'] },
  ],
  pools: [{ name: 'main', addresses: ['192.0.2.0/28'] }],
  peers: [{ name: 'tor', peerAddress: '10.0.0.254' }],
  advertisements: [{ name: 'all', communities: ['64512:100', 'large:64512:1:2'], localPref: 200, med: 5, asPathPrepend: 2 }],
  nodes: [{ name: 'n1' }, { name: 'n2' }],
};

function session(changes: Partial<SessionStatus> = {}): SessionStatus {
  const since = new Date(now - 3 * 3600 * 1000).toISOString();
  return { peer: 'tor', address: '10.0.0.254', state: 'Established', since, localASN: 64512, peerASN: 64513, prefixesSent: 1, ...changes };
}

function state(name: string, changes: Partial<NodeState> = {}): NodeState {
  const updated = new Date(now - 5000).toISOString();
  return { kind: 'NodeState', metadata: metadata(name), updated, consumed: {}, sessions: [session()], differing: [], ...changes };
}

const both = [state('n1'), state('n2')];

function explain(literal: ClusterLiteral, states: readonly NodeState[], pods?: readonly Pod[]): ServiceExplanation {
  const nodeStates = new Map(states.map((one) => [one.metadata.name, one]));
  const explanation = explainService({ ...cluster(literal), nodeStates }, key, now, { pods });
  if (explanation === undefined) throw new RangeError('no such Service');
  return explanation;
}

const tree = (literal: ClusterLiteral, states: readonly NodeState[], pods?: readonly Pod[]): string =>
  `\n${renderService(explain(literal, states, pods)).join('\n')}\n`;

/** The fabric with one Service that differs slightly. */
const withService = (changes: Partial<NonNullable<ClusterLiteral['services']>[number]>): ClusterLiteral => ({
  ...fabric,
  services: (fabric.services ?? []).map((one) => ({ ...one, ...changes })),
});

describe('the explanation tree of a Service', () => {
  test('a healthy Service shows every node as announcing', () => {
    expect(tree(fabric, both)).toMatchInlineSnapshot(`
      "
      Announced, not checked: 192.0.2.1 via n1 and n2; no agent reports what it saw. Check it: herald check service shop/web.

      Service shop/web (LoadBalancer)

      Address    192.0.2.1 (pool main)
      Endpoints  2 ready, 1 not usable
      Balancing  random

      Node n1  (reported 5 s ago)
        forwards 4 frontends to 2 endpoints (1 here)
        192.0.2.1 is announced to tor
        10.96.0.1 (ClusterIP) stays inside the cluster: no BGPAdvertisement selects it
        session with tor (10.0.0.254, AS 64513): Established for 3 h
          sends 192.0.2.1/32, communities 64512:100 large:64512:1:2, med 5, own AS prepended 2 times

      Node n2  (reported 5 s ago)
        forwards 4 frontends to 2 endpoints (1 here)
        192.0.2.1 is announced to tor
        10.96.0.1 (ClusterIP) stays inside the cluster: no BGPAdvertisement selects it
        session with tor (10.0.0.254, AS 64513): Established for 3 h
          sends 192.0.2.1/32, communities 64512:100 large:64512:1:2, med 5, own AS prepended 2 times

      Routers    what was sent to tor may be unused there: run there show bgp ipv4 unicast 192.0.2.1 (BIRD: show route for 192.0.2.1)

      Clients
        192.0.2.1:80/TCP is announced by n1, n2, not checked
        192.0.2.1:80/UDP is announced by n1, n2, not checked
      "
    `);
  });

  test("a router that refuses one node is shown with the agent's error", () => {
    const lastError = 'connection refused by 10.0.0.254 port 179: no BGP speaker listens there, or it does not know us';
    const down = session({ state: 'Active', since: new Date(now - 90_000).toISOString(), lastError });
    expect(tree(fabric, [state('n1', { sessions: [down] }), state('n2')])).toMatchInlineSnapshot(`
      "
      Announced, but not by every node: the session with "tor" is Active: connection refused by 10.0.0.254 port 179: no BGP speaker listens there, or it does not know us (on n1). Check on both sides: address, port 179, AS numbers, password, and the route between them.

      Service shop/web (LoadBalancer)

      Address    192.0.2.1 (pool main)
      Endpoints  2 ready, 1 not usable
      Balancing  random

      Node n1  (reported 5 s ago)
        forwards 4 frontends to 2 endpoints (1 here)
        192.0.2.1 is not announced to tor: the session with "tor" is Active: connection refused by 10.0.0.254 port 179: no BGP speaker listens there, or it does not know us
            fix: check on both sides: address, port 179, AS numbers, password, and the route between them
        10.96.0.1 (ClusterIP) stays inside the cluster: no BGPAdvertisement selects it
        session with tor (10.0.0.254, AS 64513): Active for 90 s
          would send 192.0.2.1/32, communities 64512:100 large:64512:1:2, med 5, own AS prepended 2 times

      Node n2  (reported 5 s ago)
        forwards 4 frontends to 2 endpoints (1 here)
        192.0.2.1 is announced to tor
        10.96.0.1 (ClusterIP) stays inside the cluster: no BGPAdvertisement selects it
        session with tor (10.0.0.254, AS 64513): Established for 3 h
          sends 192.0.2.1/32, communities 64512:100 large:64512:1:2, med 5, own AS prepended 2 times

      Routers    what was sent to tor may be unused there: run there show bgp ipv4 unicast 192.0.2.1 (BIRD: show route for 192.0.2.1)

      Clients
        192.0.2.1:80/TCP is announced by n2, not checked
        192.0.2.1:80/UDP is announced by n2, not checked
      "
    `);
  });

  test("a Service of policy Local with one pod is announced by that pod's node", () => {
    const slices = [{ service: key, ports: ['http:8080/TCP', 'echo:8080/UDP'], endpoints: ['10.244.1.1@n1'] }];
    expect(tree({ ...withService({ externalTrafficPolicy: 'Local', healthCheckNodePort: 32_000 }), slices }, both)).toMatchInlineSnapshot(`
      "
      Announced, not checked: 192.0.2.1 via n1; no agent reports what it saw. Check it: herald check service shop/web.

      Service shop/web (LoadBalancer)

      Address    192.0.2.1 (pool main)
      Endpoints  1 ready, 0 not usable
      Balancing  random

      Node n1  (reported 5 s ago)
        forwards 4 frontends to 1 endpoint (1 here)
        answers load balancers at port 32000: 200 over IPv4 (1 ready here)
        192.0.2.1 is announced to tor
        10.96.0.1 (ClusterIP) stays inside the cluster: no BGPAdvertisement selects it
        session with tor (10.0.0.254, AS 64513): Established for 3 h
          sends 192.0.2.1/32, communities 64512:100 large:64512:1:2, med 5, own AS prepended 2 times

      Node n2  (reported 5 s ago)
        forwards 4 frontends to 0 endpoints of 1, as its policy is Local
        answers load balancers at port 32000: 503 over IPv4 (0 ready here)
        192.0.2.1 is not announced: externalTrafficPolicy is Local and no endpoint on node "n2" can take traffic
            fix: run a ready pod of the Service on the node, or set spec.externalTrafficPolicy: Cluster; nothing to do while another node announces the address
        10.96.0.1 (ClusterIP) stays inside the cluster: no BGPAdvertisement selects it

      Routers    what was sent to tor may be unused there: run there show bgp ipv4 unicast 192.0.2.1 (BIRD: show route for 192.0.2.1)

      Clients
        192.0.2.1:80/TCP is announced by n1, not checked
        192.0.2.1:80/UDP is announced by n1, not checked
      "
    `);
  });

  test("a Service without an address shows each pool's reason", () => {
    const pools = [
      { name: 'full', addresses: ['192.0.2.9-192.0.2.9'], reserved: { '192.0.2.9': 'shop/other' as const } },
      { name: 'manual', addresses: ['198.51.100.0/28'], autoAssign: false },
    ];
    expect(tree({ ...withService({ assigned: [] }), pools }, both)).toMatchInlineSnapshot(`
      "
      Not served: pool full is full (1 of 1 IPv4 addresses). Add addresses to IPAddressPool full, or delete a Service that holds one.

      Service shop/web (LoadBalancer)

      Address    none
                 pool full: pool full is full (1 of 1 IPv4 addresses)
                     fix: add addresses to IPAddressPool full, or delete a Service that holds one
                 pool manual: pool "manual" has autoAssign: false
                     fix: annotate the Service with herald.dev/address-pool: manual
      Endpoints  2 ready, 1 not usable
      Balancing  random

      Node n1  (reported 5 s ago)
        forwards 2 frontends to 2 endpoints (1 here)
        announces nothing: the Service has no address yet: the controller has not assigned one
            fix: check with herald status that a controller runs and leads
        10.96.0.1 (ClusterIP) stays inside the cluster: no BGPAdvertisement selects it

      Node n2  (reported 5 s ago)
        forwards 2 frontends to 2 endpoints (1 here)
        announces nothing: the Service has no address yet: the controller has not assigned one
            fix: check with herald status that a controller runs and leads
        10.96.0.1 (ClusterIP) stays inside the cluster: no BGPAdvertisement selects it

      Clients
        no client outside the cluster can connect: the Service has no address
      "
    `);
  });

  test('silent agents leave the decided state, marked as unconfirmed', () => {
    expect(tree(fabric, [])).toMatchInlineSnapshot(`
      "
      Not known whether it is served: no agent reports for node "n1" (the same on all 2 nodes). Start the agent: the pod of DaemonSet herald-agent on n1; outside a cluster, herald agent --node n1.

      Service shop/web (LoadBalancer)

      Address    192.0.2.1 (pool main)
      Endpoints  2 ready, 1 not usable
      Balancing  random

      Node n1
        no agent reports for node "n1"
        fix: start the agent: the pod of DaemonSet herald-agent on n1; outside a cluster, herald agent --node n1
        should forward 4 frontends to 2 endpoints (1 here)
        192.0.2.1 would be announced to tor
        10.96.0.1 (ClusterIP) stays inside the cluster: no BGPAdvertisement selects it
        session with tor (10.0.0.254, AS 64513): not reported
          would send 192.0.2.1/32, communities 64512:100 large:64512:1:2, med 5, own AS prepended 2 times

      Node n2
        no agent reports for node "n2"
        fix: start the agent: the pod of DaemonSet herald-agent on n2; outside a cluster, herald agent --node n2
        should forward 4 frontends to 2 endpoints (1 here)
        192.0.2.1 would be announced to tor
        10.96.0.1 (ClusterIP) stays inside the cluster: no BGPAdvertisement selects it
        session with tor (10.0.0.254, AS 64513): not reported
          would send 192.0.2.1/32, communities 64512:100 large:64512:1:2, med 5, own AS prepended 2 times

      Clients
        connections to 192.0.2.1:80/TCP would be answered via n1, n2; no node reports whether they are
        packets to 192.0.2.1:80/UDP would be answered via n1, n2; no node reports whether they are
      "
    `);
  });

  test('a port without endpoints and a quarantined frontend are shown', () => {
    const slices = [{ service: key, ports: ['http:8080/TCP'], endpoints: ['10.244.1.1@n1'] }];
    const refused = reason('FrontendQuarantined', { frontend: '192.0.2.1 TCP 80', error: 'No space left on device' });
    const differing = [{ service: key, aspect: 'Programmed' as const, reason: refused }];
    const { clients } = explain({ ...fabric, slices }, [state('n1', { differing }), state('n2')]);
    expect(clients).toEqual([
      { target: '192.0.2.1:80/TCP', address: '192.0.2.1', outcome: 'announced', via: ['n2'] },
      { target: '192.0.2.1:80/UDP', address: '192.0.2.1', outcome: 'refused', via: ['n1', 'n2'] },
    ]);
  });
});

describe('the Pods of a Service', () => {
  const pod = (name: string, changes: Partial<Pod> = {}): Pod => ({
    namespace: 'shop',
    name,
    labels: { app: 'web' },
    node: 'n1',
    addresses: ['10.244.1.1'],
    phase: 'Running',
    terminating: false,
    ready: true,
    unmetGates: [],
    unscheduled: '',
    containers: [{ name: 'app', ready: true, state: '', restarts: 0, portNames: [] }],
    ...changes,
  });
  const waiting = (container: Partial<Pod['containers'][number]>): Partial<Pod> => ({
    ready: false,
    containers: [{ name: 'app', ready: false, state: '', restarts: 0, portNames: [], ...container }],
  });
  const none: ClusterLiteral = { ...fabric, slices: [] };
  const codes = (literal: ClusterLiteral, pods: readonly Pod[]): string[] =>
    (explain(literal, both, pods).endpoints.pods ?? []).map(({ code }) => code);

  test('a selector that matches nothing differs from Pods that are not ready', () => {
    expect(tree(none, both, [pod('web-1', { labels: { app: 'webs', tier: 'front' } })])).toMatchInlineSnapshot(`
      "
      Not served: the Service has no endpoints. Check the Service's selector and the readiness of its pods.

      Service shop/web (LoadBalancer)

      Address    192.0.2.1 (pool main)
      Endpoints  0 ready, 0 not usable
                 no Pod of the namespace has the labels app=web (it has 1 Pods; nearest: web-1 has app=webs)
                 fix: correct spec.selector of the Service, or the labels in the template of the Pods
      Balancing  random

      Node n1  (reported 5 s ago)
        forwards 4 frontends to 0 endpoints
        192.0.2.1 is not announced: the Service has no endpoints
            fix: check the Service's selector and the readiness of its pods
        10.96.0.1 (ClusterIP) stays inside the cluster: no BGPAdvertisement selects it

      Node n2  (reported 5 s ago)
        forwards 4 frontends to 0 endpoints
        192.0.2.1 is not announced: the Service has no endpoints
            fix: check the Service's selector and the readiness of its pods
        10.96.0.1 (ClusterIP) stays inside the cluster: no BGPAdvertisement selects it

      Clients
        connections to 192.0.2.1:80/TCP time out, because no node announces it: the Service has no endpoints
        packets to 192.0.2.1:80/UDP time out, because no node announces it: the Service has no endpoints
      "
    `);
    expect(tree(none, both, [pod('web-1', waiting({ state: 'CrashLoopBackOff', restarts: 12 }))])).toMatchInlineSnapshot(`
      "
      Not served: the Service has no endpoints. Check the Service's selector and the readiness of its pods.

      Service shop/web (LoadBalancer)

      Address    192.0.2.1 (pool main)
      Endpoints  0 ready, 0 not usable
                 Pod web-1: container app is not ready (CrashLoopBackOff), 12 restarts
                 fix: see kubectl logs web-1 -c app --previous, and kubectl describe pod web-1
      Balancing  random

      Node n1  (reported 5 s ago)
        forwards 4 frontends to 0 endpoints
        192.0.2.1 is not announced: the Service has no endpoints
            fix: check the Service's selector and the readiness of its pods
        10.96.0.1 (ClusterIP) stays inside the cluster: no BGPAdvertisement selects it

      Node n2  (reported 5 s ago)
        forwards 4 frontends to 0 endpoints
        192.0.2.1 is not announced: the Service has no endpoints
            fix: check the Service's selector and the readiness of its pods
        10.96.0.1 (ClusterIP) stays inside the cluster: no BGPAdvertisement selects it

      Clients
        connections to 192.0.2.1:80/TCP time out, because no node announces it: the Service has no endpoints
        packets to 192.0.2.1:80/UDP time out, because no node announces it: the Service has no endpoints
      "
    `);
  });

  test.each<[string, Partial<Pod>]>([
    ['PodNotScheduled', { node: '', ready: false, unscheduled: '0/3 nodes are available' }],
    ['PodTerminating', { terminating: true }],
    ['PodEnded', { phase: 'Failed', ready: false }],
    ['PodContainerNotReady', waiting({})],
    ['PodGateNotMet', { ready: false, unmetGates: ['target-health.example.com/lb'] }],
    ['PodNotReady', { ready: false }],
    ['PodNotListed', { addresses: ['10.244.9.9'] }],
  ])('the reason names the Pod: %s', (code, changes) => {
    expect(codes(fabric, [pod('web-1', changes)])).toEqual([code]);
    expect(codes(fabric, [pod('web-1')])).toEqual([]);
  });

  test('a named port must exist in the Pod', () => {
    const ports = [{ name: 'http', protocol: 'TCP' as const, port: 80, nodePort: 0, targetPort: 'web' }];
    const named = cluster(fabric);
    const [service] = [...named.services.values()];
    if (service === undefined) throw new RangeError('no Service');
    const services = new Map([[key, { ...service, ports }]]);
    const explanation = explainService({ ...named, services, nodeStates: new Map() }, key, now, { pods: [pod('web-1')] });
    expect(explanation?.endpoints.pods).toEqual([reason('PodLacksPort', { pod: 'web-1', port: 'web' })]);
  });

  test('a Service without a selector has no Pods, and needs an EndpointSlice', () => {
    expect(codes({ ...withService({ hasSelector: false, selectorText: '' }), slices: [] }, [pod('web-1')])).toEqual([
      'NoSelectorNoEndpoints',
    ]);
    expect(codes(withService({ hasSelector: false, selectorText: '' }), [pod('web-1')])).toEqual([]);
  });
});

test('equal nodes are shown once when there are many, and every other node on its own', () => {
  const names = Array.from({ length: 30 }, (_, index) => `n${index + 1}`);
  const lastError = 'connection refused';
  const states = names.map((name, index) => {
    const since = new Date(now - (index + 1) * 60_000).toISOString();
    const updated = new Date(now - index * 1000).toISOString();
    return state(name, { updated, sessions: [name === 'n7' ? session({ since, state: 'Active', lastError }) : session({ since })] });
  });
  const slices = [{ service: key, ports: ['http:8080/TCP', 'echo:8080/UDP'], endpoints: ['10.244.1.1@n1'] }];
  const lines = renderService(explain({ ...fabric, slices, nodes: names.map((name) => ({ name })) }, states));
  expect(lines.filter((line) => line.startsWith('Node '))).toEqual([
    'Node n1  (reported 0 s ago)',
    expect.stringMatching(/^Node n10 {2}\(reported 9 s ago\), and likewise n11, n12, .*, n29 and 7 more$/),
    'Node n7  (reported 6 s ago)',
  ]);
  expect(lines.join('\n')).toContain('is not announced to tor: the session with "tor" is Active: connection refused');
});

test('LOCAL_PREF is sent to iBGP peers only, and the AS path is prepended for others', () => {
  const routes = (peerASN: number): unknown => {
    const peers = (fabric.peers ?? []).map((peer) => ({ ...peer, peerASN }));
    return explain({ ...fabric, peers }, both).nodes[0]?.addresses[0]?.peers[0]?.routes;
  };
  const route = { prefix: '192.0.2.1/32', communities: ['64512:100', 'large:64512:1:2'], med: 5 };
  expect(routes(64_512)).toEqual([{ ...route, localPref: 200, asPathPrepend: 0 }]);
  expect(routes(64_513)).toEqual([{ ...route, asPathPrepend: 2 }]);
});

test('--node and --peer restrict an explanation', () => {
  const two = { ...fabric, peers: [...(fabric.peers ?? []), { name: 'spine', peerAddress: '10.0.0.253' }] };
  const whole = explain(two, both);
  const { nodes } = narrowToNodeAndPeer(whole, { node: 'n2', peer: 'tor' });
  expect(nodes.map(({ node }) => node)).toEqual(['n2']);
  expect(nodes[0]?.sessions?.map(({ peer }) => peer)).toEqual(['tor']);
  expect(nodes[0]?.addresses.flatMap(({ peers }) => peers.map(({ peer }) => peer))).toEqual(['tor']);
  expect(whole.nodes[0]?.sessions?.map(({ peer }) => peer)).toEqual(['spine', 'tor']);
});
