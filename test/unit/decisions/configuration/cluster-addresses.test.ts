import { describe, expect, test } from 'vitest';
import { clusterAddressesIn } from '../../../../src/decisions/configuration/cluster-addresses.ts';
import { conditionText, reasonText } from '../../../../src/model/reasons.ts';
import { cluster, type ClusterLiteral } from '../fixtures.ts';

const wide = (...addresses: readonly string[]) => [{ name: 'wide', addresses: [...addresses] }];
const found = (literal: ClusterLiteral) => clusterAddressesIn(cluster(literal)).get('wide');

describe('a pool that covers addresses of the cluster', () => {
  test.each<[string, ClusterLiteral, string, string]>([
    ['a BGP peer', { peers: [{ name: 'tor', peerAddress: '10.0.0.1' }], pools: wide('10.0.0.0/24') }, 'PoolHoldsPeerAddress', '10.0.0.1'],
    [
      'a BGP peer, IPv6',
      { peers: [{ name: 'tor', peerAddress: 'fd00::1' }], pools: wide('fd00::-fd00::ff') },
      'PoolHoldsPeerAddress',
      'fd00::1',
    ],
    [
      'ClusterIPs of a ServiceCIDR',
      { serviceCIDRs: { kubernetes: ['10.96.0.0/16', 'fd00:96::/112'] }, pools: wide('192.0.2.0/24', 'fd00:96::10-fd00:96::20') },
      'PoolHoldsServiceCIDR',
      'fd00:96::/112 (ServiceCIDR "kubernetes")',
    ],
    [
      'ClusterIPs of HeraldConfig',
      { config: { serviceCIDRs: ['10.96.0.0/12'] }, pools: wide('10.100.0.0/24') },
      'PoolHoldsServiceCIDR',
      '10.96.0.0/12 (serviceCIDRs of HeraldConfig/default)',
    ],
    [
      'the ClusterIP of the API server, where no range is known',
      { services: [{ name: 'default/kubernetes', type: 'ClusterIP', clusterIPs: ['10.96.0.1'] }], pools: wide('10.96.0.0/24') },
      'PoolHoldsServiceCIDR',
      '10.96.0.1/32 (the ClusterIP of Service default/kubernetes)',
    ],
    [
      'pods of a Node',
      { nodes: [{ name: 'n1', internalIPs: ['10.0.0.11'], podCIDRs: ['10.244.1.0/24', 'fd00:244:1::/64'] }], pools: wide('fd00:244::/32') },
      'PoolHoldsPodCIDR',
      'fd00:244:1::/64 (spec.podCIDRs of node "n1")',
    ],
    [
      'pods of HeraldConfig',
      { config: { podCIDRs: ['10.244.0.0/16'] }, pools: wide('10.244.7.0-10.244.7.9') },
      'PoolHoldsPodCIDR',
      '10.244.0.0/16 (podCIDRs of HeraldConfig/default)',
    ],
    [
      'an address on an interface of a node',
      { nodes: [{ name: 'n1' }], interfaces: { n1: { eth0: ['10.0.0.11/24', 'fd05::11/64'] } }, pools: wide('fd05::/64') },
      'PoolHoldsOtherAddress',
      'fd05::11, an address of eth0 on node "n1"',
    ],
    [
      'a router from which a node takes routes',
      { nodes: [{ name: 'n1' }], routers: { n1: ['10.2.0.1'] }, pools: wide('10.2.0.0/24') },
      'PoolHoldsOtherAddress',
      '10.2.0.1, a router of node "n1"',
    ],
    [
      'an endpoint of the API server',
      { slices: [{ service: 'default/kubernetes', endpoints: ['10.3.0.5'] }], pools: wide('10.3.0.0/24') },
      'PoolHoldsOtherAddress',
      '10.3.0.5, an address of the API server (endpoint of Service default/kubernetes)',
    ],
  ])('%s', (_, literal, code, named) => {
    const reason = found(literal);
    expect(reason?.code).toBe(code);
    if (reason === undefined) return;
    expect(reasonText(reason)).toContain(named);
    expect(reasonText(reason)).toContain('IPAddressPool "wide"');
    expect(conditionText(reason)).toContain(named);
  });

  test('a pool beside all of them has no reason', () => {
    expect(
      found({
        pools: wide('192.0.2.0/24', '2001:db8::/64'),
        peers: [{ name: 'tor', peerAddress: '10.0.0.1' }],
        nodes: [{ name: 'n1', podCIDRs: ['10.244.1.0/24'] }],
        serviceCIDRs: { kubernetes: ['10.96.0.0/16'] },
      }),
    ).toBeUndefined();
  });

  test.each([
    ['10.5.0.0/28', '10.5.0.255-10.5.0.255'],
    ['fd05::-fd05::f', '10.5.0.240-10.5.0.255'],
  ])('the edges of a link are no reason: %s, %s', (...addresses) => {
    const link = { nodes: [{ name: 'n1' }], interfaces: { n1: { eth0: ['10.5.0.100/24', 'fd05::100/64'] } } };
    expect(found({ ...link, pools: wide(...addresses) })).toBeUndefined();
  });

  test('the address of a Node comes first, then a peer, ClusterIPs and pods', () => {
    const all: ClusterLiteral = {
      pools: wide('10.0.0.0/8'),
      nodes: [{ name: 'n1', internalIPs: ['10.0.0.11'], podCIDRs: ['10.244.1.0/24'] }],
      peers: [{ name: 'tor', peerAddress: '10.0.0.1' }],
      serviceCIDRs: { kubernetes: ['10.96.0.0/16'] },
    };
    const pods = [{ name: 'n1', internalIPs: ['192.0.2.11'], podCIDRs: ['10.244.1.0/24'] }];
    expect(found(all)?.code).toBe('PoolHoldsNodeAddress');
    expect(found({ ...all, nodes: pods })?.code).toBe('PoolHoldsPeerAddress');
    expect(found({ ...all, nodes: pods, peers: [] })?.code).toBe('PoolHoldsServiceCIDR');
    expect(found({ ...all, nodes: pods, peers: [], serviceCIDRs: {} })?.code).toBe('PoolHoldsPodCIDR');
  });
});
