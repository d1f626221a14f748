import { describe, expect, test } from 'vitest';
import { forecastService } from '../../../../src/explain/service/forecast.ts';
import { explainService, type ServiceExplanation } from '../../../../src/explain/service/service.ts';
import { cluster, type ClusterLiteral } from '../../decisions/fixtures.ts';

const base: ClusterLiteral = {
  services: [{ name: 'shop/web', ports: ['http:80/TCP'], ipFamilies: [4, 6], ipFamilyPolicy: 'RequireDualStack' }],
  slices: [
    { service: 'shop/web', ports: ['http:8080/TCP'], endpoints: ['10.244.1.1@node1'] },
    { service: 'shop/web', name: 'web-6', ports: ['http:8080/TCP'], endpoints: ['fd00:1::1@node1'] },
  ],
  pools: [{ name: 'public', addresses: ['192.0.2.7/32', '2001:db8::7/128'] }],
  peers: [{ name: 'tor', dualStackAddressFamily: true }],
  advertisements: [{ name: 'all' }],
  nodes: [{ name: 'node1' }, { name: 'node2' }],
};

function forecast(literal: ClusterLiteral): ServiceExplanation | undefined {
  const snapshot = cluster(literal);
  const present = explainService(snapshot, 'shop/web', 0);
  return present === undefined ? undefined : forecastService(snapshot, present, 0);
}

describe('the forecast for a Service of manifests', () => {
  test('names the addresses of both families, the pool and the nodes', () => {
    const { verdict, nodes = [], allocation, status } = forecast(base) ?? {};
    expect(verdict).toEqual({
      outcome: 'unknown',
      line: 'Would be served at 192.0.2.7 and 2001:db8::7 from pool public via node1 and node2.',
    });
    expect(nodes.map(({ addresses }) => addresses.filter(({ type }) => type === 'LoadBalancer').map(({ address }) => address))).toEqual([
      ['192.0.2.7', '2001:db8::7'],
      ['192.0.2.7', '2001:db8::7'],
    ]);
    expect(allocation?.addresses).toEqual([]);
    expect(status).toBeUndefined();
  });

  test.each<[string, ClusterLiteral, string, RegExp]>([
    [
      'no pool has the family',
      { ...base, pools: [{ name: 'public', addresses: ['192.0.2.7/32'] }] },
      'PoolHasNoFamily',
      /^Would not be served: .+ [A-Z].+\.$/,
    ],
    ['no advertisement has the pool', { ...base, advertisements: [] }, 'NoAdvertisement', /^Would not be served: .+ [A-Z].+\.$/],
    ['no node is in the manifests', { ...base, nodes: [] }, 'NoNodes', /^Not known whether it would be served: /],
    ['no endpoint is ready', { ...base, slices: [] }, 'NoEndpoints', /^Would not be served: /],
    [
      'endpoints have one family only',
      { ...base, slices: (base.slices ?? []).slice(0, 1) },
      'NoEndpoints',
      /^Would be partly served, not at 2001:db8::7: /,
    ],
  ])('names the cause and the fix when %s', (_, literal, code, line) => {
    const { verdict } = forecast(literal) ?? {};
    expect(verdict).toMatchObject({ outcome: 'unknown', code });
    expect(verdict?.line).toMatch(line);
  });

  test('is absent when the Service has an address, agents report, or the Service belongs to another program', () => {
    const [web] = base.services ?? [];
    if (web === undefined) throw new RangeError('the Service');
    expect(forecast({ ...base, services: [{ ...web, assigned: ['192.0.2.7', '2001:db8::7'] }] })).toBeUndefined();
    expect(forecast({ ...base, services: [{ ...web, loadBalancerClass: 'example.com/other' }] })).toBeUndefined();
    expect(forecast({ ...base, running: { node1: { tor: '10.0.0.254' } } })).toBeUndefined();
  });
});
