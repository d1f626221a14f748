import { describe, expect, test } from 'vitest';
import { losses, object, remarks, specs } from '../documents.ts';

const pool = (spec: object): object => object('cilium.io/v2', 'CiliumLoadBalancerIPPool', 'a', spec);
const layer2 = (spec: object): object => object('cilium.io/v2alpha1', 'CiliumL2AnnouncementPolicy', 'a', spec);
const addressesOf = (spec: object): unknown => (specs(pool(spec))['IPAddressPool/a'] as { addresses: unknown }).addresses;

describe('a CiliumLoadBalancerIPPool', () => {
  test.each<[object, readonly string[]]>([
    [{ blocks: [{ cidr: '192.0.2.0/24' }, { cidr: '2001:db8::/64' }] }, ['192.0.2.0/24', '2001:db8::/64']],
    [{ blocks: [{ cidr: '192.0.2.77/24' }, { cidr: '2001:db8::1/64' }] }, ['192.0.2.0/24', '2001:db8::/64']],
    [{ blocks: [{ start: '192.0.2.5', stop: '192.0.2.9' }, { start: '192.0.2.1' }] }, ['192.0.2.5-192.0.2.9', '192.0.2.1/32']],
    [{ blocks: [{ start: '2001:db8::5', stop: '2001:db8::9' }, { start: '2001:db8::1' }] }, ['2001:db8::5-2001:db8::9', '2001:db8::1/128']],
    [{ blocks: [{ cidr: '192.0.2.0/24' }], allowFirstLastIPs: 'No' }, ['192.0.2.1-192.0.2.254']],
    [{ blocks: [{ cidr: '2001:db8::/120' }], allowFirstLastIPs: 'No' }, ['2001:db8::1-2001:db8::fe']],
    [{ blocks: [{ cidr: '192.0.2.4/31' }, { cidr: '192.0.2.9/32' }], allowFirstLastIPs: 'No' }, ['192.0.2.4/31', '192.0.2.9/32']],
    [
      { blocks: [{ cidr: '192.0.2.8/30' }, { start: '192.0.2.1', stop: '192.0.2.3' }], allowFirstLastIPs: 'No' },
      ['192.0.2.9-192.0.2.10', '192.0.2.1-192.0.2.3'],
    ],
    [{ blocks: [{ cidr: '192.0.2.0/24' }], allowFirstLastIPs: 'Yes' }, ['192.0.2.0/24']],
    [{ cidrs: [{ cidr: '192.0.2.0/24' }] }, ['192.0.2.0/24']],
  ])('%j has the addresses %j', (spec, addresses) => {
    expect(addressesOf(spec)).toEqual(addresses);
    expect(losses(pool(spec))).toEqual([]);
  });

  test('host bits that do not count are named with the network', () => {
    expect(remarks(pool({ blocks: [{ cidr: '192.0.2.77/24' }] })).join()).toContain(
      'spec.blocks[0].cidr: has host bits, which do not count: it is 192.0.2.0/24',
    );
  });

  test('a disabled pool drains', () => {
    expect(specs(pool({ blocks: [{ cidr: '192.0.2.0/24' }], disabled: true }))).toEqual({
      'IPAddressPool/a': { addresses: ['192.0.2.0/24'], draining: true },
    });
    expect(specs(pool({ blocks: [{ cidr: '192.0.2.0/24' }], disabled: false }))).toEqual({
      'IPAddressPool/a': { addresses: ['192.0.2.0/24'] },
    });
  });

  test.each<[object, object | undefined]>([
    [{}, undefined],
    [{ matchLabels: { tier: 'edge' } }, { serviceSelectors: [{ matchLabels: { tier: 'edge' } }] }],
    [{ matchLabels: { 'io.kubernetes.service.namespace': 'shop' } }, { namespaces: ['shop'] }],
    [
      {
        matchExpressions: [
          { key: 'io.kubernetes.service.namespace', operator: 'In', values: ['a', 'b'] },
          { key: 'x', operator: 'NotIn', values: ['y'] },
        ],
      },
      { namespaces: ['a', 'b'], serviceSelectors: [{ matchExpressions: [{ key: 'x', operator: 'NotIn', values: ['y'] }] }] },
    ],
  ])('serviceSelector %j becomes %j', (serviceSelector, serviceAllocation) => {
    const one = pool({ blocks: [{ cidr: '192.0.2.0/24' }], serviceSelector });
    expect(specs(one)['IPAddressPool/a']).toEqual({
      addresses: ['192.0.2.0/24'],
      ...(serviceAllocation === undefined ? {} : { serviceAllocation }),
    });
    expect(losses(one)).toEqual([]);
  });

  test.each([
    { matchLabels: { 'io.kubernetes.service.name': 'web' } },
    { matchExpressions: [{ key: 'io.kubernetes.service.namespace', operator: 'NotIn', values: ['a'] }] },
    { matchExpressions: [{ key: 'io.kubernetes.service.name', operator: 'Exists' }] },
  ])('a selector that Herald does not have (%j) never opens the pool to every Service', (serviceSelector) => {
    const one = pool({ blocks: [{ cidr: '192.0.2.0/24' }], serviceSelector });
    expect(specs(one)['IPAddressPool/a']).toEqual({ addresses: ['192.0.2.0/24'], autoAssign: false });
    expect(losses(one)).toEqual([expect.stringContaining('refused spec.serviceSelector: selects by io.kubernetes.service')]);
  });
});

