import { isRecord } from '../../../../lang/is-record.ts';
import { poolRange } from './reading/blocks.ts';
import { Fields } from './reading/fields.ts';
import { kept, lost, to, type SourceKind } from './reading/source-kind.ts';
import { imported, manifest, nameOf, partsOf, type ImportedDocument, type Manifest, type SourceDocument, type Tool } from './tool.ts';

/** api/v1alpha2/eip_types.go of OpenELB. */
const eip: SourceKind = {
  tool: 'OpenELB',
  kind: 'Eip',
  root: 'spec.',
  fields: [
    to(
      'address',
      'IPAddressPool `addresses`. Only the default Eip, or one with namespaces, assigns on its own: every other pool has `autoAssign: false`.',
    ),
    to('protocol', '`layer2` and `vip`: an L2Advertisement of the pool. `bgp`, also when it is not set: a BGPAdvertisement.'),
    to(
      'interface',
      'L2Advertisement `interfaces`. `can_reach:ADDRESS` is left out: a node announces on the interface whose network contains the address.',
    ),
    to('disable', 'IPAddressPool `draining`'),
    to('priority', 'IPAddressPool `serviceAllocation.priority`'),
    to('namespaces', 'IPAddressPool `serviceAllocation.namespaces`'),
    to('namespaceSelector', 'IPAddressPool `serviceAllocation.namespaceSelectors`'),
    kept('usingKnownIPs', 'is not needed: Herald adopts the addresses that Services have'),
  ],
};

/** api/v1alpha2/bgpconf_types.go of OpenELB. */
const bgpConf: SourceKind = {
  tool: 'OpenELB',
  kind: 'BgpConf',
  root: 'spec.',
  fields: [
    to('as', 'BGPPeer `myASN` of every BgpPeer'),
    lost('asPerRack', 'gives racks AS numbers of their own', 'write a BGPPeer with nodeSelectors for each rack'),
    kept('routerId', 'is not needed: Herald takes the first IPv4 InternalIP of each node'),
    kept(
      'listenPort',
      'is not needed: Herald listens only for passive peers',
      'set --bgp-listen of the agent, and passive: true, if the router connects to the nodes',
    ),
    kept('listenAddresses', 'is not needed: Herald listens only for passive peers'),
    kept('families', 'is not needed: a session carries what dualStackAddressFamily says'),
    kept('useMultiplePaths', 'is not needed: it is about received routes'),
    to('gracefulRestart.enabled', 'BGPPeer `enableGracefulRestart` of every BgpPeer'),
    kept('gracefulRestart.*', 'is not needed: Herald asks routers to keep routes for 120 s'),
    lost('policy', 'is a policy of GoBGP, which Herald does not have', 'see BGPAdvertisement for communities, med and asPathPrepend'),
  ],
};

/** api/v1alpha2/bgppeer_types.go of OpenELB. */
const bgpPeer: SourceKind = {
  tool: 'OpenELB',
  kind: 'BgpPeer',
  root: 'spec.',
  fields: [
    to('conf.neighborAddress', 'BGPPeer `peerAddress`'),
    to('conf.peerAs', 'BGPPeer `peerASN`'),
    to('conf.localAs', 'BGPPeer `localASN`'),
    to('conf.authPassword', 'BGPPeer `password`'),
    to('conf.neighborInterface', 'BGPPeer `interface`'),
    to('conf.vrf', 'BGPPeer `vrf`'),
    to('conf.adminDown', 'BGPPeer `adminDown`'),
    kept('conf.description', 'is a comment'),
    kept('conf.peerType', 'follows from the AS numbers'),
    kept('conf.sendCommunity', 'is not needed: a BGPAdvertisement has communities or not'),
    kept('conf.routeFlapDamping', 'is about received routes'),
    lost('conf.peerGroup', 'names a group of GoBGP, which Herald does not have', "write the group's settings in the BGPPeer"),
    lost('conf.removePrivateAs', 'has no equivalent', 'remove private AS numbers in the router'),
    lost('conf.allowOwnAs', 'is about received routes', 'see import of a BGPPeer, docs/how-to/receive-routes.md'),
    lost('conf.replacePeerAs', 'has no equivalent', 'use as-override in the router'),
    to('ebgpMultihop.enabled', 'BGPPeer `ebgpMultiHop`'),
    kept('ebgpMultihop.multihopTtl', 'is not needed: the TTL is 255'),
    to('timers.config.holdTime', 'BGPPeer `holdTime`, in seconds'),
    to('timers.config.keepaliveInterval', 'BGPPeer `keepaliveTime`, in seconds'),
    to('timers.config.connectRetry', 'BGPPeer `connectTime`, in seconds'),
    kept('timers.config.minimumAdvertisementInterval', 'is not needed: Herald sends routes at once'),
    to('transport.passiveMode', 'BGPPeer `passive`'),
    to('transport.remotePort', 'BGPPeer `peerPort`'),
    lost('transport.remoteAddress', 'is another address of the router', 'write it as peerAddress'),
    kept('transport.mtuDiscovery', "is the kernel's business"),
    kept('transport.tcpMss', "is the kernel's business"),
    to('gracefulRestart.enabled', 'BGPPeer `enableGracefulRestart`'),
    kept('gracefulRestart.*', 'is not needed: Herald asks routers to keep routes for 120 s'),
    to('afiSafis', 'Both families: BGPPeer `dualStackAddressFamily`'),
    to('nodeSelector', 'BGPPeer `nodeSelectors`'),
  ],
};

const kinds = [eip, bgpConf, bgpPeer];

