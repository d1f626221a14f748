import { expect, test } from 'vitest';
import { conditionsOf, currentStates } from '../../../../../src/cli/commands/tables/current-conditions.ts';
import type { Reading } from '../../../../../src/cli/reading/reading.ts';
import type { FailingEndpoints, NodeState } from '../../../../../src/model/objects/node-state.ts';
import { reason, type Reason } from '../../../../../src/model/reasons.ts';
import { cluster, metadata, type ClusterLiteral, type ServiceLiteral } from '../../../decisions/fixtures.ts';

const now = Date.UTC(2026, 0, 1);
const key = 'shop/web';
const balanced: ServiceLiteral = { name: key, clusterIPs: ['10.96.0.1'], ports: ['http:80/TCP'], assigned: ['192.0.2.1'] };
const inside: ServiceLiteral = { name: key, clusterIPs: ['10.96.0.1'], ports: ['http:80/TCP'], type: 'ClusterIP' };

/** Two nodes that announce and forward as decided, each with a session and an endpoint. */
function fabric(service: ServiceLiteral): ClusterLiteral {
  return {
    services: [service],
    slices: [{ service: key, ports: ['http:8080/TCP'], endpoints: ['10.244.1.1@n1', '10.244.2.1@n2'] }],
    pools: [{ name: 'main', addresses: ['192.0.2.0/28'] }],
    peers: [{ name: 'tor1', peerAddress: '10.0.0.1' }],
    advertisements: [{ name: 'all' }],
    nodes: [{ name: 'n1' }, { name: 'n2' }],
    config: { services: 'all' },
  };
}

function state(node: string, failing: readonly FailingEndpoints[]): NodeState {
  return {
    kind: 'NodeState',
    metadata: metadata(node),
    updated: new Date(now).toISOString(),
    consumed: {},
    sessions: [{ peer: 'tor1', address: '10.0.0.1', state: 'Established', since: '', localASN: 64512, peerASN: 64513, prefixesSent: 1 }],
    differing: [],
    checks: { mode: 'passive', answered: ['192.0.2.1 TCP 80', '10.96.0.1 TCP 80'], failing },
  };
}

/** Returns the state of the Service when n1 saw this of its connections. */
async function stateOf(service: ServiceLiteral, because?: Reason, areAll = false) {
  const failing = because === undefined ? [] : [{ service: key, family: 'IPv4', port: '80/TCP', areAll, reason: because } as const];
  const snapshot = {
    ...cluster(fabric(service)),
    nodeStates: new Map([state('n1', failing), state('n2', [])].map((one) => [one.metadata.name, one])),
  };
  const reading = {
    kind: 'cluster',
    snapshot,
    unread: [],
    now,
    conditions: () => Promise.resolve(new Map()),
    released: () => Promise.resolve([]),
    unreadableRecord: () => Promise.resolve(undefined),
  } as unknown as Reading;
  const states = await currentStates(reading);
  return { problem: states.get(key)?.problem, counted: conditionsOf(states).size };
}

const endpoints = '10.244.2.1:8080';

test('a Service without a failure has no problem', async () => {
  expect((await stateOf(balanced)).problem).toBeUndefined();
  expect((await stateOf(inside)).problem).toBeUndefined();
});

test.each([
  ['EndpointSilent', reason('EndpointSilent', { node: 'n1', endpoints }), 'partly', /^Not fully served: connections to 10\.244\.2\.1:8080/],
  [
    'EndpointUnroutable',
    reason('EndpointUnroutable', { node: 'n1', endpoints, route: 'no route' }),
    'partly',
    /^Not fully served: there is no way/,
  ],
  [
    'ClientsDoNotComplete',
    reason('ClientsDoNotComplete', { node: 'n1', endpoints }),
    'announced',
    /^Announced, not checked: .* answer connections, and clients do not complete them/,
  ],
] as const)('%s that a node saw is the problem of the Service, whatever its conditions', async (code, because, outcome, line) => {
  expect((await stateOf(balanced, because)).problem).toMatchObject({ code, outcome, line: expect.stringMatching(line) as unknown });
});

test('a port to which no endpoint belongs is a problem although another one is served', async () => {
  const service = { ...balanced, ports: ['http:80/TCP', 'admin:81/TCP'] };
  expect((await stateOf(service)).problem).toMatchObject({ code: 'PortWithoutEndpoint', outcome: 'partly' });
});

test('a failure of a Service of type ClusterIP is its problem, and it is not counted as one of the pools', async () => {
  const found = await stateOf(inside, reason('EndpointRefuses', { node: 'n1', endpoints }), true);
  expect(found).toMatchObject({ problem: { code: 'EndpointRefuses', outcome: 'partly' }, counted: 0 });
});

test('an external IP that no node announces is a problem although the assigned address is served', async () => {
  const { problem } = await stateOf({ ...balanced, externalIPs: ['203.0.113.9'] });
  expect(problem).toMatchObject({ outcome: 'partly' });
});