describe('a CiliumL2AnnouncementPolicy', () => {
  test('becomes an L2Advertisement with selectors and the names of interfaces', () => {
    const one = layer2({
      loadBalancerIPs: true,
      nodeSelector: { matchExpressions: [{ key: 'x', operator: 'DoesNotExist' }] },
      serviceSelector: { matchLabels: { a: 'b' } },
      interfaces: ['^eth0$', '^br0$'],
    });
    expect(specs(one)).toEqual({
      'L2Advertisement/a': {
        nodeSelectors: [{ matchExpressions: [{ key: 'x', operator: 'DoesNotExist' }] }],
        serviceSelectors: [{ matchLabels: { a: 'b' } }],
        interfaces: ['eth0', 'br0'],
      },
    });
    expect(losses(one)).toEqual([]);
  });

  test.each([['^eth[0-9]+'], ['en.*'], ['^eth0|^eth1']])(
    'the regular expression %s is lost, and no interface is named instead',
    (pattern) => {
      const one = layer2({ loadBalancerIPs: true, interfaces: ['^eth0$', pattern] });
      expect(specs(one)).toEqual({ 'L2Advertisement/a': {} });
      expect(losses(one)).toEqual([expect.stringContaining(`differs spec.interfaces: has the regular expression ${pattern}`)]);
    },
  );

  test.each<[object, readonly string[]]>([
    [{}, []],
    [{ externalIPs: true }, ['differs spec.externalIPs: has no equivalent: an L2Advertisement announces addresses of pools only']],
    [{ loadBalancerIPs: false }, []],
  ])('%j announces no address of a pool, so nothing is written', (spec, lines) => {
    expect(specs(layer2(spec))).toEqual({});
    expect(losses(layer2(spec))).toEqual(lines);
  });

  test('a selector by namespace writes no L2Advertisement that would announce more', () => {
    const one = layer2({ loadBalancerIPs: true, serviceSelector: { matchLabels: { 'io.kubernetes.service.namespace': 'shop' } } });
    expect(specs(one)).toEqual({});
    expect(losses(one)).toEqual([expect.stringContaining('refused spec.serviceSelector: selects by namespace (shop)')]);
  });
});

const cluster = (spec: object = {}, peer: object = {}, instance: object = {}): object =>
  object('cilium.io/v2', 'CiliumBGPClusterConfig', 'lab', {
    nodeSelector: { matchLabels: { bgp: 'on' } },
    bgpInstances: [
      {
        name: 'main',
        localASN: 64_512,
        peers: [{ name: 'tor1', peerASN: 64_513, peerAddress: '192.0.2.1', peerConfigRef: { name: 'fabric' }, ...peer }],
        ...instance,
      },
    ],
    ...spec,
  });
const families = [
  { afi: 'ipv4', safi: 'unicast', advertisements: { matchLabels: { advertise: 'bgp' } } },
  { afi: 'ipv6', safi: 'unicast', advertisements: { matchLabels: { advertise: 'bgp' } } },
];
const config = (spec: object = {}): object => object('cilium.io/v2', 'CiliumBGPPeerConfig', 'fabric', { families, ...spec });
const advertisement = (entry: object = {}, labels = { advertise: 'bgp' }): object =>
  object(
    'cilium.io/v2',
    'CiliumBGPAdvertisement',
    'services',
    { advertisements: [{ advertisementType: 'Service', service: { addresses: ['LoadBalancerIP'] }, selector: {}, ...entry }] },
    { labels },
  );
const nodes = { nodeSelectors: [{ matchLabels: { bgp: 'on' } }] };
const tor1 = { myASN: 64_512, peerASN: 64_513, peerAddress: '192.0.2.1', ...nodes };

