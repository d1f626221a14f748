import { describe, expect, test } from 'vitest';
import { metallbKinds } from '../../../../src/model/metallb/kinds.ts';
import { translateObject } from '../../../../src/model/metallb/translate.ts';
import { parseAnyObject } from '../../../../src/model/metallb/read.ts';
import { metallb } from './metallb-manifests.ts';

const mode = { compat: ['metallb'], namespace: 'metallb-system' } as const;
const pool = { addresses: ['192.0.2.0/24'] };
const peer = { myASN: 64_512, peerASN: 64_513, peerAddress: '192.0.2.1' };
const objectOf = (raw: unknown): unknown => parseAnyObject(raw, mode).object;
const translation = (raw: unknown) => {
  const result = translateObject(raw, 'metallb-system');
  if (result.is !== 'translated') throw new Error(`is ${result.is}`);
  return result;
};
const findings = (raw: unknown): string[] =>
  translation(raw).findings.map(({ level, path, message }) => `${level} ${path.join('.')}: ${message}`);

describe('translation of a MetalLB object', () => {
  test('name, labels and annotations stay, the namespace is dropped, and the origin is recorded', () => {
    const raw = metallb('IPAddressPool', pool, 'main', { labels: { tier: 'edge' } });
    const annotations = { team: 'net', 'kubectl.kubernetes.io/last-applied-configuration': '{}' };
    const written = { ...raw, metadata: { ...raw.metadata, annotations, uid: 'u1', resourceVersion: '7', managedFields: [] } };
    expect(translation(written).raw).toEqual({
      apiVersion: 'herald.dev/v1alpha1',
      kind: 'IPAddressPool',
      metadata: { name: 'main', labels: { tier: 'edge' }, uid: 'u1', resourceVersion: '7', annotations: { team: 'net' } },
      spec: pool,
    });
    expect(parseAnyObject(written, mode)).toMatchObject({
      object: {
        kind: 'IPAddressPool',
        metadata: {
          namespace: '',
          name: 'main',
          origin: { apiVersion: 'metallb.io/v1beta1', kind: 'IPAddressPool', namespace: 'metallb-system', name: 'main' },
        },
      },
      identity: { kind: 'IPAddressPool.metallb.io', namespace: 'metallb-system', name: 'main' },
      problems: [],
      warnings: [],
    });
  });

  test.each<[string, string, object, object]>([
    ['IPAddressPool', 'v1beta1', { ...pool, autoAssign: false, avoidBuggyIPs: true }, { autoAssign: false, avoidBuggyIPs: true }],
    [
      'IPAddressPool',
      'v1beta1',
      {
        ...pool,
        serviceAllocation: {
          priority: 50,
          namespaces: ['a'],
          namespaceSelectors: [{ matchLabels: { foo: 'bar' } }],
          serviceSelectors: [{ matchExpressions: [{ key: 'app', operator: 'In', values: ['bar'] }] }],
        },
      },
      { serviceAllocation: { priority: 50, namespaces: ['a'], namespaceSelectors: [{ matchLabels: { foo: 'bar' } }] } },
    ],
    [
      'BGPPeer',
      'v1beta2',
      {
        ...peer,
        localASN: 65_001,
        sourceAddress: '192.0.2.9',
        peerPort: 1179,
        holdTime: '30s',
        keepaliveTime: '10s',
        connectTime: '7s',
        routerID: '192.0.2.9',
        nodeSelectors: [{ matchLabels: { rack: '1' } }],
        enableGracefulRestart: true,
        ebgpMultiHop: true,
        dualStackAddressFamily: true,
        passwordSecret: { name: 'tor1', namespace: 'metallb-system' },
      },
      {
        localASN: 65_001,
        peerPort: 1179,
        holdTimeSeconds: 30,
        keepaliveTimeSeconds: 10,
        connectTimeSeconds: 7,
        nodeSelectors: [{ matchLabels: { rack: '1' } }],
        enableGracefulRestart: true,
        ebgpMultiHop: true,
        dualStackAddressFamily: true,
        passwordSecret: { namespace: 'metallb-system', name: 'tor1' },
      },
    ],
    ['BGPPeer', 'v1beta2', { myASN: 64_512, dynamicASN: 'external', interface: 'eth1' }, { dynamicASN: 'external', interface: 'eth1' }],
    [
      'BGPPeer',
      'v1beta2',
      { ...peer, password: 'secret', passwordSecret: {}, bfdProfile: '', vrf: '', disableMP: false, interface: '' },
      { password: 'secret', peerPort: 179, holdTimeSeconds: 90 },
    ],
    ['BGPPeer', 'v1beta2', { ...peer, holdTime: '0s', keepaliveTime: '0s' }, { holdTimeSeconds: 0, keepaliveTimeSeconds: 0 }],
    ['BGPPeer', 'v1beta2', { ...peer, holdTime: '180s', keepaliveTime: '0s' }, { holdTimeSeconds: 180, keepaliveTimeSeconds: 60 }],
    ['BGPPeer', 'v1beta2', { ...peer, keepaliveTime: '0s' }, { holdTimeSeconds: 90, keepaliveTimeSeconds: 30 }],
    ['BGPPeer', 'v1beta1', { ...peer, holdTime: '30s', keepaliveTime: '0s' }, { holdTimeSeconds: 30, keepaliveTimeSeconds: 10 }],
    // v1beta1 always contains the durations and the port, even when they were not set.
    [
      'BGPPeer',
      'v1beta1',
      { ...peer, holdTime: '0s', keepaliveTime: '0s', peerPort: 0 },
      { holdTimeSeconds: 90, keepaliveTimeSeconds: 30, peerPort: 179 },
    ],
    ['BGPPeer', 'v1beta1', { ...peer, holdTime: '0s', keepaliveTime: '20s' }, { holdTimeSeconds: 60, keepaliveTimeSeconds: 20 }],
    [
      'BGPPeer',
      'v1beta1',
      { ...peer, ebgpMultiHop: true, nodeSelectors: [{ matchExpressions: [{ key: 'rack', operator: 'In', values: ['1'] }] }] },
      { ebgpMultiHop: true, nodeSelectors: [{ matchLabels: {}, matchExpressions: [{ key: 'rack', operator: 'In', values: ['1'] }] }] },
    ],
    [
      'BGPAdvertisement',
      'v1beta1',
      {
        aggregationLength: 30,
        aggregationLengthV6: 126,
        localPref: 100,
        communities: ['65535:65282', 'large:1:2:3', 'vpn-only'],
        ipAddressPools: ['main'],
        ipAddressPoolSelectors: [{ matchLabels: { tier: 'edge' } }],
        nodeSelectors: [{ matchLabels: { 'kubernetes.io/hostname': 'a' } }],
        peers: ['tor1'],
      },
      {
        aggregationLength: 30,
        localPref: 100,
        communities: ['65535:65282', 'large:1:2:3', 'vpn-only'],
        ipAddressPools: ['main'],
        peers: ['tor1'],
      },
    ],
    [
      'BGPAdvertisement',
      'v1beta1',
      { serviceSelectors: [{ matchLabels: { a: 'b' } }] },
      { serviceSelectors: [{ matchLabels: { a: 'b' } }] },
    ],
    [
      'Community',
      'v1beta1',
      { communities: [{ name: 'vpn-only', value: '1234:1' }] },
      { communities: [{ name: 'vpn-only', value: '1234:1' }] },
    ],
  ])('%s %s is read without problems: %j', (kind, version, spec, expected) => {
    expect(parseAnyObject(metallb(kind, spec, 'main', { version }), mode).problems).toEqual([]);
    expect(findings(metallb(kind, spec, 'main', { version })).filter((text) => text.startsWith('differs'))).toEqual([]);
    expect(objectOf(metallb(kind, spec, 'main', { version }))).toMatchObject(expected);
  });

  test.each<[unknown, unknown]>([
    ['192.0.2.77/24', '192.0.2.0/24'],
    ['2001:db8::9/64', '2001:db8::/64'],
    ['192.0.2.1 - 192.0.2.9', '192.0.2.1-192.0.2.9'],
    ['::ffff:192.0.2.1-::ffff:192.0.2.9', '192.0.2.1-192.0.2.9'],
    ['192.0.2.0/33', '192.0.2.0/33'],
    ['nonsense', 'nonsense'],
    [7, 7],
  ])('the range %j is normalised to the form that Herald reads', (written, read) => {
    expect(translation(metallb('IPAddressPool', { addresses: [written] })).raw['spec']).toEqual({ addresses: [read] });
  });

  test.each<[string, object, string]>([
    ['IPAddressPool', { ...pool, serviceAllocation: { priority: -3 } }, 'differs spec.serviceAllocation.priority: is -3, and counts as 1'],
    ['IPAddressPool', { ...pool, serviceAllocation: { namespaceSelectors: [{}] } }, 'note spec.serviceAllocation.namespaceSelectors: '],
    ['IPAddressPool', { ...pool, autoAsign: false }, 'differs spec.autoAsign: is not a field of MetalLB that Herald knows'],
    ['IPAddressPool', { ...pool, serviceAllocation: { nodes: [] } }, 'differs spec.serviceAllocation.nodes: is not a field'],
    [
      'BGPPeer',
      { ...peer, passwordSecret: { name: 'a', namespace: 'other' } },
      'note spec.passwordSecret: is read in namespace metallb-system',
    ],
    ['BGPPeer', { ...peer, disableMP: true }, 'note spec.disableMP: has no effect'],
    ['BFDProfile', { echoMode: true }, 'differs spec.echoMode: is not used'],
    ['BFDProfile', { echoInterval: 50 }, 'note spec.echoInterval: is not used'],
    ['Community', { communities: [{ name: '1:1', value: '1:1' }] }, 'differs spec.communities: "1:1" is left out'],
  ])('%s %j reports the difference to MetalLB', (kind, spec, text) => {
    expect(findings(metallb(kind, spec))).toEqual([expect.stringContaining(text)]);
    expect(parseAnyObject(metallb(kind, spec), mode).problems).toEqual([]);
  });

  test('fractions of a second are cut off, as FRR does', () => {
    expect(objectOf(metallb('BGPPeer', { ...peer, holdTime: '30.9s', keepaliveTime: '10500ms' }))).toMatchObject({
      holdTimeSeconds: 30,
      keepaliveTimeSeconds: 10,
    });
  });

  test('leading zeros in communities are removed', () => {
    const spec = { communities: ['0100:007', 'large:01:0:3', '00:1', 'no-export'] };
    expect(translation(metallb('BGPAdvertisement', spec)).raw['spec']).toEqual({
      communities: ['100:7', 'large:1:0:3', '0:1', 'no-export'],
    });
  });
});