export const openelb: Tool = {
  name: 'OpenELB',
  kinds,
  recognises: ({ raw }) => {
    const { group, kind } = partsOf(raw);
    return group === 'network.kubesphere.io' && kinds.some((one) => one.kind === kind);
  },
  translate(documents) {
    const of = (kind: string): SourceDocument[] => documents.filter(({ raw }) => partsOf(raw).kind === kind);
    const [configuration] = of(bgpConf.kind);
    const conf = Fields.of(bgpConf, configuration === undefined ? {} : partsOf(configuration.raw).spec);
    const shared = { myASN: conf.number('as'), restarts: conf.within('gracefulRestart').flag('enabled') === true };
    return [
      ...of(eip.kind).map(poolObjects),
      ...(configuration === undefined ? [] : [imported(configuration, conf, [])]),
      ...of(bgpConf.kind).slice(1).map(second),
      ...of(bgpPeer.kind).map((one) => peerObjects(one, shared)),
    ];
  },
};

function second(document: SourceDocument): ImportedDocument {
  const fields = Fields.of(bgpConf, {});
  fields.refuse('', 'is a second BgpConf, and OpenELB reads the one named default', 'remove it');
  return imported(document, fields, []);
}

function poolObjects(document: SourceDocument): ImportedDocument {
  const { name, spec, annotations } = partsOf(document.raw);
  const fields = Fields.of(eip, spec);
  const [namespaces, selector, priority] = [fields.texts('namespaces'), fields.value('namespaceSelector'), fields.number('priority')];
  const hasSelector = isRecord(selector) && Object.keys(selector).length > 0;
  const isLimited = namespaces.length > 0 || hasSelector;
  const isDefault = annotations['eip.openelb.kubesphere.io/is-default-eip'] === 'true';
  const serviceAllocation = {
    ...(namespaces.length > 0 ? { namespaces } : {}),
    ...(hasSelector ? { namespaceSelectors: [{ matchLabels: selector }] } : {}),
    ...(priority === undefined ? {} : { priority }),
  };
  if (!isDefault && !isLimited)
    fields.note(
      '',
      'is not the default Eip, and has no namespaces: only Services that name it get addresses, so the pool has autoAssign: false',
    );
  const pool = manifest('IPAddressPool', name, {
    addresses: [poolRange(fields.text('address') ?? '')],
    autoAssign: isDefault || isLimited ? undefined : false,
    draining: fields.flag('disable') === true ? true : undefined,
    serviceAllocation: isLimited ? serviceAllocation : undefined,
  });
  return imported(document, fields, [pool, announcement(fields, nameOf(pool))]);
}

function announcement(fields: Fields, pool: string): Manifest {
  const [protocol, device] = [fields.text('protocol') ?? 'bgp', fields.text('interface')];
  if (protocol === 'bgp') return manifest('BGPAdvertisement', pool, { ipAddressPools: [pool] });
  if (protocol === 'vip') fields.note('protocol', 'is vip, for which OpenELB runs keepalived: the nodes announce by ARP or NDP instead');
  const reaches = device?.startsWith('can_reach:') ?? false;
  if (reaches) fields.note('interface', `is ${device ?? ''}: a node announces on the interface whose network contains the address`);
  return manifest('L2Advertisement', pool, {
    ipAddressPools: [pool],
    interfaces: device === undefined || reaches || protocol === 'vip' ? [] : [device],
  });
}

function peerObjects(
  document: SourceDocument,
  shared: { readonly myASN: number | undefined; readonly restarts: boolean },
): ImportedDocument {
  const { name, spec } = partsOf(document.raw);
  const fields = Fields.of(bgpPeer, spec);
  const [conf, timers, transport] = [fields.within('conf'), fields.within('timers').within('config'), fields.within('transport')];
  const families: unknown = fields.value('afiSafis');
  const port = transport.number('remotePort');
  const peerASN = conf.number('peerAs');
  const isFar = fields.within('ebgpMultihop').flag('enabled') === true;
  const restarts = fields.within('gracefulRestart').flag('enabled') ?? shared.restarts;
  const selector = fields.value('nodeSelector');
  if (shared.myASN === undefined)
    fields.refuse(
      'conf',
      'needs the BgpConf with the AS number of the nodes, which is not in the input',
      'import it together with the BgpConf',
    );
  const peer = manifest('BGPPeer', name, {
    myASN: shared.myASN,
    peerASN,
    localASN: conf.number('localAs'),
    peerAddress: conf.text('neighborAddress'),
    interface: conf.text('neighborInterface'),
    vrf: conf.text('vrf'),
    password: conf.text('authPassword'),
    adminDown: conf.flag('adminDown') === true ? true : undefined,
    passive: transport.flag('passiveMode') === true ? true : undefined,
    peerPort: port === 0 || port === 179 ? undefined : port,
    ebgpMultiHop: isFar && peerASN !== shared.myASN ? true : undefined,
    holdTime: secondsOf(timers.number('holdTime')),
    keepaliveTime: secondsOf(timers.number('keepaliveInterval')),
    connectTime: secondsOf(timers.number('connectRetry')),
    enableGracefulRestart: restarts ? true : undefined,
    dualStackAddressFamily: Array.isArray(families) && families.length > 1 ? true : undefined,
    nodeSelectors: selector === undefined ? [] : [selector],
  });
  return imported(document, fields, shared.myASN === undefined ? [] : [peer]);
}

const secondsOf = (count: number | undefined): string | undefined => (count === undefined || count === 0 ? undefined : `${count}s`);