describe('the BGP control plane of Cilium', () => {
  test('a cluster, a peer configuration and an advertisement become BGPPeers and a BGPAdvertisement', () => {
    const objects = [
      cluster(),
      config({
        transport: { peerPort: 1179 },
        timers: { connectRetryTimeSeconds: 12, holdTimeSeconds: 9, keepAliveTimeSeconds: 3 },
        gracefulRestart: { enabled: true, restartTimeSeconds: 120 },
        ebgpMultihop: 4,
      }),
      advertisement({
        service: { addresses: ['LoadBalancerIP', 'ClusterIP'] },
        selector: { matchLabels: { tier: 'edge' } },
        attributes: {
          communities: { standard: ['64512:1', '4226809857'], wellKnown: ['no-export', 'planned-shut', 'llgr-stale'], large: ['1:2:3'] },
          localPreference: 150,
        },
      }),
    ];
    expect(losses(...objects)).toEqual([]);
    expect(specs(...objects)).toEqual({
      'BGPPeer/lab-main-tor1': {
        ...tor1,
        peerPort: 1179,
        connectTime: '12s',
        holdTime: '9s',
        keepaliveTime: '3s',
        enableGracefulRestart: true,
        ebgpMultiHop: true,
        dualStackAddressFamily: true,
      },
      'BGPAdvertisement/services': {
        addressTypes: ['LoadBalancer', 'ClusterIP'],
        communities: ['64512:1', '64496:1', 'no-export', 'graceful-shutdown', '65535:6', 'large:1:2:3'],
        localPref: 150,
        serviceSelectors: [{ matchLabels: { tier: 'edge' } }],
        peers: ['lab-main-tor1'],
      },
    });
  });

  test.each<[string, string, readonly object[], object]>([
    ['both families over IPv6', '2001:db8::1', families, { dualStackAddressFamily: true }],
    ['IPv4 over IPv4', '192.0.2.1', families.slice(0, 1), {}],
    ['IPv6 over IPv6', '2001:db8::1', families.slice(1), {}],
  ])('carries %s', (_, peerAddress, list, expected) => {
    const objects = [cluster({}, { peerAddress }), config({ families: list }), advertisement()];
    expect(losses(...objects)).toEqual([]);
    expect(specs(...objects)['BGPPeer/lab-main-tor1']).toEqual({ ...tor1, peerAddress, ...expected });
  });

  test('a family that Herald cannot leave out or does not send is named', () => {
    expect(losses(cluster(), config({ families: families.slice(1) }), advertisement())).toEqual([
      expect.stringContaining('peers[0].peerAddress: is ipv4, and its families leave ipv4 out'),
    ]);
    expect(losses(cluster(), config({ families: [...families, { afi: 'l2vpn', safi: 'evpn' }] }), advertisement())).toEqual([
      expect.stringContaining('families[2].afi: with safi evpn is l2vpn evpn'),
    ]);
    const [first, second] = families;
    expect(losses(cluster(), config({ families: [first, { ...second, advertisements: undefined }] }), advertisement())).toEqual([
      expect.stringContaining('whose family ipv6 does not select it'),
    ]);
  });

  test.each<[string, object, object]>([
    ['a zone', { peerAddress: 'fe80::1%eth1' }, { peerAddress: 'fe80::1', interface: 'eth1', dualStackAddressFamily: true }],
    [
      'an interface',
      { peerAddress: undefined, autoDiscovery: { mode: 'Unnumbered', unnumbered: { interface: 'eth1' } } },
      { peerAddress: undefined, interface: 'eth1' },
    ],
  ])('a peer with %s', (_, peer, expected) => {
    const objects = [cluster({}, peer), config(), advertisement()];
    expect(losses(...objects)).toEqual([]);
    expect(specs(...objects)['BGPPeer/lab-main-tor1']).toEqual({ ...tor1, ...expected });
  });

  test.each<[string, object, string]>([
    ['any AS number', { peerASN: 0 }, 'refused spec.bgpInstances[0].peers[0].peerASN: is 0'],
    [
      'the default gateway',
      { peerAddress: undefined, autoDiscovery: { mode: 'DefaultGateway', defaultGateway: { addressFamily: 'ipv4' } } },
      'refused spec.bgpInstances[0].peers[0].autoDiscovery.mode: is DefaultGateway',
    ],
  ])('a peer with %s is refused', (_, peer, line) => {
    expect(specs(cluster({}, peer), config())).toEqual({});
    expect(losses(cluster({}, peer), config())).toEqual([expect.stringContaining(line)]);
  });

  test('a password needs a Secret of another type, and the command has its namespace', () => {
    const objects = [cluster(), config({ authSecretRef: 'bgp-auth' }), advertisement()];
    expect(specs(...objects)['BGPPeer/lab-main-tor1']).toMatchObject({ passwordSecret: { name: 'bgp-auth', namespace: 'herald-system' } });
    expect(losses(...objects)).toEqual([expect.stringContaining('names Secret bgp-auth, which Herald cannot use as it is')]);
  });

  test('a node with exceptions has a BGPPeer of its own, which announces the same', () => {
    const override = object('cilium.io/v2', 'CiliumBGPNodeConfigOverride', 'node7', {
      bgpInstances: [{ name: 'main', routerID: '192.0.2.7', localASN: 64_600, peers: [{ name: 'tor1', localAddress: '192.0.2.77' }] }],
    });
    const objects = [cluster(), override, config(), advertisement()];
    expect(losses(...objects)).toEqual([]);
    const only = (operator: string): object => ({
      nodeSelectors: [{ matchLabels: { bgp: 'on' }, matchExpressions: [{ key: 'kubernetes.io/hostname', operator, values: ['node7'] }] }],
    });
    const dual = { dualStackAddressFamily: true };
    expect(specs(...objects)).toEqual({
      'BGPPeer/lab-main-tor1': { ...tor1, ...dual, ...only('NotIn') },
      'BGPPeer/lab-main-tor1-node7': { ...tor1, ...dual, myASN: 64_600, routerID: '192.0.2.7', sourceAddress: '192.0.2.77', ...only('In') },
      'BGPAdvertisement/services': { addressTypes: ['LoadBalancer'], peers: ['lab-main-tor1', 'lab-main-tor1-node7'] },
    });
  });

  test.each<[string, object, string]>([
    [
      'of networks of pods',
      { advertisementType: 'PodCIDR', service: undefined },
      'differs spec.advertisements[0].advertisementType: is PodCIDR',
    ],
    ['of external IPs', { service: { addresses: ['ExternalIP'] } }, 'differs spec.advertisements[0].service.addresses: has ExternalIP'],
    [
      'of an aggregate of selected Services',
      { service: { addresses: ['LoadBalancerIP'], aggregationLengthIPv4: 24 }, selector: { matchLabels: { a: 'b' } } },
      'select single Services, and an aggregate covers others too',
    ],
    [
      'that selects by namespace',
      { selector: { matchLabels: { 'io.kubernetes.service.namespace': 'a' } } },
      'refused spec.advertisements[0].selector: selects by namespace',
    ],
  ])('an advertisement %s is named', (_, entry, line) => {
    const all = losses(cluster(), config(), advertisement(entry));
    expect(all).toEqual([expect.stringContaining(line)]);
  });

  test('an advertisement without a selector announces nothing, as in Cilium', () => {
    expect(specs(cluster(), config(), advertisement({ selector: undefined }))).not.toHaveProperty('BGPAdvertisement/services');
    expect(losses(cluster(), config(), advertisement({ selector: undefined }))).toEqual([]);
  });

  test('an advertisement that no peer selects is refused', () => {
    expect(losses(cluster(), config(), advertisement({}, { advertise: 'other' }))).toEqual([
      expect.stringContaining('is selected by no peer of the input'),
    ]);
  });

  test('an unknown peer configuration is named, and the peer has default settings', () => {
    expect(losses(cluster())).toEqual([expect.stringContaining('names CiliumBGPPeerConfig fabric, which is not in the input')]);
  });
});