test('an L2Advertisement keeps all six fields of MetalLB', () => {
  const spec = {
    ipAddressPools: ['office'],
    ipAddressPoolSelectors: [{ matchLabels: { tier: 'edge' } }],
    nodeSelectors: [{ matchLabels: { rack: 'a' } }],
    interfaces: ['eth1'],
    serviceSelectors: [{ matchLabels: { app: 'web' } }],
    preferredNodeSelectors: [{ weight: 5, preference: { matchLabels: { fast: 'yes' } } }],
  };
  expect(translation(metallb('L2Advertisement', spec)).raw['spec']).toEqual(spec);
});

// What MetalLB 0.16.2 answers: internal/config.For with each spec.
test.each<[string, object, 'accepts' | 'refuses']>([
  ['nothing', {}, 'accepts'],
  ['an unknown pool', { ipAddressPools: ['old'] }, 'accepts'],
  ['an interface twice', { interfaces: ['eth0', 'eth0'] }, 'accepts'],
  ['a preference twice', { preferredNodeSelectors: [0, 0].map(() => ({ weight: 100, preference: {} })) }, 'accepts'],
  ['a pool twice', { ipAddressPools: ['main', 'main'] }, 'refuses'],
  ...['ipAddressPoolSelectors', 'nodeSelectors', 'serviceSelectors'].map(
    (field) => [`${field} twice`, { [field]: [0, 0].map(() => ({ matchLabels: { a: 'b' } })) }, 'refuses'] as [string, object, 'refuses'],
  ),
  [
    'an unknown operator',
    { preferredNodeSelectors: [{ weight: 5, preference: { matchExpressions: [{ key: 'a', operator: 'Near' }] } }] },
    'refuses',
  ],
])('an L2Advertisement with %s is judged as MetalLB does', (_, spec, verdict) => {
  const { object } = parseAnyObject(metallb('L2Advertisement', spec), mode);
  expect(object === undefined ? 'refuses' : 'accepts').toBe(verdict);
});

