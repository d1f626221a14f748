import { describe, expect, test } from 'vitest';
import { expandList, parseObject } from '../../../../src/model/parse.ts';
import { address } from '../../../../src/net/address.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { ours, service } from './manifests.ts';

const pool = { addresses: ['192.0.2.0/24', '2001:db8::1-2001:db8::9'] };
const reservation = (address: string) => ({ namespace: 'a', name: 'b', address });
const peer = { myASN: 64_512, peerASN: 64_513, peerAddress: '192.0.2.1' };
const problemsOf = (raw: unknown): string[] => parseObject(raw).problems.map(({ field, message, fix }) => `${field}: ${message}; ${fix}`);

describe('objects of herald.dev', () => {
  test("kinds that MetalLB has too get MetalLB's defaults", () => {
    expect(parseObject(ours('IPAddressPool', pool)).object).toMatchObject({ autoAssign: true, avoidBuggyIPs: false });
    expect(parseObject(ours('BGPPeer', peer)).object).toMatchObject({
      peerPort: 179,
      holdTimeSeconds: 90,
      keepaliveTimeSeconds: 30,
      ebgpMultiHop: false,
      dualStackAddressFamily: false,
      flapDamping: true,
      adminDown: false,
    });
    expect(parseObject(ours('BGPAdvertisement', {})).object).toMatchObject({
      addressTypes: ['LoadBalancer'],
      aggregationLength: 32,
      aggregationLengthV6: 128,
      localPref: 0,
      asPathPrepend: 0,
      communities: [],
    });
    expect(parseObject(ours('HeraldConfig', {}, 'default')).object).toMatchObject({ services: 'all', masqueradeBit: 14 });
  });

  test('Services without a class belong to Herald over a directory but not in a cluster', () => {
    const config = ours('HeraldConfig', {}, 'default');
    expect(parseObject(config, { resourceVersion: '1' }).object).toMatchObject({ defaultClass: true });
    expect(parseObject(config).object).toMatchObject({ defaultClass: false });
  });

  test.each([
    [{ services: 'all' }, 14],
    [{ services: 'external' }, 13],
    [{ services: 'none' }, 13],
    [{ services: 'external', masqueradeBit: 14 }, 14],
  ])("HeraldConfig %j avoids kube-proxy's mark bit beside kube-proxy unless the bit is set", (spec, masqueradeBit) => {
    expect(parseObject(ours('HeraldConfig', spec, 'default')).object).toMatchObject({ services: spec.services, masqueradeBit });
  });

  test('HeraldConfig is read with NodePort addresses and a service proxy name', () => {
    const spec = { nodePortAddresses: ['10.0.0.0/8', '::/0'], serviceProxyName: 'edge', sourceRangesEverywhere: true };
    expect(parseObject(ours('HeraldConfig', spec, 'default')).object).toMatchObject({
      nodePortAddresses: spec.nodePortAddresses.map(prefix),
      serviceProxyName: 'edge',
      sourceRangesEverywhere: true,
    });
    expect(problemsOf(ours('HeraldConfig', { nodePortAddresses: ['primary'] }, 'default'))).toHaveLength(1);
  });

  test('HeraldConfig is read with podInterfaces, masqueradeAll, icmpEcho and localhostNodePorts', () => {
    const spec = {
      podInterfaces: ['cni0', 'cali*', 'eth0.100', 'abcdefghijklmno'],
      masqueradeAll: true,
      icmpEcho: true,
      localhostNodePorts: true,
    };
    expect(parseObject(ours('HeraldConfig', spec, 'default')).object).toMatchObject(spec);
    expect(parseObject(ours('HeraldConfig', {}, 'default')).object).toMatchObject({
      podInterfaces: [],
      masqueradeAll: false,
      icmpEcho: false,
    });
  });

  test("conntrack settings that are not set get kube-proxy's defaults", () => {
    const read = (conntrack: unknown) => parseObject(ours('HeraldConfig', conntrack === undefined ? {} : { conntrack }, 'default')).object;
    expect(read(undefined)).not.toHaveProperty('conntrack');
    expect(read({ udpSeconds: 60, tcpCloseWaitSeconds: 0 })).toMatchObject({
      conntrack: {
        maxPerCore: 32_768,
        min: 131_072,
        tcpEstablishedSeconds: 86_400,
        tcpCloseWaitSeconds: 0,
        udpSeconds: 60,
        udpStreamSeconds: 0,
      },
    });
    expect(problemsOf(ours('HeraldConfig', { conntrack: { maxPerCore: -1, more: 1 } }, 'default'))).toHaveLength(2);
  });

  test("compat: metallb makes Services without a class Herald's unless defaultClass is set", () => {
    const read = (spec: object) => parseObject(ours('HeraldConfig', spec, 'default')).object;
    expect(read({})).toMatchObject({ compat: [], compatNamespace: 'metallb-system', defaultClass: false });
    expect(read({ compat: 'none' })).toMatchObject({ compat: [], defaultClass: false });
    expect(read({ compat: 'metallb' })).toMatchObject({ compat: ['metallb'], defaultClass: true });
    expect(read({ compat: 'metallb', defaultClass: false })).toMatchObject({ compat: ['metallb'], defaultClass: false });
    expect(read({ compat: 'metallb', compatNamespace: 'lb' })).toMatchObject({ compatNamespace: 'lb' });
    expect(problemsOf(ours('HeraldConfig', { compat: 'openelb' }, 'default'))).toEqual([expect.stringContaining('one of none, metallb')]);
    expect(read({ compat: ['metallb'] })).toMatchObject({ compat: ['metallb'], defaultClass: true });
    expect(read({ compat: ['cilium', 'kube-vip'] })).toMatchObject({ compat: ['cilium', 'kube-vip'], defaultClass: false });
    expect(read({ compat: 'purelb' })).toMatchObject({ compat: ['purelb'] });
    expect(read({ compat: [] })).toMatchObject({ compat: [] });
    for (const compat of [['openelb'], ['none'], 7, {}, true])
      expect(problemsOf(ours('HeraldConfig', { compat }, 'default'))).toEqual([expect.stringContaining('spec.compat')]);
    expect(problemsOf(ours('HeraldConfig', { compatNamespace: 'a/b' }, 'default'))).toEqual([
      expect.stringContaining('spec.compatNamespace: '),
    ]);
  });

  test.each(['*', 'abcdefghijklmnop', 'abcdefghijklmno*', 'a"b', 'a b', 'cali*x', ''])('HeraldConfig refuses the interface %j', (name) => {
    expect(problemsOf(ours('HeraldConfig', { podInterfaces: [name] }, 'default'))).toEqual([
      expect.stringMatching(/^spec\.podInterfaces\[0\]: /),
    ]);
  });

  test.each<[object, number, number]>([
    [{ holdTime: '1m30s' }, 90, 30],
    [{ holdTime: '3s' }, 3, 1],
    [{ holdTime: '0s' }, 0, 0],
    [{ keepaliveTime: '10s' }, 30, 10],
    [{ holdTime: '90s', keepaliveTime: '1s' }, 90, 1],
    // MetalLB's samples have keepaliveTime: 0s, which means "not set".
    [{ holdTime: '9s', keepaliveTime: '0s' }, 9, 3],
    [{ keepaliveTime: '0s' }, 90, 30],
    [{ holdTime: '0s', keepaliveTime: '0s' }, 0, 0],
  ])('BGPPeer timers are read: %j', (timers, hold, keepalive) => {
    expect(parseObject(ours('BGPPeer', { ...peer, ...timers })).object).toMatchObject({
      holdTimeSeconds: hold,
      keepaliveTimeSeconds: keepalive,
    });
  });

  test('IPAddressPool is read with reservations and quotas', () => {
    const promises = {
      draining: true,
      reservations: [reservation('192.0.2.7'), reservation('2001:db8::7')],
      keepReleasedSeconds: 300,
      quota: [{ namespaceSelector: { matchLabels: { tier: 'small' } }, addresses: 2 }],
    };
    expect(parseObject(ours('IPAddressPool', { ...pool, ...promises })).object).toMatchObject({
      draining: true,
      reservations: [
        { service: 'a/b', address: address('192.0.2.7') },
        { service: 'a/b', address: address('2001:db8::7') },
      ],
      keepReleasedSeconds: 300,
      quota: [{ namespaceSelector: { matchLabels: { tier: 'small' }, matchExpressions: [] }, addresses: 2 }],
    });
    expect(parseObject(ours('IPAddressPool', pool)).object).toMatchObject({
      draining: false,
      reservations: [],
      keepReleasedSeconds: 0,
      quota: [],
    });
  });

  test('unsupported fields are accepted when their value requests nothing', () => {
    expect(problemsOf(ours('BGPPeer', { ...peer, bfdProfile: '', vrf: '', disableMP: false }))).toEqual([]);
    expect(parseObject(ours('BGPPeer', { ...peer, bfdProfile: '' })).object).not.toHaveProperty('bfdProfile');
    expect(parseObject(ours('BGPPeer', { ...peer, bfdProfile: 'fast' })).object).toMatchObject({ bfdProfile: 'fast' });
  });

  const { peerAddress: _, ...unnumbered } = peer;
  test.each<[object, object]>([
    [peer, { enableGracefulRestart: false, passive: false }],
    [
      { ...peer, enableGracefulRestart: true, passive: true },
      { enableGracefulRestart: true, passive: true },
    ],
    [{ ...peer, ttlSecurityHops: 1 }, { ttlSecurityHops: 1 }],
    [
      { ...peer, localASN: 64_999 },
      { myASN: 64_512, localASN: 64_999 },
    ],
    [{ myASN: 64_512, dynamicASN: 'external', peerAddress: '192.0.2.1' }, { dynamicASN: 'external' }],
    [{ ...peer, interface: 'eth1' }, { interface: 'eth1' }],
    [
      { ...unnumbered, peerAddress: 'fe80::1', interface: 'eth1' },
      { peerAddress: { family: 6 }, interface: 'eth1' },
    ],
    [{ ...unnumbered, interface: 'bond0.100' }, { interface: 'bond0.100' }],
  ])('BGPPeer %j is read', (spec, expected) => {
    expect(problemsOf(ours('BGPPeer', spec))).toEqual([]);
    expect(parseObject(ours('BGPPeer', spec)).object).toMatchObject(expected);
  });

  test.each<[string, object]>([
    ['ttlSecurityHops', { ...peer, ttlSecurityHops: 0 }],
    ['localASN', { ...peer, localASN: 0 }],
    ['peerAddress', { ...unnumbered, interface: 'eth1' }],
  ])('BGPPeer has no %s when it is not set', (field, spec) => {
    expect(parseObject(ours('BGPPeer', spec)).object).not.toHaveProperty(field);
  });

  test.each<[object, string]>([
    [
      unnumbered,
      'spec.peerAddress: is required; write the address of the router, interface for an unnumbered session, or dynamicNeighbors',
    ],
    [
      { ...unnumbered, peerAddress: 'fe80::1' },
      'spec.interface: is required; name the network interface of the node that this link-local peerAddress is on',
    ],
    [
      { ...unnumbered, interface: 'a-name-that-is-too-long' },
      'spec.interface: "a-name-that-is-too-long": not the name of a network interface',
    ],
    [{ ...unnumbered, interface: 'eth1', sourceAddress: '192.0.2.2' }, 'spec.sourceAddress: is IPv4, but an unnumbered session runs over'],
    [
      { ...peer, ttlSecurityHops: 1, ebgpMultiHop: true },
      'spec.ttlSecurityHops: must not be set together with ebgpMultiHop; remove ebgpMultiHop: a peer that is further away has more ttlSecurityHops',
    ],
    [{ ...peer, ttlSecurityHops: 255 }, 'spec.ttlSecurityHops: must be a whole number from 0 to 254, not 255'],
    [{ ...unnumbered, interface: 'eth1', ebgpMultiHop: true }, 'spec.ebgpMultiHop: is for peers behind another router'],
    [{ myASN: 1, dynamicASN: 'internal', peerAddress: '192.0.2.1', ebgpMultiHop: true }, 'spec.ebgpMultiHop: is for external sessions'],
    [{ ...peer, peerASN: 64_512, localASN: 64_999 }, 'spec.localASN: is for external sessions, and this one is internal; remove localASN'],
    [{ ...peer, localASN: 64_513 }, 'spec.localASN: is the AS number of the peer'],
    [{ ...peer, localASN: 23_456 }, 'spec.localASN: is AS_TRANS'],
    [{ ...peer, dynamicASN: 'auto' }, 'spec.dynamicASN: must be one of internal, external, not "auto"'],
    [{ ...peer, disableMP: true }, 'spec.disableMP: has no meaning here'],
    [{ ...peer, peerAddress: '169.254.0.1', interface: 'eth1' }, 'spec.peerAddress: 169.254.0.1 is a link-local address'],
  ])('BGPPeer %j is refused: %s', (spec, text) => {
    expect(parseObject(ours('BGPPeer', spec)).object).toBeUndefined();
    expect(problemsOf(ours('BGPPeer', spec)).join('\n')).toContain(text);
  });

  test.each<[string, object, string]>([
    ['IPAddressPool', {}, 'spec.addresses: is required'],
    ['IPAddressPool', { addresses: ['192.0.2.010/32'] }, 'leading zero'],
    ['IPAddressPool', { addresses: ['192.0.2/24'] }, 'four octets'],
    ['IPAddressPool', { addresses: ['192.0.2.9-192.0.2.1'] }, 'swap'],
    ['IPAddressPool', { addresses: ['192.0.2.0/24', '192.0.2.7/32'] }, 'overlaps'],
    ['IPAddressPool', { addresses: ['0.0.0.0/0'] }, 'spec.addresses[0]: "0.0.0.0/0": holds unspecified addresses (0.0.0.0/8)'],
    ['IPAddressPool', { addresses: ['192.0.2.0/24', '127.0.0.0/29'] }, 'spec.addresses[1]: "127.0.0.0/29": holds loopback addresses'],
    [
      'IPAddressPool',
      { addresses: ['169.253.0.0-169.254.0.0'] },
      'link-local addresses (169.254.0.0/16), which no client can reach: leave',
    ],
    ['IPAddressPool', { addresses: ['239.1.2.0/24'] }, 'multicast addresses (224.0.0.0/4)'],
    ['IPAddressPool', { addresses: ['255.255.255.255/32'] }, 'reserved addresses (240.0.0.0/4)'],
    ['IPAddressPool', { addresses: ['::-::1'] }, 'the unspecified address (::/128)'],
    ['IPAddressPool', { addresses: ['::1/128'] }, 'the loopback address (::1/128)'],
    ['IPAddressPool', { addresses: ['fe80::/64'] }, 'link-local addresses (fe80::/10)'],
    ['IPAddressPool', { addresses: ['ff02::/112'] }, 'multicast addresses (ff00::/8)'],
    ['IPAddressPool', { ...pool, autoAsign: false }, 'did you mean autoAssign?'],
    ['IPAddressPool', { ...pool, autoAssign: 'no' }, 'must be true or false, not "no"'],
    ['IPAddressPool', { ...pool, serviceAllocation: { namespaces: ['a', 'a'] } }, 'spec.serviceAllocation.namespaces[1]'],
    ['IPAddressPool', { ...pool, serviceAllocation: { serviceSelectors: [{ matchLabel: {} }] } }, 'did you mean matchLabels?'],
    ['IPAddressPool', { ...pool, quota: [{ addresses: 1 }] }, 'spec.quota[0].namespaceSelector: is required'],
    ['IPAddressPool', { ...pool, quota: [{ namespaceSelector: {} }] }, 'spec.quota[0].addresses: is required'],
    ['IPAddressPool', { ...pool, keepReleasedSeconds: 604_801 }, 'spec.keepReleasedSeconds: must be a whole number from 0 to 604800'],
    ['IPAddressPool', { ...pool, reservations: [{ namespace: 'a', name: 'b' }] }, 'spec.reservations[0].address: is required'],
    ['IPAddressPool', { ...pool, reservations: [reservation('198.51.100.1')] }, '198.51.100.1 is not in the addresses of this pool'],
    [
      'IPAddressPool',
      { ...pool, reservations: [reservation('192.0.2.1'), { ...reservation('192.0.2.1'), name: 'c' }] },
      'spec.reservations[1].address: 192.0.2.1 is reserved for a/b already',
    ],
    ['BGPPeer', { ...peer, peerASN: undefined }, 'spec.peerASN: is required'],
    ['BGPPeer', { ...peer, dynamicASN: 'external' }, 'spec.dynamicASN: must not be set together with peerASN'],
    ['BGPPeer', { ...peer, myASN: 0 }, 'spec.myASN'],
    ['BGPPeer', { ...peer, holdTime: '2s' }, 'spec.holdTime: makes a hold time of 2s; it must be 0s, or from 3s to 65535s'],
    ['BGPPeer', { ...peer, holdTime: '1' }, 'write 1s for seconds; it must be 0s, or from 3s to 65535s'],
    [
      'BGPPeer',
      { ...peer, holdTime: 1 },
      'spec.holdTime: must be a duration with its unit, 0s, or from 3s to 65535s, not 1; write for example holdTime: 3s',
    ],
    ['BGPPeer', { ...peer, connectTime: 0 }, 'spec.connectTime: must be a duration with its unit, from 1s to 65535s, not 0'],
    ['BGPPeer', { ...peer, holdTime: '9s', keepaliveTime: '10s' }, 'is longer than holdTime'],
    ['BGPPeer', { ...peer, vrf: 'red', bfdProfile: 'fast' }, 'spec.bfdProfile: is not supported in a VRF'],
    ['BGPPeer', { ...peer, vrf: 'a b' }, 'spec.vrf'],
    ['BGPPeer', { ...peer, password: 'a', passwordSecret: { name: 's', namespace: 'n' } }, 'must not be set together with password'],
    ['BGPPeer', { ...peer, sourceAddress: '2001:db8::2' }, 'spec.sourceAddress'],
    ['BGPPeer', { ...peer, routerID: '2001:db8::2' }, 'spec.routerID'],
    ['BGPAdvertisement', { aggregationLength: 33 }, 'spec.aggregationLength'],
    ['BGPAdvertisement', { communities: ['65536:1'] }, 'spec.communities[0]'],
    ['BGPAdvertisement', { communities: ['large:1:2'] }, 'spec.communities[0]'],
    ['BGPAdvertisement', { aggregationLength: 24, serviceSelectors: [{}] }, 'spec.serviceSelectors'],
    ['BGPAdvertisement', { addressTypes: ['NodePort'] }, 'spec.addressTypes[0]'],
    ['Community', { communities: [{ name: 'a', value: 'b' }] }, 'spec.communities[0].value'],
    ['ExternalIPPolicy', { cidrs: ['192.0.2.0/24'] }, 'spec.namespaceSelector: is required'],
    ['HeraldConfig', {}, 'only HeraldConfig/default'],
    ['L2Advertisement', { interfaces: ['eth0/1'] }, 'spec.interfaces[0]'],
    ['L2Advertisement', { refreshInterval: '1s' }, 'spec.refreshInterval: must be 0s, or from 5s to 3600s'],
    ['L2Advertisement', { preferredNodeSelectors: [{ weight: 101, preference: {} }] }, 'spec.preferredNodeSelectors[0].weight'],
    ['IPAddresPool', {}, 'did you mean IPAddressPool?'],
  ])('%s %j is refused: %s', (kind, spec, text) => {
    const result = parseObject(ours(kind, spec));
    expect(result.object).toBeUndefined();
    expect(problemsOf(ours(kind, spec)).join('\n')).toContain(text);
    expect(result.identity).toMatchObject({ kind, name: 'main' });
  });

  test.each<[unknown, unknown]>([
    [
      ['65000:100', 'large:4200000000:1:2', 'no-export', 'my-alias'],
      ['65000:100', 'large:4200000000:1:2', 'no-export', 'my-alias'],
    ],
  ])('communities may be values, well-known names and aliases', (written, read) => {
    expect(parseObject(ours('BGPAdvertisement', { communities: written })).object).toMatchObject({ communities: read });
  });

  test('HeraldConfig refuses an unknown services scope', () => {
    expect(problemsOf(ours('HeraldConfig', { services: 'internal' }, 'default'))[0]).toContain('spec.services');
  });
});

