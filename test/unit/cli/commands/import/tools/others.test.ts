import { describe, expect, test } from 'vitest';
import { configMap, imports, losses, object, remarks, specs } from '../documents.ts';

const kubevip = (data: Readonly<Record<string, unknown>>): object => configMap('kubevip', data, 'kube-system');
const workload = (kind: string, image: string, container: object, name = 'lb'): object => {
  const pod = {
    containers: [
      { name: 'a', image: 'docker.io/library/other:1' },
      { name: 'b', image, ...container },
    ],
  };
  return object('apps/v1', kind, name, kind === 'Pod' ? pod : { template: { spec: pod } });
};
const variables = (values: Readonly<Record<string, string>>): object => ({
  env: Object.entries(values).map(([name, value]) => ({ name, value })),
});
const speaker = (values: Readonly<Record<string, string>>, kind = 'DaemonSet'): object =>
  workload(kind, 'ghcr.io/kube-vip/kube-vip:v0.8.9', variables({ svc_enable: 'true', ...values }));

describe('the pools of kube-vip', () => {
  test.each<[Readonly<Record<string, string>>, object]>([
    [{ 'range-global': '192.0.2.10-192.0.2.20' }, { 'IPAddressPool/kube-vip-global': { addresses: ['192.0.2.10-192.0.2.20'] } }],
    [
      { 'cidr-global': '192.0.2.0/29, 2001:db8::/120' },
      { 'IPAddressPool/kube-vip-global': { addresses: ['192.0.2.0/29', '2001:db8::/120'] } },
    ],
    [
      { 'cidr-global': '192.0.2.3/29', 'skip-end-ips-in-cidr': 'true' },
      { 'IPAddressPool/kube-vip-global': { addresses: ['192.0.2.1-192.0.2.6'] } },
    ],
    [
      { 'cidr-shop': '192.0.2.0/29', 'range-shop': '192.0.2.9-192.0.2.10', 'range-global': '192.0.2.100-192.0.2.110' },
      {
        'IPAddressPool/kube-vip-shop': { addresses: ['192.0.2.0/29', '192.0.2.9-192.0.2.10'], serviceAllocation: { namespaces: ['shop'] } },
        'IPAddressPool/kube-vip-global': { addresses: ['192.0.2.100-192.0.2.110'] },
      },
    ],
  ])('%j', (data, expected) => {
    expect([losses(kubevip(data)), specs(kubevip(data))]).toEqual([[], expected]);
  });

  test.each<[Readonly<Record<string, string>>, string]>([
    [{ 'cidr-global': '0.0.0.0/32' }, 'differs data.cidr-global: has 0.0.0.0, by which kube-vip takes addresses from a DHCP server'],
    [{ 'range-global': '192.0.2.1-192.0.2.2', 'search-order': 'desc' }, 'differs data.search-order: is desc'],
    [{ 'range-global': '192.0.2.1-192.0.2.2', 'allow-share-global': 'true' }, 'differs data.allow-share-global'],
    [{ 'range-global': '192.0.2.1-192.0.2.2', 'interface-shop': 'eth1' }, 'differs data.interface-shop'],
    [{ 'range-global': '192.0.2.1-192.0.2.2', typo: '1' }, 'differs data.typo: is not a field'],
    [{ 'cidr-global': '192.0.2.0/28', 'range-global': '192.0.2.4-192.0.2.5' }, 'overlaps'],
    [{ 'range-global': 'dhcp' }, 'neither a CIDR nor a range'],
  ])('%j is named', (data, line) => {
    expect(losses(kubevip(data))).toEqual([expect.stringContaining(line)]);
  });
});

