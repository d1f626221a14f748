import { describe, expect, test } from 'vitest';
import { endpointsPlacedOn, judgePlace } from '../../../../src/decisions/forwarding/misplaced-endpoints.ts';
import { address } from '../../../../src/net/address.ts';
import type { RouteAnswer } from '../../../../src/net/endpoint-way.ts';
import { cluster } from '../fixtures.ts';

const service = 'shop/web';

/** Endpoints of node n1 by its EndpointSlice: one in its range, and one in that of n2, of both families. */
const snapshot = cluster({
  services: [{ name: service }],
  slices: [
    { service, endpoints: ['10.244.1.1@n1', '10.244.2.1@n1', '10.0.0.1@n1', '10.244.2.2@n2', '10.9.0.1@n1'] },
    { service, name: 'web-6', endpoints: ['fd00:1::1@n1', 'fd00:2::1@n1'] },
  ],
  nodes: [
    { name: 'n1', internalIPs: ['10.0.0.1'], podCIDRs: ['10.244.1.0/24', 'fd00:1::/64'] },
    { name: 'n2', internalIPs: ['10.0.0.2', 'fd00::2'], podCIDRs: ['10.244.2.0/24', 'fd00:2::/64'] },
  ],
});
const [key = expect.fail()] = snapshot.services.keys();
const placed = endpointsPlacedOn(snapshot, [key], 'n1');

const by = (gateway: string): RouteAnswer => ({ hop: { index: 2, address: address(gateway), isGateway: true } });
const direct = (of: string): RouteAnswer => ({ hop: { index: 3, address: address(of), isGateway: false } });
const spread: RouteAnswer = { isSpread: true };

function judge(of: string, route: RouteAnswer): unknown {
  const endpoint = placed.get(of) ?? expect.fail(`${of} is not placed on n1`);
  const way = judgePlace(snapshot, 'n1', endpoint, route, ({ value }) => value === address('10.244.1.254').value);
  return way?.kind === 'onOtherNode' ? `${way.other} by ${way.shownBy}` : way;
}

test('the endpoints of the node are those that EndpointSlices place there, without the host itself', () => {
  expect([...placed.keys()]).toEqual(['10.244.1.1', '10.244.2.1', '10.9.0.1', 'fd00:1::1', 'fd00:2::1']);
  expect(placed.get('10.244.2.1')?.slice).toMatch(/^shop\//);
});

describe('an endpoint', () => {
  test.each([
    ['in the range of another node, behind a router', '10.244.2.1', by('10.0.0.254'), 'n2 by range'],
    ['in the range of another node, behind several routers', '10.244.2.1', spread, 'n2 by range'],
    ['of IPv6 in the range of another node', 'fd00:2::1', by('fe80::1'), 'n2 by range'],
    ['in no range, behind another node', '10.9.0.1', by('10.0.0.2'), 'n2 by route'],
    ['in the range of another node, on an interface of this one', '10.244.2.1', direct('10.244.2.1'), undefined],
    ['in the range of another node, behind an address of this host', '10.244.2.1', by('10.244.1.254'), undefined],
    ['in the range of its node, behind a router', '10.244.1.1', by('10.0.0.254'), undefined],
    ['in no range, behind a router', '10.9.0.1', by('10.0.0.254'), undefined],
    ['without a known route', '10.244.2.1', {}, undefined],
  ] as const)('%s is judged by range and route', (_, of, route, expected) => {
    expect(judge(of, route)).toBe(expected);
  });
});
