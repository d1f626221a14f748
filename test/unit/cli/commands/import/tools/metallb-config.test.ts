import { stringify } from 'yaml';
import { describe, expect, test } from 'vitest';
import { configMap, documentsOf, imports, losses, object, remarks, specs } from '../documents.ts';

const configuration = {
  'address-pools': [
    { name: 'Office_LAN', protocol: 'layer2', addresses: ['192.0.2.10-192.0.2.20', '2001:db8::/120'], 'auto-assign': false },
    {
      name: 'edge',
      protocol: 'bgp',
      addresses: ['198.51.100.7/24'],
      'avoid-buggy-ips': true,
      'bgp-advertisements': [{ 'aggregation-length': 32, localpref: 100, communities: ['gold'] }, { 'aggregation-length': 24 }],
    },
  ],
  peers: [
    {
      'my-asn': 64_512,
      'peer-asn': 64_513,
      'peer-address': '192.0.2.1',
      'peer-port': 1179,
      'hold-time': '120s',
      'router-id': '192.0.2.9',
      'node-selectors': [{ 'match-labels': { rack: '1' }, 'match-expressions': [{ key: 'a', operator: 'Exists' }] }],
      'bfd-profile': 'Fast',
      'ebgp-multihop': true,
      password: 'hidden',
    },
  ],
  'bgp-communities': { gold: '64512:10' },
  'bfd-profiles': [{ name: 'Fast', 'receive-interval': 300, 'minimum-ttl': 250 }],
};

const expected = {
  'IPAddressPool/office-lan': { addresses: ['192.0.2.10-192.0.2.20', '2001:db8::/120'], autoAssign: false },
  'L2Advertisement/office-lan': { ipAddressPools: ['office-lan'] },
  'IPAddressPool/edge': { addresses: ['198.51.100.0/24'], avoidBuggyIPs: true },
  'BGPAdvertisement/edge': { ipAddressPools: ['edge'], aggregationLength: 32, localPref: 100, communities: ['gold'] },
  'BGPAdvertisement/edge-2': { ipAddressPools: ['edge'], aggregationLength: 24 },
  'BGPPeer/peer1': {
    myASN: 64_512,
    peerASN: 64_513,
    peerAddress: '192.0.2.1',
    peerPort: 1179,
    holdTime: '120s',
    routerID: '192.0.2.9',
    nodeSelectors: [{ matchLabels: { rack: '1' }, matchExpressions: [{ key: 'a', operator: 'Exists' }] }],
    bfdProfile: 'fast',
    ebgpMultiHop: true,
    password: 'hidden',
  },
  'Community/bgp-communities': { communities: [{ name: 'gold', value: '64512:10' }] },
  'BFDProfile/fast': { receiveInterval: 300, minimumTtl: 250 },
};

const values = { configInline: configuration };
const argo = (helm: object, sources = false): object =>
  object(
    'argoproj.io/v1alpha1',
    'Application',
    'lb',
    sources ? { sources: [{ chart: 'other' }, { helm }] } : { source: { chart: 'metallb', helm } },
  );