describe('the speakers of kube-vip', () => {
  test.each(['DaemonSet', 'Pod', 'Deployment'])('announce by ARP from a %s', (kind) => {
    const one = speaker({ vip_arp: 'true', vip_interface: 'eth0', svc_election: 'true', cp_enable: 'true', address: '192.0.2.9' }, kind);
    expect([losses(one), specs(one)]).toEqual([[], { 'L2Advertisement/kube-vip': { interfaces: ['eth0'] } }]);
    expect(remarks(one).join()).toContain('env.svc_election'.slice(4));
  });

  test('announce on the interface of Services, and on none by name without one', () => {
    expect(specs(speaker({ vip_arp: 'true', vip_interface: 'eth0', vip_servicesinterface: 'eth1' }))).toEqual({
      'L2Advertisement/kube-vip': { interfaces: ['eth1'] },
    });
    expect(specs(speaker({ vip_arp: 'true', vip_interface: '' }))).toEqual({ 'L2Advertisement/kube-vip': {} });
  });

  test('announce by BGP to one peer', () => {
    const one = speaker({
      bgp_enable: 'true',
      bgp_as: '64512',
      bgp_peeras: '64513',
      bgp_peeraddress: '192.0.2.1',
      bgp_multihop: 'true',
      bgp_hold_time: '9',
      bgp_peerpass: 'hidden',
    });
    expect(losses(one)).toEqual([]);
    expect(specs(one)).toEqual({
      'BGPPeer/kube-vip-1': {
        myASN: 64_512,
        peerASN: 64_513,
        peerAddress: '192.0.2.1',
        password: 'hidden',
        ebgpMultiHop: true,
        holdTime: '9s',
      },
      'BGPAdvertisement/kube-vip': { peers: ['kube-vip-1'] },
    });
    expect(remarks(one).join()).not.toContain('hidden');
  });

  test('announce by BGP to a list of peers', () => {
    const list =
      '192.0.2.1:64513::false,[2001:db8::1]:64514:secret:true:1179,unnumbered:eth1:64515,192.0.2.4:64512:::::true;300000;300000;3';
    const one = speaker({ bgp_enable: 'true', bgp_as: '64512', bgp_peers: list });
    const base = { myASN: 64_512 };
    expect(specs(one)).toEqual({
      'BGPPeer/kube-vip-1': { ...base, peerASN: 64_513, peerAddress: '192.0.2.1' },
      'BGPPeer/kube-vip-2': {
        ...base,
        peerASN: 64_514,
        peerAddress: '2001:db8::1',
        password: 'secret',
        ebgpMultiHop: true,
        peerPort: 1179,
      },
      'BGPPeer/kube-vip-3': { ...base, peerASN: 64_515, interface: 'eth1' },
      'BGPPeer/kube-vip-4': { ...base, peerASN: 64_512, peerAddress: '192.0.2.4' },
      'BGPAdvertisement/kube-vip': { peers: ['kube-vip-1', 'kube-vip-2', 'kube-vip-3', 'kube-vip-4'] },
    });
    expect(losses(one)).toEqual([expect.stringContaining('env.bgp_peers: has BFD for a peer')]);
    expect(losses(speaker({ bgp_enable: 'true', bgp_peers: '192.0.2.1' }))).toEqual([expect.stringContaining('refused env.bgp_peers')]);
  });

  test('stay for the control plane when they serve no Services', () => {
    const one = workload(
      'Pod',
      'ghcr.io/kube-vip/kube-vip:v0.8.9',
      variables({ cp_enable: 'true', vip_arp: 'true', vip_interface: 'eth0', address: '192.0.2.9', port: '6443' }),
    );
    expect([losses(one), specs(one)]).toEqual([[], {}]);
  });

  test.each<[Readonly<Record<string, string>>, string]>([
    [{ lb_class_name: 'example.com/lb' }, 'differs env.lb_class_name: is example.com/lb'],
    [{ lb_class_only: 'true' }, 'differs env.lb_class_only'],
    [{ egress_podcidr: '10.0.0.0/8' }, 'differs env.egress_podcidr: is about egress'],
    [{ vip_routingtable: 'true' }, 'differs env.vip_routingtable'],
    [{ bgp_sourceip: '192.0.2.77' }, 'differs env.bgp_sourceip: is 192.0.2.77, which fits one node only'],
    [{ vip_new: '1' }, 'differs env.vip_new: is not a field'],
  ])('%j is named', (values, line) => {
    expect(losses(speaker({ vip_arp: 'true', ...values }))).toEqual([expect.stringContaining(line)]);
  });

  test('are read from values of the chart', () => {
    const values = {
      config: { address: '192.0.2.9' },
      env: { vip_interface: 'eth0', vip_arp: 'true', svc_enable: 'true', lb_enable: 'false' },
    };
    const expected = { 'L2Advertisement/kube-vip': { interfaces: ['eth0'] } };
    expect(specs(values)).toEqual(expected);
    expect(specs(object('helm.toolkit.fluxcd.io/v2', 'HelmRelease', 'kube-vip', { values }))).toEqual(expected);
  });
});

