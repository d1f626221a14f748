import { isRecord } from '../../../../../lang/is-record.ts';
import { Fields } from '../reading/fields.ts';
import { kept, lost, to, type SourceField, type SourceKind } from '../reading/source-kind.ts';
import { imported, manifest, nameOf, type ImportedDocument, type Manifest, type SourceDocument } from '../tool.ts';
import { containersOf, environmentOf, isImageOf } from '../workload.ts';

const plane = 'is about the address of the control plane, which stays with kube-vip';
const lease = 'is about the Lease of kube-vip: Herald chooses a node for each address';
const own = "is about kube-vip's process";
const table = 'is about the routing tables of kube-vip, which Herald does not use';
const all = (names: string, row: (name: string) => SourceField): SourceField[] => names.split(' ').map((name) => row(name));

/** pkg/kubevip/config_envvar.go of kube-vip. */
export const kubeVipEnvironment: SourceKind = {
  tool: 'kube-vip',
  kind: 'environment of the DaemonSet, the static Pod or the chart',
  root: 'env.',
  fields: [
    to('svc_enable', 'Without `true` kube-vip serves no Services, and nothing is written.'),
    to('vip_arp', '`true`: an L2Advertisement named kube-vip'),
    to('bgp_enable', '`true`: a BGPPeer for each peer, and a BGPAdvertisement named kube-vip'),
    to('vip_interface', 'L2Advertisement `interfaces`, unless `vip_servicesinterface` is set'),
    to('vip_servicesinterface', 'L2Advertisement `interfaces`'),
    to('bgp_as', 'BGPPeer `myASN`; without it 65000'),
    to('bgp_peeras', 'BGPPeer `peerASN`; without it 65000'),
    to('bgp_peeraddress', 'BGPPeer `peerAddress`'),
    to('bgp_peerpass', 'BGPPeer `password`'),
    to('bgp_multihop', 'BGPPeer `ebgpMultiHop`'),
    to(
      'bgp_peers',
      'A BGPPeer for each `ADDRESS:AS:PASSWORD:MULTIHOP:PORT:MPBGP:BFD` between commas. MPBGP becomes `dualStackAddressFamily`; BFD is lost: write a BFDProfile.',
    ),
    to('bgp_sourceip', 'BGPPeer `sourceAddress`. One address fits one node only: the report says so.'),
    to('bgp_hold_time', 'BGPPeer `holdTime`, in seconds'),
    to('bgp_keepalive_interval', 'BGPPeer `keepaliveTime`, in seconds'),
    kept('bgp_routerid', 'is the address of one node, or empty: Herald takes the first IPv4 InternalIP of each node'),
    kept('bgp_routerinterface', 'is where kube-vip finds the router ID: Herald takes the first IPv4 InternalIP of each node'),
    lost('bgp_sourceif', 'names the interface of the sessions', 'write interface in the BGPPeers'),
    lost('mpbgp_nexthop', 'is about routes of the other family', 'write dualStackAddressFamily: true in the BGPPeers'),
    lost('mpbgp_ipv4', 'is a next hop of one node', 'write dualStackAddressFamily: true in the BGPPeers'),
    lost('mpbgp_ipv6', 'is a next hop of one node', 'write dualStackAddressFamily: true in the BGPPeers'),
    to('lb_class_name', 'Set `loadBalancerClass` of HeraldConfig to it.'),
    to('lb_class_only', '`true`: only Services of the class: leave `defaultClass` of HeraldConfig unset. Otherwise set it to true.'),
    kept('lb_class_legacy_handling', own),
    kept('svc_election', 'spreads Services over the nodes, as Herald always does: one node for each address'),
    kept('svc_namespace', own),
    kept('svc_leasename', lease),
    ...all(
      'vip_leaderelection vip_leasename vip_leaseduration vip_renewdeadline vip_retryperiod vip_leaseannotations vip_startleader vip_singlenode vip_nodename',
      (name) => kept(name, lease),
    ),
    ...all('address vip_address port cp_enable cp_namespace cp_detect kubernetes_addr vip_ddns lb_enable lb_port lb_fwdmethod', (name) =>
      kept(name, plane),
    ),
    kept('vip_cidr', 'is not needed: Herald puts no address on an interface'),
    kept('vip_subnet', 'is not needed: Herald puts no address on an interface'),
    kept('vip_arpRate', 'is not needed: refreshInterval of the L2Advertisement is 60s by default'),
    kept('vip_interfaceloglobal', 'is not needed: Herald puts no address on an interface'),
    lost(
      'enable_service_security',
      'lets only traffic to ports of Services pass',
      'nothing is needed where Herald forwards: it refuses other ports of the addresses',
    ),
    lost('egress_podcidr', 'is about egress, which Herald does not have', "keep kube-vip for it, or use the network plugin's egress"),
    lost('egress_servicecidr', 'is about egress, which Herald does not have', "keep kube-vip for it, or use the network plugin's egress"),
    lost('egress_withnftables', 'is about egress, which Herald does not have', "keep kube-vip for it, or use the network plugin's egress"),
    lost('egress_clean', 'is about egress, which Herald does not have', "keep kube-vip for it, or use the network plugin's egress"),
    lost('EGRESS_CLEAN', 'is about egress, which Herald does not have', "keep kube-vip for it, or use the network plugin's egress"),
    lost('vip_wireguard', 'is not supported', 'announce by ARP or BGP'),
    lost('enable_upnp', 'opens ports of a home router by UPnP, which Herald does not', 'forward the ports in the router'),
    lost('mirror_dest_interface', 'copies traffic to another interface, which Herald does not'),
    kept('dns_mode', plane),
    ...all(
      'vip_routingtable vip_routingtableid vip_routingtabletype vip_routingprotocol vip_cleanroutingtable zebra_enable zebra_url zebra_version zebra_software_name',
      (name) => lost(name, table, 'announce by BGPPeer and BGPAdvertisement'),
    ),
    ...all(
      'annotation vip_loglevel prometheus_server k8s_config_file disable_service_updates enable_endpoints enable_endpointslices enable_node_labeling iptables_backend backend_health_check_interval health_check_port config_file vip_packet vip_packetprojectid',
      (name) => kept(name, own),
    ),
  ],
};

