import { describe, expect, test } from 'vitest';
import type { Cause } from '../../../../src/decisions/verdict/causes/causes.ts';
import { endpointPlaces, explainSilent, type PlaceOf } from '../../../../src/decisions/verdict/causes/silent-endpoints.ts';
import { explainService } from '../../../../src/explain/service/service.ts';
import type { FailingEndpoints, NodeState } from '../../../../src/model/objects/node-state.ts';
import { reason, reasonText, remedyText } from '../../../../src/model/reasons.ts';
import { cluster, metadata, type ClusterLiteral } from '../fixtures.ts';

const now = Date.UTC(2026, 0, 1);
const silent = (endpoints: string, ...nodes: readonly string[]): Cause => ({
  reason: reason('EndpointSilent', { node: nodes[0] ?? '', endpoints }),
  nodes,
});
const web: PlaceOf = (address) => ({ node: address.startsWith('10.244.3.') || address.startsWith('fd00:3:') ? 'n3' : 'n1' });

const told = (causes: readonly Cause[], placeOf = web): readonly string[] =>
  explainSilent(causes, [], [], placeOf).map(({ reason: because }) => `${reasonText(because)}. ${remedyText(because)}`);

describe('an endpoint that does not answer', () => {
  test.each([
    ['10.244.3.1:8080', 'ip route get 10.244.3.1', 'ip neigh show 10.244.3.1'],
    ['[fd00:3::1]:8080', 'ip -6 route get fd00:3::1', 'ip -6 neigh show fd00:3::1'],
  ])('sends people to its own node when that does not reach it either: %s', (endpoint, route, neighbor) => {
    const [text = ''] = told([silent(endpoint, 'n1', 'n2', 'n3')]);
    expect(text).toContain('look on node "n3"');
    expect(text).toContain(`(${route})`);
    expect(text).toContain(`(${neighbor})`);
    expect(text).not.toContain('node "n1"');
  });

  test('sends people to the way between two nodes when only others do not reach it', () => {
    const [text = ''] = told([silent('10.244.3.1:8080', 'n1', 'n2')]);
    expect(text).toContain('between node "n1" and the pod on node "n3"');
  });

  test('is on no known node where endpoints of several nodes fail alike, or the slice names none', () => {
    for (const placeOf of [web, () => ({}), () => undefined])
      expect(told([silent('10.244.1.1:8080 and 10.244.3.1:8080', 'n1')], placeOf)[0]).toContain('between node "n1" and the pod: ');
  });

  test('is named with the slice that has it where its family has several', () => {
    const snapshot = cluster({
      services: [{ name: 'shop/web', ports: ['80'] }],
      slices: [
        { service: 'shop/web', endpoints: ['10.244.1.1@n1'] },
        { service: 'shop/web', name: 'web-legacy', endpoints: ['10.244.3.77@n3'] },
        { service: 'shop/web', name: 'web-6', endpoints: ['fd00:1::1@n1'] },
      ],
    });
    const service = snapshot.services.get('shop/web');
    if (service === undefined) throw new Error('the Service was given');
    const placeOf = endpointPlaces(snapshot, service);
    expect(placeOf('10.244.3.77')).toEqual({ node: 'n3', slice: 'shop/web-legacy' });
    expect(placeOf('fd00:1::1')).toEqual({ node: 'n1' });
    expect(placeOf('10.244.9.9')).toBeUndefined();
    const [text = ''] = told([silent('10.244.3.77:8080', 'n1', 'n3')], placeOf);
    expect(text).toMatch(/^connections to 10\.244\.3\.77:8080 \(EndpointSlice shop\/web-legacy\) get no answer\. look on node "n3"/);
  });

  test('comes after a cause that explains it', () => {
    const lost = reason('EndpointAnswersLost', {
      node: 'n3',
      endpoints: '10.244.3.1:8080',
      clients: '0.0.0.0/0',
      interface: 'wg0',
      uplinks: 'eth0',
      rule: '32765 (not from all fwmark 0xca6c lookup 51820)',
      table: '51820',
      preference: 32_765,
    });
    const [first = '', second = ''] = told([silent('10.244.1.1:8080', 'n3'), { reason: lost, nodes: ['n3'] }]);
    expect(first).toContain('rule 32765');
    expect(first).toContain('ip rule del pref 32765');
    expect(second).toContain('get no answer');
  });
});

test('a limit on the node of endpoints explains why other nodes get no answers', () => {
  const fabric: ClusterLiteral = {
    services: [{ name: 'shop/web', ports: ['http:80/TCP'], assigned: ['192.0.2.1'] }],
    slices: [{ service: 'shop/web', ports: ['http:8080/TCP'], endpoints: ['10.244.1.1@n1', '10.244.3.1@n3'] }],
    pools: [{ name: 'main', addresses: ['192.0.2.0/28'] }],
    peers: [{ name: 'tor1', peerAddress: '10.0.0.1' }],
    advertisements: [{ name: 'all' }],
    nodes: [{ name: 'n1' }, { name: 'n3' }],
  };
  const failing: FailingEndpoints = {
    service: 'shop/web',
    family: 'IPv4',
    port: '80/TCP',
    areAll: false,
    reason: reason('EndpointSilent', { node: 'n3', endpoints: '10.244.1.1:8080' }),
  };
  const limit = reason('ServiceLimited', {
    node: 'n1',
    chain: 'c of table netdev ddos',
    hook: 'ingress',
    effect: 'drops',
    targets: '192.0.2.1:80 (TCP)',
    when: 'before Herald translates them',
    how: 'only 10 packets a minute pass, by rule 1',
    frontends: '192.0.2.1 TCP 80',
    share: 'some',
    remedy: 'run: nft insert rule',
  });
  const state = (name: string, more: Partial<NodeState>): NodeState => ({
    kind: 'NodeState',
    metadata: metadata(name),
    updated: new Date(now).toISOString(),
    consumed: {},
    sessions: [{ peer: 'tor1', address: '', since: '', localASN: 64_512, peerASN: 64_513, prefixesSent: 1, state: 'Established' }],
    differing: [],
    checks: { mode: 'passive', answered: ['192.0.2.1 TCP 80'], failing: [] },
    ...more,
  });
  const states = [
    state('n1', { differing: [{ service: 'shop/web', aspect: 'Programmed', reason: limit }] }),
    state('n3', { checks: { mode: 'passive', answered: ['192.0.2.1 TCP 80'], failing: [failing] } }),
  ];
  const snapshot = { ...cluster(fabric), nodeStates: new Map(states.map((one) => [one.metadata.name, one])) };
  const { verdict } = explainService(snapshot, 'shop/web', now) ?? {};
  expect(verdict?.line).toMatch(
    /^Not fully served: chain c of table netdev ddos .* \(on n1\); connections to 10\.244\.1\.1:8080 get no answer/,
  );
});
