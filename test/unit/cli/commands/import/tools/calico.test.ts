import { describe, expect, test } from 'vitest';
import { labelSelectors } from '../../../../../../src/cli/commands/import/tools/calico/selector.ts';
import { losses, object, remarks, specs } from '../documents.ts';

const configuration = (spec: object, name = 'default'): object => object('projectcalico.org/v3', 'BGPConfiguration', name, spec);
const peer = (spec: object): object =>
  object('crd.projectcalico.org/v1', 'BGPPeer', 'tor1', { peerIP: '192.0.2.1', asNumber: 64_513, ...spec });
const pool = (spec: object): object =>
  object('projectcalico.org/v3', 'IPPool', 'services', { cidr: '198.51.100.0/28', allowedUses: ['LoadBalancer'], ...spec });
const base = { peerAddress: '192.0.2.1', myASN: 64_512, peerASN: 64_513 };

describe('a selector of Calico', () => {
  const equal = (key: string, ...values: string[]): object => ({ key, operator: 'In', values });
  const not = (key: string, ...values: string[]): object => ({ key, operator: 'NotIn', values });
  const has = (key: string): object => ({ key, operator: 'Exists' });
  const lacks = (key: string): object => ({ key, operator: 'DoesNotExist' });

  test.each<[string, readonly (readonly object[])[]]>([
    ['', []],
    ['all()', []],
    ['global()', []],
    ["rack == '1'", [[equal('rack', '1')]]],
    ['rack == "1"', [[equal('rack', '1')]]],
    ["rack != '1'", [[not('rack', '1')]]],
    ["rack in {'1', '2'}", [[equal('rack', '1', '2')]]],
    ["rack not in {'1','2'}", [[not('rack', '1', '2')]]],
    ['has(node-role.kubernetes.io/control-plane)', [[has('node-role.kubernetes.io/control-plane')]]],
    ['!has(a)', [[lacks('a')]]],
    ["a == '1' && has(b)", [[equal('a', '1'), has('b')]]],
    ["a == '1' || has(b)", [[equal('a', '1')], [has('b')]]],
    [
      "a == '1' && (b == '2' || c == '3')",
      [
        [equal('a', '1'), equal('b', '2')],
        [equal('a', '1'), equal('c', '3')],
      ],
    ],
    ["!(a == '1' || has(b))", [[not('a', '1'), lacks('b')]]],
    ["!(a == '1' && has(b))", [[not('a', '1')], [lacks('b')]]],
    ['!!has(a)', [[has('a')]]],
    ["all() || a == '1'", []],
    ["all() && a == '1'", [[equal('a', '1')]]],
  ])('%s becomes %j', (text, expected) => {
    expect(labelSelectors(text)).toEqual({ ok: true, selectors: expected.map((matchExpressions) => ({ matchExpressions })) });
  });

  test.each<[string, string]>([
    ["a contains 'x'", 'compares by contains'],
    ["a starts with 'x'", 'compares by starts with'],
    ["a ends with 'x'", 'compares by ends with'],
    ['!all()', 'selects nothing'],
    ['a == x', 'where a value in quotes is expected'],
    ["a == '1' b", 'has b'],
    ['a', 'compares by nothing'],
    ['(a == "1"', 'lacks )'],
    ['a == "1', 'cannot be read'],
    ['&& a', 'has && where a label is expected'],
    ['!'.repeat(4000), 'nested too deeply'],
    ['('.repeat(4000), 'nested too deeply'],
    ['x'.repeat(5000), 'cannot be read'],
    [Array.from({ length: 40 }, (_, index) => `has(a${index})`).join(' || '), 'more than 32 label selectors'],
    [Array.from({ length: 12 }, (_, index) => `(has(a${index}) || has(b${index}))`).join(' && '), 'more than 32 label selectors'],
  ])('%s is refused', (text, problem) => {
    expect(labelSelectors(text)).toEqual({ ok: false, problem: expect.stringContaining(problem) as string });
  });
});