describe('a CiliumBGPPeeringPolicy', () => {
  const policy = (router: object): object =>
    object('cilium.io/v2alpha1', 'CiliumBGPPeeringPolicy', 'tor', {
      nodeSelector: { matchLabels: { bgp: 'on' } },
      virtualRouters: [
        {
          localASN: 64_512,
          neighbors: [{ peerAddress: '192.0.2.1/32', peerASN: 64_513, holdTimeSeconds: 9, families: [{ afi: 'ipv4', safi: 'unicast' }] }],
          ...router,
        },
      ],
    });

  test('becomes a BGPPeer for each neighbour and a BGPAdvertisement', () => {
    const one = policy({
      serviceSelector: { matchExpressions: [{ key: 'never', operator: 'NotIn', values: ['x'] }] },
      serviceAdvertisements: ['LoadBalancerIP'],
    });
    expect(losses(one)).toEqual([]);
    expect(specs(one)).toEqual({
      'BGPPeer/tor-peer1': { ...tor1, holdTime: '9s' },
      'BGPAdvertisement/tor': {
        addressTypes: ['LoadBalancer'],
        serviceSelectors: [{ matchExpressions: [{ key: 'never', operator: 'NotIn', values: ['x'] }] }],
        peers: ['tor-peer1'],
      },
    });
  });

  test('announces nothing without a serviceSelector, and networks of pods are lost', () => {
    expect(Object.keys(specs(policy({ exportPodCIDR: true })))).toEqual(['BGPPeer/tor-peer1']);
    expect(losses(policy({ exportPodCIDR: true }))).toEqual([expect.stringContaining('differs spec.virtualRouters[0].exportPodCIDR')]);
    expect(losses(policy({ exportPodCIDR: false }))).toEqual([]);
  });
});
