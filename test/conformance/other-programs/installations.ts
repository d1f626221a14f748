import type { ForeignKind } from '../open-definition.ts';

/** A Service as another program left it in the cluster. */
export interface ForeignService {
  readonly name: `${string}/${string}`;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: object;
  /** In the status. The first one decides the primary family. */
  readonly addresses: readonly string[];
  /** Conditions that the other program writes. */
  readonly conditions?: readonly object[];
  /** The program finds the address again from the Service itself: an annotation or a field has it. */
  readonly isPinned?: true;
}

/** What an installation of another program leaves in a cluster: its kinds without their rules, its objects, and its Services with their status. */
export interface Installation {
  readonly program: string;
  /** The word in HeraldConfig.compat. Absent: Herald does not read its annotations. */
  readonly compat?: string;
  readonly kinds: readonly ForeignKind[];
  readonly objects: readonly object[];
  readonly services: readonly ForeignService[];
}

const web = { name: 'shop/web', addresses: ['198.51.100.1', '2001:db8:100::1'] } as const;
const dns = (protocol: string): object => ({ ports: [{ name: 'dns', port: 53, protocol }] });
const object = (apiVersion: string, kind: string, name: string, spec: object, namespace?: string): object => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  spec,
});

const ciliumKind = (kind: string, versions: readonly string[] = ['v2', 'v2alpha1']): ForeignKind => ({
  group: 'cilium.io',
  kind,
  plural: kind.endsWith('y') ? `${kind.slice(0, -1).toLowerCase()}ies` : `${kind.toLowerCase()}s`,
  versions,
  scope: 'Cluster',
});
const satisfied = {
  type: 'cilium.io/IPAMRequestSatisfied',
  status: 'True',
  reason: 'satisfied',
  message: '',
  lastTransitionTime: '2026-01-02T03:04:05Z',
};
const ofCilium = { conditions: [satisfied] };
const sharedByKey = {
  'lbipam.cilium.io/ips': '198.51.100.53',
  'lbipam.cilium.io/sharing-key': 'dns',
  'lbipam.cilium.io/sharing-cross-namespace': 'shop,infra',
};

const cilium: Installation = {
  program: 'Cilium',
  compat: 'cilium',
  kinds: [
    ciliumKind('CiliumLoadBalancerIPPool'),
    ciliumKind('CiliumL2AnnouncementPolicy', ['v2alpha1']),
    ciliumKind('CiliumBGPClusterConfig'),
    ciliumKind('CiliumBGPPeerConfig'),
    ciliumKind('CiliumBGPAdvertisement'),
  ],
  objects: [
    object('cilium.io/v2', 'CiliumLoadBalancerIPPool', 'main', { blocks: [{ cidr: '198.51.100.0/24' }, { cidr: '2001:db8:100::/64' }] }),
    object('cilium.io/v2alpha1', 'CiliumL2AnnouncementPolicy', 'all', { loadBalancerIPs: true }),
    object('cilium.io/v2', 'CiliumBGPClusterConfig', 'main', {
      bgpInstances: [
        {
          name: 'tor',
          localASN: 64_512,
          peers: [{ name: 'tor1', peerASN: 65_101, peerAddress: '192.0.2.1', peerConfigRef: { name: 'tor' } }],
        },
      ],
    }),
    object('cilium.io/v2', 'CiliumBGPPeerConfig', 'tor', {
      families: ['ipv4', 'ipv6'].map((afi) => ({ afi, safi: 'unicast', advertisements: { matchLabels: { advertise: 'bgp' } } })),
    }),
    {
      ...object('cilium.io/v2', 'CiliumBGPAdvertisement', 'services', {
        advertisements: [{ advertisementType: 'Service', service: { addresses: ['LoadBalancerIP'] }, selector: { matchLabels: {} } }],
      }),
      metadata: { name: 'services', labels: { advertise: 'bgp' } },
    },
  ],
  services: [
    { ...web, ...ofCilium },
    { name: 'shop/dns', annotations: sharedByKey, spec: dns('UDP'), addresses: ['198.51.100.53'], isPinned: true, ...ofCilium },
    { name: 'infra/dns', annotations: sharedByKey, spec: dns('TCP'), addresses: ['198.51.100.53'], isPinned: true, ...ofCilium },
  ],
};

const calicoKind = (kind: string): ForeignKind => ({
  group: 'crd.projectcalico.org',
  kind,
  plural: `${kind.toLowerCase()}s`,
  versions: ['v1'],
  scope: 'Cluster',
});
const calicoObject = (kind: string, name: string, spec: object): object => object('crd.projectcalico.org/v1', kind, name, spec);