const image = /(?:^|\/)kube-vip(?:-iptables)?(?:[:@]|$)/;

/** Returns the settings of kube-vip in a workload, or in the values of its chart. */
export function kubeVipSettings({ raw }: SourceDocument): Readonly<Record<string, unknown>> | undefined {
  const container = containersOf(raw).find((one) => isImageOf(one, image));
  if (container !== undefined) return environmentOf(container);
  const env = raw['env'];
  if (
    raw['kind'] !== undefined ||
    !isRecord(env) ||
    !Object.keys(env).some((name) => /^(?:vip_(?:arp|interface)|svc_enable|bgp_enable)$/.test(name))
  )
    return undefined;
  const config = isRecord(raw['config']) && raw['config']['address'] !== undefined ? { address: raw['config']['address'] } : {};
  return { ...env, ...config };
}

export function kubeVipObjects(document: SourceDocument): ImportedDocument {
  const fields = Fields.of(kubeVipEnvironment, kubeVipSettings(document));
  const serves = fields.flag('svc_enable') === true;
  const [byArp, byBgp] = [fields.flag('vip_arp') === true, fields.flag('bgp_enable') === true];
  const interfaces = (fields.text('vip_servicesinterface') ?? fields.text('vip_interface') ?? '')
    .split(',')
    .filter((name) => name !== '' && name !== 'lo');
  fields.value('vip_interface');
  const peers = peersOf(fields);
  classOf(fields);
  if (!serves) {
    fields.note('svc_enable', 'is not true: kube-vip serves only the control plane, and stays');
    return imported(document, fields, []);
  }
  return imported(document, fields, [
    ...(byArp ? [manifest('L2Advertisement', 'kube-vip', { interfaces })] : []),
    ...(byBgp ? [...peers, manifest('BGPAdvertisement', 'kube-vip', { peers: peers.map(nameOf) })] : []),
  ]);
}