describe('a BGPPeer of Calico', () => {
  test.each<[object, object]>([
    [{}, {}],
    [{ peerIP: '192.0.2.1:1179' }, { peerPort: 1179 }],
    [{ peerIP: '192.0.2.1:179' }, {}],
    [{ peerIP: '2001:db8::1' }, { peerAddress: '2001:db8::1' }],
    [{ peerIP: '[2001:db8::1]:1179' }, { peerAddress: '2001:db8::1', peerPort: 1179 }],
    [{ asNumber: '4200000000' }, { peerASN: 4_200_000_000 }],
    [{ asNumber: '65000.1' }, { peerASN: 4_259_840_001 }],
    [{ node: 'node1' }, { nodeSelectors: [{ matchLabels: { 'kubernetes.io/hostname': 'node1' } }] }],
    [{ nodeSelector: 'all()' }, {}],
    [
      { nodeSelector: "rack == '1' || rack == '2'" },
      {
        nodeSelectors: [
          { matchExpressions: [{ key: 'rack', operator: 'In', values: ['1'] }] },
          { matchExpressions: [{ key: 'rack', operator: 'In', values: ['2'] }] },
        ],
      },
    ],
    [{ ttlSecurity: 1 }, { ttlSecurityHops: 1 }],
    [{ localASNumber: 64_600 }, { localASN: 64_600 }],
    [{ maxRestartTime: '60s', sourceAddress: 'UseNodeIP' }, { enableGracefulRestart: true }],
  ])('%j', (spec, expected) => {
    expect(losses(peer(spec))).toEqual([]);
    expect(specs(peer(spec))).toEqual({ 'BGPPeer/tor1': { ...base, ...expected } });
  });

  test('has the AS number of the default configuration', () => {
    expect(specs(configuration({ asNumber: 64_999 }), peer({}))).toEqual({ 'BGPPeer/tor1': { ...base, myASN: 64_999 } });
    expect(specs(configuration({ asNumber: 1 }, 'node.a'), peer({}))).toEqual({ 'BGPPeer/tor1': base });
  });

  test('with peers among the nodes stays with Calico', () => {
    expect(specs(peer({ peerIP: undefined, asNumber: undefined, peerSelector: 'has(rr)', nodeSelector: 'all()' }))).toEqual({});
    expect(losses(peer({ peerIP: undefined, peerSelector: 'has(rr)' }))).toEqual([]);
  });

  test('is refused when its nodes cannot be selected, so that it is not for every node', () => {
    expect(specs(peer({ nodeSelector: "a contains 'x'" }))).toEqual({});
    expect(losses(peer({ nodeSelector: "a contains 'x'" }))).toEqual([
      expect.stringContaining('refused spec.nodeSelector: compares by contains'),
    ]);
  });

  test('names what is lost', () => {
    const lost = { keepOriginalNextHop: true, numAllowedLocalASNumbers: 1, filters: ['a'], somethingNew: 1 };
    expect(losses(peer(lost)).map((line) => line.split(':')[0])).toEqual([
      'differs spec.keepOriginalNextHop',
      'differs spec.numAllowedLocalASNumbers',
      'differs spec.filters',
      'differs spec.somethingNew',
    ]);
    expect(losses(peer({ password: { secretKeyRef: { name: 'bgp', key: 'pass.word' } } }))).toEqual([
      expect.stringContaining('password.secretKeyRef.name: names Secret bgp'),
    ]);
  });
});

