import { describe, expect, test } from 'vitest';
import { explainService } from '../../../../src/explain/service/service.ts';
import { withLiveNode } from '../../../../src/explain/service/live-routes.ts';
import type { LiveNodes } from '../../../../src/explain/sessions/live-view.ts';
import type { LiveRoute } from '../../../../src/live/contract.ts';
import { cluster } from '../../decisions/fixtures.ts';

const snapshot = cluster({
  services: [{ name: 'web', assigned: ['192.0.2.1'] }],
  slices: [{ service: 'web', name: 'web-4', endpoints: ['10.1.0.1@n1'] }],
  pools: [{ name: 'prod', addresses: ['192.0.2.0/24'] }],
  advertisements: [{ name: 'ad' }],
  peers: [{ name: 'tor' }],
  nodes: [{ name: 'n1' }],
  running: { n1: { tor: '10.0.0.254' } },
});
const route: LiveRoute = {
  peer: 'tor',
  family: 'IPv4',
  prefix: '192.0.2.1/32',
  nextHops: ['10.0.0.1'],
  asPath: [64512],
  communities: [],
  services: ['default/web'],
};

/** Returns what is said of the route to "tor" when the agent answers with these routes. */
function explained(routes: readonly LiveRoute[]): unknown {
  const [key] = snapshot.services.keys();
  const node = key === undefined ? undefined : explainService(snapshot, key, 0)?.nodes.find(({ node }) => node === 'n1');
  if (node === undefined) throw new RangeError('no node');
  const live: LiveNodes = new Map([['n1', { started: '2026-01-01T00:00:00Z', sessions: [], routes }]]);
  const address = withLiveNode(node, live).addresses.find(({ type }) => type === 'LoadBalancer');
  return address?.peers.find(({ peer }) => peer === 'tor');
}

describe('a decided route, and the routes that the agent has sent', () => {
  test('a route that the agent has not sent carries NotSent', () => {
    expect(explained([])).toMatchObject({ live: [], reason: { code: 'NotSent', details: { node: 'n1', peer: 'tor' } } });
  });

  test('a route without a next hop counts as not sent', () => {
    expect(explained([{ ...route, nextHops: [] }])).toMatchObject({ reason: { code: 'NotSent' } });
  });

  test('a route that the agent has sent has no reason against it', () => {
    expect(explained([route])).toMatchObject({ live: [route] });
    expect(explained([route])).not.toHaveProperty('reason');
  });
});