function classOf(fields: Fields): void {
  const [name, only] = [fields.text('lb_class_name'), fields.flag('lb_class_only')];
  if (name !== undefined)
    fields.lose('lb_class_name', `is ${name}: HeraldConfig needs the same class`, `set loadBalancerClass: ${name} in HeraldConfig`);
  if (only === true && name === undefined)
    fields.lose('lb_class_only', 'limits kube-vip to its class', 'set loadBalancerClass: kube-vip.io/kube-vip-class in HeraldConfig');
}

interface Written {
  readonly address: string | undefined;
  readonly asn: number | undefined;
  readonly password: string;
  readonly isFar: boolean;
  readonly device?: string | undefined;
  readonly port?: number | undefined;
  readonly carriesBoth?: boolean;
}

function peersOf(fields: Fields): Manifest[] {
  const single = fields.text('bgp_peeraddress');
  const common: Written = {
    address: single,
    asn: fields.number('bgp_peeras') ?? 65_000,
    password: fields.text('bgp_peerpass') ?? '',
    isFar: fields.flag('bgp_multihop') === true,
  };
  const listed = (fields.text('bgp_peers') ?? '').split(',').filter((one) => one.trim() !== '');
  const source = fields.text('bgp_sourceip');
  if (source !== undefined)
    fields.lose(
      'bgp_sourceip',
      `is ${source}, which fits one node only: it is left out`,
      'write a BGPPeer with sourceAddress and nodeSelectors for each node that needs one',
    );
  const times = { holdTime: secondsOf(fields.number('bgp_hold_time')), keepaliveTime: secondsOf(fields.number('bgp_keepalive_interval')) };
  const myASN = fields.number('bgp_as') ?? 65_000;
  const written = listed.length > 0 ? listed.flatMap((one) => listedPeer(fields, one)) : single === undefined ? [] : [common];
  return written.map(({ address, asn, password, isFar, device, port, carriesBoth }, index) =>
    manifest('BGPPeer', `kube-vip-${index + 1}`, {
      myASN,
      peerASN: asn,
      peerAddress: address,
      interface: device,
      peerPort: port === 179 ? undefined : port,
      password: password === '' ? undefined : password,
      ebgpMultiHop: isFar && asn !== myASN ? true : undefined,
      dualStackAddressFamily: carriesBoth === true ? true : undefined,
      ...times,
    }),
  );
}

const secondsOf = (count: number | undefined): string | undefined => (count === undefined || count === 0 ? undefined : `${count}s`);

/** Reads one of `bgp_peers`: ADDRESS:AS:PASSWORD:MULTIHOP:PORT:MPBGP:BFD, or unnumbered:INTERFACE:AS:... */
function listedPeer(fields: Fields, text: string): Written[] {
  const found = /^(unnumbered:)?(?:\[([^\]]+)\]|([^:]+))((?::[^:]*){0,6})$/.exec(text.trim());
  const [, unnumbered, v6, name = '', rest = ''] = found ?? [];
  const [asn = '', password = '', far = '', port = '', both = '', bfd = ''] = rest.slice(1).split(':');
  const isNumber = /^[0-9]{0,10}$/;
  if (found === null || !isNumber.test(asn) || !isNumber.test(port) || (asn === '' && unnumbered === undefined)) {
    fields.refuse(
      'bgp_peers',
      'has an entry that is not ADDRESS:AS:PASSWORD:MULTIHOP:PORT: no BGPPeer is written for it',
      'write a BGPPeer',
    );
    return [];
  }
  if (bfd.startsWith('true'))
    fields.lose('bgp_peers', 'has BFD for a peer', 'write a BFDProfile, and name it as bfdProfile of the BGPPeer');
  return [
    {
      address: unnumbered === undefined ? (v6 ?? name) : undefined,
      device: unnumbered === undefined ? undefined : name,
      asn: asn === '' ? undefined : Number(asn),
      password,
      isFar: far === 'true',
      port: port === '' ? undefined : Number(port),
      carriesBoth: both !== '',
    },
  ];
}