describe('PureLB', () => {
  const group = (local: object, name = 'default', more: object = {}): object =>
    object('purelb.io/v1', 'ServiceGroup', name, { local, ...more });

  test.each<[object, readonly string[]]>([
    [{ subnet: '192.0.2.0/24', pool: '192.0.2.10-192.0.2.20', aggregation: 'default' }, ['192.0.2.10-192.0.2.20']],
    [
      {
        v4pool: { subnet: '192.0.2.0/24', pool: '192.0.2.10-192.0.2.20', aggregation: '/32' },
        v6pool: { subnet: '2001:db8::/64', pool: '2001:db8::/120' },
      },
      ['192.0.2.10-192.0.2.20', '2001:db8::/120'],
    ],
    [
      { v4pools: [{ pool: '192.0.2.0/28' }, { pool: '192.0.2.32/28' }], v6pools: [{ pool: '2001:db8::/120' }] },
      ['192.0.2.0/28', '192.0.2.32/28', '2001:db8::/120'],
    ],
  ])('a ServiceGroup %j becomes a pool of %j', (local, addresses) => {
    expect([losses(group(local)), specs(group(local))]).toEqual([[], { 'IPAddressPool/default': { addresses } }]);
    expect(specs(group(local, 'edge'))).toEqual({ 'IPAddressPool/edge': { addresses, autoAssign: false } });
    expect(specs(group(local, 'edge', { namespaces: ['shop'] }))).toEqual({
      'IPAddressPool/edge': { addresses, serviceAllocation: { namespaces: ['shop'] } },
    });
  });

  test('names what is lost', () => {
    expect(losses(object('purelb.io/v1', 'ServiceGroup', 'a', { netbox: { url: 'x', tenant: 'y' } }))).toEqual([
      expect.stringContaining('differs spec.netbox: takes addresses from Netbox'),
    ]);
    expect(losses(group({ pool: '192.0.2.0/28', aggregation: '/24' }))).toEqual([
      expect.stringContaining('differs spec.local.aggregation: is /24'),
    ]);
  });

  test('an LBNodeAgent becomes an L2Advertisement, and its BGP speaker peers', () => {
    const agent = (local: object): object => object('purelb.io/v1', 'LBNodeAgent', 'default', { local });
    expect(specs(agent({ localint: 'default', extlbint: 'kube-lb0', sendgarp: true }))).toEqual({ 'L2Advertisement/purelb-default': {} });
    expect(specs(agent({ localint: 'eth1' }))).toEqual({ 'L2Advertisement/purelb-default': { interfaces: ['eth1'] } });
    const speakers = object('bgp.purelb.io/v1', 'BGPConfiguration', 'default', {
      global: { asn: 64_512, listenPort: 179, families: ['ipv4-unicast'] },
      netlinkImport: { enabled: true, interfaceList: ['kube-lb0'] },
      neighbors: [
        {
          config: { neighborAddress: '192.0.2.1', peerAsn: 64_513 },
          afiSafis: [
            { family: 'ipv4-unicast', enabled: true },
            { family: 'ipv6-unicast', enabled: true },
          ],
        },
      ],
    });
    expect([losses(speakers), specs(speakers)]).toEqual([
      [],
      {
        'BGPPeer/purelb-default-1': { myASN: 64_512, peerASN: 64_513, peerAddress: '192.0.2.1', dualStackAddressFamily: true },
        'BGPAdvertisement/purelb-default': { peers: ['purelb-default-1'] },
      },
    ]);
  });
});

describe('kube-router', () => {
  const router = (...args: readonly string[]): object => workload('DaemonSet', 'docker.io/cloudnativelabs/kube-router:v2.5', { args });

  test('flags become peers, a pool and an advertisement', () => {
    const one = router(
      '--run-router=true',
      '--cluster-asn=64512',
      '--peer-router-ips=192.0.2.1,2001:db8::1',
      '--peer-router-asns=64513,64512',
      '--peer-router-ports=1179,179',
      `--peer-router-passwords=${Buffer.from('secret\n').toString('base64')},`,
      '--peer-router-multihop-ttl=5',
      '--bgp-holdtime=30s',
      '--advertise-loadbalancer-ip',
      '--advertise-cluster-ip=true',
      '--loadbalancer-ip-range=198.51.100.0/24',
    );
    expect(losses(one)).toEqual([]);
    expect(specs(one)).toEqual({
      'IPAddressPool/kube-router': { addresses: ['198.51.100.0/24'] },
      'BGPPeer/kube-router-1': {
        myASN: 64_512,
        peerASN: 64_513,
        peerAddress: '192.0.2.1',
        peerPort: 1179,
        password: 'secret',
        ebgpMultiHop: true,
        holdTime: '30s',
      },
      'BGPPeer/kube-router-2': { myASN: 64_512, peerASN: 64_512, peerAddress: '2001:db8::1', holdTime: '30s' },
      'BGPAdvertisement/kube-router': { addressTypes: ['LoadBalancer', 'ClusterIP'], peers: ['kube-router-1', 'kube-router-2'] },
    });
  });

  test('a placeholder is no address, and external IPs need a policy', () => {
    expect(imports(router('--peer-router-ips=<CHANGE ME>')).templates).toHaveLength(1);
    expect(losses(router('--advertise-external-ip'))).toEqual([expect.stringContaining('differs --advertise-external-ip: is true')]);
    expect(losses(router('--new-flag=1'))).toEqual([expect.stringContaining('differs --new-flag: is not a field')]);
  });
});