const calico: Installation = {
  program: 'Calico',
  kinds: ['BGPConfiguration', 'BGPPeer', 'IPPool'].map(calicoKind),
  objects: [
    calicoObject('IPPool', 'services4', { cidr: '198.51.100.0/24', allowedUses: ['LoadBalancer'] }),
    calicoObject('IPPool', 'services6', { cidr: '2001:db8:100::/120', allowedUses: ['LoadBalancer'] }),
    calicoObject('IPPool', 'pods', { cidr: '10.244.0.0/16', allowedUses: ['Workload', 'Tunnel'], ipipMode: 'Never' }),
    calicoObject('BGPConfiguration', 'default', {
      asNumber: 64_512,
      nodeToNodeMeshEnabled: true,
      serviceLoadBalancerIPs: [{ cidr: '198.51.100.0/24' }, { cidr: '2001:db8:100::/120' }],
    }),
    calicoObject('BGPPeer', 'tor1', { peerIP: '192.0.2.1', asNumber: 65_101 }),
  ],
  services: [
    web,
    {
      name: 'shop/dns',
      annotations: { 'projectcalico.org/loadBalancerIPs': '["198.51.100.53"]' },
      spec: dns('UDP'),
      addresses: ['198.51.100.53'],
    },
  ],
};

const ofKubeVip = { labels: { implementation: 'kube-vip' }, isPinned: true } as const;
const environment = Object.entries({
  vip_arp: 'true',
  svc_enable: 'true',
  svc_election: 'true',
  vip_interface: 'eth0',
  cp_enable: 'false',
}).map(([name, value]) => ({ name, value }));

const kubeVip: Installation = {
  program: 'kube-vip',
  compat: 'kube-vip',
  kinds: [],
  objects: [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'kubevip', namespace: 'kube-system' },
      data: { 'range-global': '198.51.100.1-198.51.100.99,2001:db8:100::1-2001:db8:100::ff' },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'kube-vip-ds', namespace: 'kube-system' },
      spec: {
        selector: { matchLabels: { app: 'kube-vip' } },
        template: {
          metadata: { labels: { app: 'kube-vip' } },
          spec: { containers: [{ name: 'kube-vip', image: 'kube-vip', args: ['manager'], env: environment }] },
        },
      },
    },
  ],
  services: [
    // The cloud provider writes the first address into the field too.
    {
      ...web,
      ...ofKubeVip,
      annotations: { 'kube-vip.io/loadbalancerIPs': '198.51.100.1,2001:db8:100::1', 'kube-vip.io/vipHost': 'node1' },
      spec: { loadBalancerIP: '198.51.100.1' },
    },
    // Services with one address and different ports share it, without a key.
    ...['UDP', 'TCP'].map((protocol) => ({
      name: `shop/dns-${protocol.toLowerCase()}` as const,
      ...ofKubeVip,
      annotations: { 'kube-vip.io/loadbalancerIPs': '198.51.100.53' },
      spec: { ...dns(protocol), loadBalancerIP: '198.51.100.53' },
      addresses: ['198.51.100.53'],
    })),
  ],
};

const ofPureLB = { 'purelb.io/allocated-by': 'PureLB', 'purelb.io/allocated-from': 'default' };
const pureLBObject = (kind: string, name: string, spec: object): object => object('purelb.io/v2', kind, name, spec, 'purelb-system');
const pureLBKind = (kind: string): ForeignKind => ({
  group: 'purelb.io',
  kind,
  plural: `${kind.toLowerCase()}s`,
  versions: ['v2', 'v1'],
  scope: 'Namespaced',
});

const purelb: Installation = {
  program: 'PureLB',
  compat: 'purelb',
  kinds: ['ServiceGroup', 'LBNodeAgent'].map(pureLBKind),
  objects: [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'purelb-system' } },
    pureLBObject('ServiceGroup', 'default', {
      local: {
        v4pools: [{ pool: '198.51.100.1-198.51.100.49', subnet: '198.51.100.0/24', aggregation: 'default' }],
        v6pools: [{ pool: '2001:db8:100::1-2001:db8:100::ff', subnet: '2001:db8:100::/64', aggregation: 'default' }],
      },
    }),
    pureLBObject('ServiceGroup', 'edge', {
      local: { v4pools: [{ pool: '198.51.100.50-198.51.100.60', subnet: '198.51.100.0/24', aggregation: 'default' }] },
    }),
    pureLBObject('LBNodeAgent', 'default', { local: { localInterface: 'default', sendgarp: false } }),
  ],
  services: [
    { ...web, annotations: ofPureLB },
    {
      name: 'shop/dns',
      annotations: {
        ...ofPureLB,
        'purelb.io/service-group': 'edge',
        'purelb.io/addresses': '198.51.100.53',
        'purelb.io/allow-shared-ip': 'dns',
      },
      spec: dns('UDP'),
      addresses: ['198.51.100.53'],
      isPinned: true,
    },
    {
      name: 'shop/dns-tcp',
      annotations: {
        ...ofPureLB,
        'purelb.io/service-group': 'edge',
        'purelb.io/addresses': '198.51.100.53',
        'purelb.io/allow-shared-ip': 'dns',
      },
      spec: dns('TCP'),
      addresses: ['198.51.100.53'],
      isPinned: true,
    },
  ],
};

export const installations: readonly Installation[] = [cilium, calico, kubeVip, purelb];
