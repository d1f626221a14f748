import { poolRange } from './reading/blocks.ts';
import { Fields } from './reading/fields.ts';
import { kept, lost, to, type SourceField, type SourceKind } from './reading/source-kind.ts';
import { imported, manifest, nameOf, type ImportedDocument, type Manifest, type SourceDocument, type Tool } from './tool.ts';
import { containersOf, flagsOf, isImageOf } from './workload.ts';

const pods = 'is about the network of pods, which stays with kube-router or another network plugin';
const own = "is about kube-router's process";
const all = (names: string, row: (name: string) => SourceField): SourceField[] => names.split(' ').map((name) => row(name));

/** The user guide and the page about BGP of kube-router have the flags. */
const flags: SourceKind = {
  tool: 'kube-router',
  kind: 'flags of the DaemonSet',
  root: '--',
  fields: [
    to('cluster-asn', 'BGPPeer `myASN`; without it 64512'),
    to('peer-router-ips', 'A BGPPeer for each address'),
    to('peer-router-asns', 'BGPPeer `peerASN`'),
    to('peer-router-ports', 'BGPPeer `peerPort`'),
    to('peer-router-passwords', 'BGPPeer `password`, decoded from base64'),
    lost('peer-router-passwords-file', 'names a file of a Pod with passwords', 'write password or passwordSecret in the BGPPeers'),
    to('peer-router-multihop-ttl', 'BGPPeer `ebgpMultiHop`, true above 1'),
    to('bgp-holdtime', 'BGPPeer `holdTime`'),
    to('bgp-graceful-restart', 'BGPPeer `enableGracefulRestart`'),
    kept('bgp-graceful-restart-time', 'is not needed: Herald asks routers to keep routes for 120 s'),
    kept('bgp-graceful-restart-deferral-time', 'is not needed: Herald announces when it has read all objects'),
    to('advertise-loadbalancer-ip', 'BGPAdvertisement `addressTypes`'),
    to('advertise-cluster-ip', 'BGPAdvertisement `addressTypes`'),
    to('advertise-external-ip', 'BGPAdvertisement `addressTypes`. External IPs also need an ExternalIPPolicy, which only you can decide.'),
    to('loadbalancer-ip-range', 'IPAddressPool `addresses`, of a pool named kube-router'),
    lost('loadbalancer-default-class', 'is about Services without a class', 'set defaultClass in HeraldConfig'),
    lost('loadbalancer-sync-period', own),
    kept('run-loadbalancer', 'needs no equivalent: Herald assigns addresses when it has pools'),
    kept('run-router', pods),
    kept('run-firewall', 'is about NetworkPolicies, which stay with kube-router or another network plugin'),
    kept('run-service-proxy', 'is what HeraldConfig services: all does', 'docs/how-to/migrate-from-kube-proxy.md has the order'),
    lost('ipvs-graceful-termination', 'needs no setting: Herald keeps open connections to pods that end'),
    kept('ipvs-graceful-period', 'needs no setting'),
    kept('ipvs-sync-period', 'needs no setting'),
    lost('ipvs-permit-all', 'is about access to addresses of Services', 'nothing is needed where Herald forwards'),
    lost('override-nexthop', 'needs no setting: Herald announces itself as the next hop'),
    lost('hairpin-mode', 'needs no setting: a pod reaches itself through its Service'),
    lost('masquerade-all', 'has no equivalent for every packet', 'use policy Cluster, which masquerades'),
    lost('nodeport-bindon-all-ip', 'is about NodePorts', 'see nodePortAddresses of HeraldConfig'),
    lost('service-cluster-ip-range', 'is read from the cluster'),
    lost('service-external-ip-range', 'limits external IPs', 'write an ExternalIPPolicy with this network'),
    kept('service-node-port-range', 'is read from the Services'),
    ...all(
      'advertise-pod-cidr enable-cni enable-ibgp enable-overlay enable-pod-egress nodes-full-mesh overlay-type overlay-encap overlay-encap-port override-nexthop-pods auto-mtu routes-sync-period injected-routes-sync-period disable-source-dest-check enable-ipv4 enable-ipv6 bgp-port router-id peer-router-local-ips',
      (name) => kept(name, pods),
    ),
    ...all(
      'kubeconfig master hostname-override cache-sync-timeout cleanup-config excluded-cidrs health-port health-addr help iptables-sync-period metrics-path metrics-port metrics-addr v version enable-pprof runtime-endpoint',
      (name) => kept(name, own),
    ),
  ],
};

