import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { address } from '../../../../src/net/address.ts';
import {
  loadBalancerGroups,
  otherLoadBalancers,
  providersWithoutLoadBalancer,
} from '../../../../src/decisions/configuration/other-load-balancers.ts';
import { cluster, node, type ClusterLiteral } from '../fixtures.ts';

const found = (literal: ClusterLiteral, groups: readonly string[] = ['apps', 'herald.dev']): string[] =>
  otherLoadBalancers({ snapshot: cluster(literal), groups });

function ofProvider(providerID: string): string[] {
  const n1 = { ...node({ name: 'n1' }), providerID };
  return otherLoadBalancers({ snapshot: { ...cluster({}), nodes: new Map([['n1', n1]]) }, groups: [] });
}

describe('evidence of another load balancer controller', () => {
  test('a cluster with pools, Services and foreign API groups has none', () => {
    const pools = [{ name: 'main', addresses: ['192.0.2.0/24'] }];
    const services = [
      { name: 'shop/ours', assigned: ['192.0.2.1'] },
      { name: 'shop/waits' },
      { name: 'shop/classed', loadBalancerClass: 'example.com/lb', assigned: ['203.0.113.1'] },
    ];
    expect(found({ pools, services, nodes: [{ name: 'n1' }] })).toEqual([]);
  });

  test.each(Object.entries(loadBalancerGroups))('the API group %s shows %s', (group, name) => {
    expect(found({}, ['apps', group])).toEqual([`the API group ${group} of ${name}`]);
  });

  test.each(['aws:///eu-west-1a/i-0', 'gce://project/zone/name', 'k3s://n1', 'azure:///subscriptions/x'])(
    'a Node with the providerID %s shows a cloud',
    (providerID) => {
      expect(ofProvider(providerID)).toEqual([`node n1 is of the cloud "${providerID.split(':')[0]}"`]);
    },
  );

  test.each(['', 'metal3://ns/host', 'kind://docker/kind/n1', 'vsphere://42'])(
    'a Node with the providerID "%s" shows none',
    (providerID) => {
      expect(ofProvider(providerID)).toEqual([]);
    },
  );

  test('an address that Herald gave from a pool that is gone shows none', () => {
    const recordedPools = [{ address: address('203.0.113.1'), pool: 'old', labels: {} }];
    expect(found({ services: [{ name: 'shop/a', assigned: ['203.0.113.1'], recordedPools }] })).toEqual([]);
  });

  test('an address outside our pools, or a hostname, of a Service without a class shows another controller', () => {
    const pools = [{ name: 'main', addresses: ['192.0.2.0/24'] }];
    expect(
      found({
        pools,
        services: [
          { name: 'shop/b', assigned: ['203.0.113.1'] },
          { name: 'shop/a', assigned: ['2001:db8::1'] },
        ],
      }),
    ).toEqual(['Service shop/a has an address of another controller']);
  });
});

test('the chart looks for the same API groups and providers', () => {
  const helpers = readFileSync(join(import.meta.dirname, '../../../../manifests/chart/templates/_helpers.tpl'), 'utf8');
  const listed = (name: string): string[] => (new RegExp(`\\$${name} := list (.*?) -?}}`).exec(helpers)?.[1] ?? '').match(/[\w.]+/g) ?? [];
  expect(listed('groups')).toEqual(Object.keys(loadBalancerGroups));
  expect(listed('without')).toEqual([...providersWithoutLoadBalancer]);
});
