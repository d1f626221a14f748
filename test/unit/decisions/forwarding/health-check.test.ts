import { describe, expect, test } from 'vitest';
import { decideHealthCheck, isNodeEligible } from '../../../../src/decisions/forwarding/health-check.ts';
import type { HeraldObject } from '../../../../src/model/store/snapshot.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { node, service, slice, type ServiceLiteral } from '../fixtures.ts';

const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 32_000 } as const;

function decide(literal: Omit<ServiceLiteral, 'name'>, ...slices: readonly HeraldObject[]): unknown {
  const store = new Store();
  const web = service({ name: 'web', ...local, ...literal });
  for (const object of [web, ...slices]) store.upsert(object);
  const check = decideHealthCheck(store, web, 'n1');
  return check === undefined ? undefined : { port: check.port, ...Object.fromEntries(check.localEndpoints) };
}

describe('the health check of a Service', () => {
  test('only ready endpoints of the node count', () => {
    expect(
      decide({}, slice({ service: 'web', ports: ['80'], endpoints: ['10.1.0.1@n1', '10.1.0.2@n1', '10.2.0.1@n2', '10.3.0.1'] })),
    ).toEqual({
      port: 32_000,
      4: 2,
    });
  });

  test('an address in several ports and slices counts once', () => {
    const ports = ['http:80', 'https:443'];
    const endpoints = ['10.1.0.1@n1'];
    const slices = ['a', 'b'].map((name) => slice({ service: 'web', name, ports, endpoints }));
    expect(decide({ ports }, ...slices)).toEqual({ port: 32_000, 4: 1 });
  });

  test('endpoints that terminate or are not ready do not count, even without others', () => {
    const endpoints = ['10.1.0.1@n1 draining', '10.1.0.2@n1 terminating', '10.1.0.3@n1 notready'];
    expect(decide({}, slice({ service: 'web', ports: ['80'], endpoints }))).toEqual({ port: 32_000, 4: 0 });
  });

  test('the count is zero without slices', () => {
    expect(decide({})).toEqual({ port: 32_000, 4: 0 });
  });

  test('each family of the Service is counted separately', () => {
    const slices = [
      slice({ service: 'web', name: 'four', ports: ['80'], endpoints: ['10.1.0.1@n1', '10.1.0.2@n1'] }),
      slice({ service: 'web', name: 'six', ports: ['80'], endpoints: ['fd01::1@n1'] }),
    ];
    expect(decide({ clusterIPs: ['10.96.0.1', 'fd96::1'] }, ...slices)).toEqual({ port: 32_000, 4: 2, 6: 1 });
    expect(decide({ clusterIPs: ['fd96::1'] }, ...slices)).toEqual({ port: 32_000, 6: 1 });
  });

  test('a Service of one family is answered at both addresses of a dual-stack node', () => {
    const endpoints = slice({ service: 'web', ports: ['80'], endpoints: ['10.1.0.1@n1', '10.1.0.2@n1'] });
    expect(decide({}, endpoints, node({ name: 'n1', internalIPs: ['192.0.2.1', '2001:db8::1'] }))).toEqual({ port: 32_000, 4: 2, 6: 2 });
    expect(decide({}, endpoints, node({ name: 'n1', internalIPs: ['192.0.2.1'] }))).toEqual({ port: 32_000, 4: 2 });
  });

  test.each<[string, Omit<ServiceLiteral, 'name'>]>([
    ['policy Cluster', { externalTrafficPolicy: 'Cluster' }],
    ['no port', { healthCheckNodePort: 0 }],
    ['type NodePort', { type: 'NodePort' }],
    ['another proxy', { serviceProxyName: 'other' }],
  ])('a Service with %s has no health check', (_, literal) => {
    expect(decide(literal)).toBeUndefined();
  });
});

describe('nodes eligible for load balancer traffic', () => {
  const eligible = (...objects: readonly HeraldObject[]): boolean => {
    const store = new Store();
    for (const object of objects) store.upsert(object);
    return isNodeEligible(store, 'n1');
  };
  const plain = node({ name: 'n1' });

  test('a node is eligible unless it is being deleted, about to be removed, or unknown', () => {
    expect(eligible(plain)).toBe(true);
    expect(eligible({ ...plain, metadata: { ...plain.metadata, deleting: true } })).toBe(false);
    expect(eligible({ ...plain, toBeDeleted: true })).toBe(false);
    expect(eligible(node({ name: 'n2' }))).toBe(false);
  });
});