const image = /(?:^|\/)kube-router(?:[:@]|$)/;

/** kube-router as a BGP speaker and allocator for Services. */
export const kubeRouter: Tool = {
  name: 'kube-router',
  kinds: [flags],
  recognises: ({ raw }) => containersOf(raw).some((one) => isImageOf(one, image)),
  translate: (documents) => documents.map(objectsOf),
};

function objectsOf(document: SourceDocument): ImportedDocument {
  const container = containersOf(document.raw).find((one) => isImageOf(one, image)) ?? {};
  const fields = Fields.of(flags, flagsOf(container));
  const peers = peersOf(fields);
  const ranges = listOf(fields, 'loadbalancer-ip-range').flatMap((one) => (one === '' ? [] : [poolRange(one)]));
  const types = [
    ['advertise-loadbalancer-ip', 'LoadBalancer'],
    ['advertise-cluster-ip', 'ClusterIP'],
    ['advertise-external-ip', 'ExternalIP'],
  ] as const;
  const addressTypes = types.flatMap(([name, type]) => (fields.flag(name) === true ? [type] : []));
  if (addressTypes.includes('ExternalIP'))
    fields.lose(
      'advertise-external-ip',
      'is true: Herald announces external IPs only where an ExternalIPPolicy allows them',
      'write an ExternalIPPolicy with the networks that external IPs may come from',
    );
  fields.note(
    '',
    'can have peers of single nodes too, in annotations of Nodes (kube-router.io/peer.ips), which are not read',
    'write a BGPPeer with nodeSelectors for each',
  );
  return imported(document, fields, [
    ...(ranges.length === 0 ? [] : [manifest('IPAddressPool', 'kube-router', { addresses: ranges })]),
    ...peers,
    ...(addressTypes.length === 0 ? [] : [manifest('BGPAdvertisement', 'kube-router', { addressTypes, peers: peers.map(nameOf) })]),
  ]);
}

const listOf = (fields: Fields, name: string): string[] => (fields.text(name) ?? '').split(',').map((one) => one.trim());

function peersOf(fields: Fields): Manifest[] {
  const [addresses, asns, ports, passwords] = ['peer-router-ips', 'peer-router-asns', 'peer-router-ports', 'peer-router-passwords'].map(
    (name) => listOf(fields, name),
  );
  const myASN = fields.number('cluster-asn') ?? 64_512;
  const isFar = (fields.number('peer-router-multihop-ttl') ?? 1) > 1;
  const holdTime = fields.text('bgp-holdtime');
  const restarts = fields.flag('bgp-graceful-restart') === true;
  return (addresses ?? []).flatMap((address, index) => {
    if (address === '') return [];
    const [asn, port, secret] = [asns?.[index], ports?.[index], passwords?.[index] ?? ''];
    const peerASN = asn === undefined || asn === '' ? undefined : Number(asn);
    return [
      manifest('BGPPeer', `kube-router-${index + 1}`, {
        myASN,
        peerASN,
        peerAddress: address,
        peerPort: port === undefined || port === '' || port === '179' ? undefined : Number(port),
        // printf and echo differ in a line break at the end, which is no part of a password.
        password: secret === '' ? undefined : Buffer.from(secret, 'base64').toString('utf8').trimEnd(),
        ebgpMultiHop: isFar && peerASN !== myASN ? true : undefined,
        holdTime,
        enableGracefulRestart: restarts ? true : undefined,
      }),
    ];
  });
}