describe('a BGPConfiguration of Calico', () => {
  test('has networks of load balancers, which become pools that are announced as blocks', () => {
    const one = configuration({
      nodeToNodeMeshEnabled: false,
      serviceLoadBalancerIPs: [{ cidr: '198.51.100.7/24' }, { cidr: '2001:db8::/112' }],
      communities: [{ name: 'gold', value: '64512:10' }],
      prefixAdvertisements: [{ cidr: '198.51.0.0/16', communities: ['gold', '1:2:3'] }],
    });
    expect(losses(one)).toEqual([]);
    expect(specs(one)).toEqual({
      'IPAddressPool/default-load-balancers-1': { addresses: ['198.51.100.0/24'] },
      'BGPAdvertisement/default-load-balancers-1': {
        aggregationLength: 24,
        communities: ['64512:10', 'large:1:2:3'],
        ipAddressPools: ['default-load-balancers-1'],
      },
      'IPAddressPool/default-load-balancers-2': { addresses: ['2001:db8::/112'] },
      'BGPAdvertisement/default-load-balancers-2': { aggregationLengthV6: 112, ipAddressPools: ['default-load-balancers-2'] },
    });
  });

  test('makes no pool beside an IPPool for load balancers', () => {
    const objects = [configuration({ serviceLoadBalancerIPs: [{ cidr: '198.51.100.0/24' }] }), pool({})];
    expect(specs(...objects)).toEqual({
      'IPAddressPool/services': { addresses: ['198.51.100.0/28'] },
      'BGPAdvertisement/default-load-balancers': {},
    });
    expect(losses(...objects)).toEqual([expect.stringContaining('is announced as a network by Calico')]);
  });

  test('announces ClusterIPs and external IPs, which need a policy', () => {
    const one = configuration({
      serviceClusterIPs: [{ cidr: '10.96.0.0/12' }],
      serviceExternalIPs: [{ cidr: '203.0.113.0/24' }, { cidr: '2001:db8:1::/64' }],
    });
    expect(losses(one)).toEqual([]);
    expect(specs(one)).toEqual({
      'BGPAdvertisement/default-cluster-ips': { addressTypes: ['ClusterIP'] },
      'ExternalIPPolicy/default-external-ips': { namespaceSelector: {}, cidrs: ['203.0.113.0/24', '2001:db8:1::/64'] },
      'BGPAdvertisement/default-external-ips': { addressTypes: ['ExternalIP'] },
    });
  });

  test('loses communities of other networks by name', () => {
    expect(losses(configuration({ prefixAdvertisements: [{ cidr: '10.0.0.0/8', communities: ['1:2'] }] }))).toEqual([
      expect.stringContaining('differs spec.prefixAdvertisements[0].cidr: is 10.0.0.0/8, which is no network of serviceLoadBalancerIPs'),
    ]);
  });
});

describe('an IPPool of Calico', () => {
  test.each<[object, object]>([
    [{}, {}],
    [{ disabled: true }, { draining: true }],
    [{ assignmentMode: 'Manual' }, { autoAssign: false }],
    [
      { namespaceSelector: "tier == 'edge'" },
      { serviceAllocation: { namespaceSelectors: [{ matchExpressions: [{ key: 'tier', operator: 'In', values: ['edge'] }] }] } },
    ],
    [{ cidr: '2001:db8::/112', blockSize: 122 }, { addresses: ['2001:db8::/112'] }],
  ])('for load balancers with %j', (spec, expected) => {
    expect(losses(pool(spec))).toEqual([]);
    expect(specs(pool(spec))).toEqual({ 'IPAddressPool/services': { addresses: ['198.51.100.0/28'], ...expected } });
  });

  test.each([[['Workload', 'Tunnel']], [undefined]])('for pods (%j) stays with Calico', (allowedUses) => {
    const one = pool({ allowedUses, natOutgoing: true, ipipMode: 'Always', nodeSelector: 'all()' });
    expect([specs(one), losses(one)]).toEqual([{}, []]);
    expect(remarks(one).join()).toContain('the pool is for pods');
  });

  test('is not open to every namespace when its selector cannot be read', () => {
    expect(specs(pool({ namespaceSelector: "a contains 'x'" }))).toEqual({
      'IPAddressPool/services': { addresses: ['198.51.100.0/28'], autoAssign: false },
    });
    expect(losses(pool({ namespaceSelector: "a contains 'x'" }))).toHaveLength(1);
  });
});