describe('a configuration of MetalLB before 0.13', () => {
  test.each<[string, unknown]>([
    ['in the ConfigMap config', configMap('config', { config: configuration })],
    ['in a ConfigMap of any name, namespace and key', configMap('lb-settings', { 'metallb.yaml': configuration }, 'network')],
    ['as a file of its own', configuration],
    ['in a values file of the chart', values],
    ['in a values file as text', { configInline: stringify(configuration) }],
    ['in a values file of a chart around it', { networking: { metallb: values } }],
    ['in a HelmRelease of Flux', object('helm.toolkit.fluxcd.io/v2', 'HelmRelease', 'metallb', { values })],
    ['in a HelmChart of k3s', object('helm.cattle.io/v1', 'HelmChart', 'metallb', { valuesContent: stringify(values) })],
    ['in the values of an Application of Argo CD', argo({ values: stringify(values) })],
    ['in the valuesObject of an Application', argo({ valuesObject: values })],
    ['in one of several sources of an Application', argo({ values: stringify(values) }, true)],
  ])('is read %s', (_, raw) => {
    expect(specs(raw)).toEqual(expected);
    expect(losses(raw)).toEqual([]);
    expect(imports(raw).tools.map(({ tool }) => tool)).toEqual(['MetalLB']);
  });

  test('is read from parameters of an Application', () => {
    const parameters = [
      { name: 'configInline.address-pools[0].name', value: 'a' },
      { name: 'configInline.address-pools[0].protocol', value: 'layer2' },
      { name: 'configInline.address-pools[0].addresses[0]', value: '192.0.2.0/28' },
      { name: 'speaker.enabled', value: 'true' },
      { name: '__proto__.polluted', value: 'true' },
      { name: 'configInline.address-pools[999999999].name', value: 'far' },
    ];
    expect(specs(argo({ parameters }))).toEqual({
      'IPAddressPool/a': { addresses: ['192.0.2.0/28'] },
      'L2Advertisement/a': { ipAddressPools: ['a'] },
    });
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  test('reports every field that MetalLB did not have, and never a password', () => {
    const raw = {
      ...configuration,
      extra: 1,
      peers: [{ ...configuration.peers[0], passwort: 'hidden' }],
      'address-pools': [{ ...configuration['address-pools'][0], cidr: ['192.0.2.0/24'] }],
    };
    expect(losses(raw)).toEqual([
      expect.stringContaining('differs address-pools[0].cidr: is not a field'),
      expect.stringContaining('differs peers[0].passwort: is not a field'),
      expect.stringContaining('differs extra: is not a field'),
    ]);
    expect(remarks(raw).join()).not.toContain('hidden');
  });

  test.each<[string, object]>([
    ['layer3', { name: 'a', protocol: 'layer3', addresses: ['192.0.2.0/28'] }],
    ['no protocol', { name: 'a', addresses: ['192.0.2.0/28'] }],
  ])('has a pool with %s, which nothing announces, and says so', (_, pool) => {
    expect(losses({ 'address-pools': [pool] })).toEqual([
      'refused address-pools[0].protocol: is neither layer2 nor bgp: nothing announces the pool',
    ]);
    expect(Object.keys(specs({ 'address-pools': [pool] }))).toEqual(['IPAddressPool/a']);
  });

  test('has peers only, or is empty, or is broken', () => {
    expect(Object.keys(specs({ peers: [{ ...configuration.peers[0], 'bfd-profile': null }] }))).toEqual(['BGPPeer/peer1']);
    expect(documentsOf({ 'address-pools': [] })).toEqual([]);
    expect(losses({ 'address-pools': [], peers: 'none' })).toEqual(['refused peers: is no list']);
    expect(documentsOf(configMap('config', { config: 'address-pools: [' }))).toEqual([]);
    expect(documentsOf({ peers: ['a'] }, { peers: [{ name: 'etcd' }] }, configMap('etcd', { peers: 'a: b' }))).toEqual([]);
  });

  test('an AddressPool becomes an IPAddressPool and what announces it', () => {
    const pool = (spec: object): object => object('metallb.io/v1beta1', 'AddressPool', 'a', { addresses: ['192.0.2.0/24'], ...spec });
    expect(specs(pool({ protocol: 'layer2', autoAssign: false }))).toEqual({
      'IPAddressPool/a': { addresses: ['192.0.2.0/24'], autoAssign: false },
      'L2Advertisement/a': { ipAddressPools: ['a'] },
    });
    expect(
      specs(
        pool({
          protocol: 'bgp',
          bgpAdvertisements: [{ aggregationLength: 24, aggregationLengthV6: 64, localPref: 7, communities: ['1:2'] }],
        }),
      ),
    ).toEqual({
      'IPAddressPool/a': { addresses: ['192.0.2.0/24'] },
      'BGPAdvertisement/a': { ipAddressPools: ['a'], aggregationLength: 24, aggregationLengthV6: 64, localPref: 7, communities: ['1:2'] },
    });
    expect(Object.keys(specs(pool({ protocol: 'bgp' })))).toEqual(['IPAddressPool/a', 'BGPAdvertisement/a']);
  });

  test('an advertisement of a pool that is refused says that, and not that the pool is to be created', () => {
    const lines = losses({ 'address-pools': [{ name: 'a', protocol: 'bgp', addresses: ['127.0.0.0/8'] }] });
    expect(lines.join('\n')).toContain('names IPAddressPool "a", which was not imported');
    expect(lines.join('\n')).not.toContain('does not exist');
  });
});

describe('the MetalLB of an operator', () => {
  const operated = (spec: object): object => object('metallb.io/v1beta1', 'MetalLB', 'metallb', spec, { namespace: 'metallb-system' });

  test('is a note, never to be removed, and needs no object', () => {
    expect(losses(operated({}))).toEqual([]);
    expect(remarks(operated({})).join()).toContain('installs MetalLB');
    expect(specs(operated({}))).toEqual({});
  });

  test('names class, nodes and interval that Herald needs too', () => {
    const spec = {
      loadBalancerClass: 'example.com/lb',
      nodeSelector: { edge: '' },
      speakerGratuitousARPInterval: '30s',
      logLevel: 'debug',
    };
    const [document] = documentsOf(operated(spec));
    expect(document?.remarks.filter(({ level }) => level === 'differs').map(({ fix }) => fix)).toEqual([
      'set loadBalancerClass: example.com/lb in HeraldConfig',
      "set the same nodeSelector in Herald's DaemonSet",
      'set refreshInterval: 30s in the L2Advertisements',
    ]);
  });
});