describe('OpenELB', () => {
  const of = (kind: string, name: string, spec: object, annotations = {}): object =>
    object('network.kubesphere.io/v1alpha2', kind, name, spec, { annotations });
  const isDefault = { 'eip.openelb.kubesphere.io/is-default-eip': 'true' };

  test.each<[object, object, string, object]>([
    [
      { address: '192.0.2.10-192.0.2.20', protocol: 'layer2', interface: 'eth0' },
      { addresses: ['192.0.2.10-192.0.2.20'] },
      'L2Advertisement',
      { interfaces: ['eth0'] },
    ],
    [
      { address: '192.0.2.10', protocol: 'layer2', interface: 'can_reach:192.0.2.1' },
      { addresses: ['192.0.2.10/32'] },
      'L2Advertisement',
      {},
    ],
    [{ address: '192.0.2.0/28', protocol: 'vip', interface: 'eth0' }, { addresses: ['192.0.2.0/28'] }, 'L2Advertisement', {}],
    [{ address: '2001:db8::/120', protocol: 'bgp' }, { addresses: ['2001:db8::/120'] }, 'BGPAdvertisement', {}],
    [{ address: '192.0.2.0/28', disable: true }, { addresses: ['192.0.2.0/28'], draining: true }, 'BGPAdvertisement', {}],
    [
      { address: '192.0.2.0/28', namespaces: ['a'], namespaceSelector: { tier: 'edge' }, priority: 3 },
      {
        addresses: ['192.0.2.0/28'],
        serviceAllocation: { namespaces: ['a'], namespaceSelectors: [{ matchLabels: { tier: 'edge' } }], priority: 3 },
      },
      'BGPAdvertisement',
      {},
    ],
  ])('an Eip %j', (spec, pool, kind, advertisement) => {
    const one = of('Eip', 'a', spec, isDefault);
    expect([losses(one), specs(one)]).toEqual([
      [],
      { 'IPAddressPool/a': pool, [`${kind}/a`]: { ipAddressPools: ['a'], ...advertisement } },
    ]);
  });

  test('an Eip that is not the default one gives addresses only on request', () => {
    expect(specs(of('Eip', 'a', { address: '192.0.2.0/28' }))['IPAddressPool/a']).toEqual({
      addresses: ['192.0.2.0/28'],
      autoAssign: false,
    });
  });

  test('a BgpPeer has the AS number of the BgpConf', () => {
    const conf = of('BgpConf', 'default', { as: 64_512, listenPort: 17_900, routerId: '192.0.2.9' });
    const peer = of('BgpPeer', 'tor1', {
      conf: { peerAs: 64_513, neighborAddress: '192.0.2.1', authPassword: 'hidden' },
      timers: { config: { holdTime: '9', keepaliveInterval: '3' } },
      ebgpMultihop: { enabled: true, multihopTtl: 4 },
      afiSafis: [{ config: { family: { afi: 'AFI_IP' } } }, { config: { family: { afi: 'AFI_IP6' } } }],
      nodeSelector: { matchLabels: { rack: '1' } },
    });
    expect(losses(conf, peer)).toEqual([]);
    expect(specs(conf, peer)).toEqual({
      'BGPPeer/tor1': {
        myASN: 64_512,
        peerASN: 64_513,
        peerAddress: '192.0.2.1',
        password: 'hidden',
        ebgpMultiHop: true,
        holdTime: '9s',
        keepaliveTime: '3s',
        dualStackAddressFamily: true,
        nodeSelectors: [{ matchLabels: { rack: '1' } }],
      },
    });
    expect(losses(peer)).toEqual([expect.stringContaining('refused spec.conf: needs the BgpConf')]);
  });
});

test('a DaemonSet of ServiceLB says what to switch off', () => {
  const one = object('apps/v1', 'DaemonSet', 'svclb-traefik-1a2b', { template: {} });
  expect(losses(one)).toEqual([expect.stringContaining('forwards ports of nodes to a Service')]);
});