describe('refused MetalLB objects', () => {
  test.each<[string, unknown, string, string]>([
    ['an AddressPool', metallb('AddressPool', { protocol: 'bgp', ...pool }), 'kind', 'AddressPool is the predecessor'],
    ['an unknown kind', metallb('OSPFAdvertisement', {}), 'kind', 'not a kind of MetalLB that Herald knows'],
    ['an unknown version', metallb('BGPPeer', peer, 'main', { version: 'v1' }), 'apiVersion', 'not read in version metallb.io/v1'],
    [
      'a peer in a VRF with BFD',
      metallb('BGPPeer', { ...peer, vrf: 'red', bfdProfile: 'fast' }),
      'spec.bfdProfile',
      'is not supported in a VRF',
    ],
    ['AS number 0', metallb('BGPPeer', { ...peer, myASN: 0 }), 'spec.myASN', 'from 1 to'],
    [
      'another namespace',
      metallb('IPAddressPool', pool, 'main', { namespace: 'shop' }),
      'metadata.namespace',
      'MetalLB reads only its own namespace',
    ],
  ])('the problem names the field and the MetalLB identity: %s', (_, raw, field, message) => {
    const { object, problems, identity } = parseAnyObject(raw, mode);
    expect(object).toBeUndefined();
    expect(problems).toMatchObject([{ field, message: expect.stringContaining(message) as unknown }]);
    expect(identity).toMatchObject({ kind: expect.stringMatching(/\.metallb\.io$/) as unknown, name: 'main' });
  });

  test.each(['ServiceBGPStatus', 'ServiceL2Status', 'ConfigurationState'])('%s is ignored, because MetalLB writes it', (kind) => {
    expect(parseAnyObject(metallb(kind, {}), mode)).toMatchObject({ ignored: true, problems: [] });
  });

  test('every MetalLB kind is refused without compat: metallb', () => {
    for (const { kind, version } of metallbKinds) {
      const { object, problems } = parseAnyObject(metallb(kind, {}, 'main', { version }), { compat: [], namespace: 'metallb-system' });
      expect([kind, object, problems.length]).toEqual([kind, undefined, 1]);
    }
  });
});