describe('objects of other API groups', () => {
  test('MetalLB objects are refused with a fix', () => {
    expect(problemsOf({ ...ours('IPAddressPool', pool), apiVersion: 'metallb.io/v1beta1' })[0]).toContain(
      'set compat: metallb in HeraldConfig, or translate it with: herald import metallb',
    );
    expect(problemsOf({ ...ours('AddressPool', {}), apiVersion: 'metallb.io/v1beta1' })[0]).toContain(
      'translate it with: herald import FILE',
    );
    expect(problemsOf({ ...ours('MetalLB', {}), apiVersion: 'metallb.io/v1beta1' }).join()).toContain(
      'leave it in the cluster as long as MetalLB',
    );
  });

  test.each([
    ['metallb.io/loadBalancerIPs', 'write herald.dev/load-balancer-ips, or set compat: metallb in HeraldConfig'],
    ['metallb.universe.tf/address-pool', 'write herald.dev/address-pool, or set compat: metallb in HeraldConfig'],
    ['metallb.io/constructor', 'remove it'],
  ])('the MetalLB annotation %s gets a warning', (name, fix) => {
    const { object, warnings } = parseObject(service({}, { annotations: { [name]: 'x' } }));
    expect(object).toBeDefined();
    expect(warnings).toMatchObject([
      { path: ['metadata', 'annotations', name], message: 'is an annotation of MetalLB and is not read', fix },
    ]);
  });

  test('kinds that Herald does not read are ignored', () => {
    for (const raw of [
      { apiVersion: 'apps/v1', kind: 'Deployment' },
      { apiVersion: 'serving.knative.dev/v1', kind: 'Service' },
      { apiVersion: 'v1', kind: 'ConfigMap' },
    ]) {
      expect(parseObject(raw)).toMatchObject({ ignored: true, problems: [] });
    }
  });

  test.each([[1], ['text'], [[]], [{}], [{ apiVersion: 'v1' }], [{ kind: 'Service' }], [{ apiVersion: 'v1', kind: 'Service' }]])(
    '%j is refused as incomplete',
    (raw) => {
      const result = parseObject(raw);
      expect(result.object).toBeUndefined();
      expect(result.problems.length).toBeGreaterThan(0);
    },
  );

  test('names that are not RFC 1123 subdomains are refused', () => {
    for (const name of ['../x', 'a/b', '.x', 'A', '', 'a..b', 'x'.repeat(254)]) {
      const result = parseObject(service({}, { name }));
      expect(result.object).toBeUndefined();
      expect(result.identity).toBeUndefined();
    }
  });

  test('lists and typed lists are expanded', () => {
    const bare = { metadata: { name: 'n' } };
    expect(expandList({ apiVersion: 'v1', kind: 'List', items: [service(), bare] }).map(({ path }) => path)).toEqual([
      ['items', 0],
      ['items', 1],
    ]);
    expect(expandList({ apiVersion: 'v1', kind: 'NodeList', items: [bare] })[0]?.raw).toMatchObject({ apiVersion: 'v1', kind: 'Node' });
    expect(expandList(service())).toHaveLength(1);
  });
});
