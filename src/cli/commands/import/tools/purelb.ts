import { isRecord } from '../../../../lang/is-record.ts';
import { poolRange } from './reading/blocks.ts';
import { Fields } from './reading/fields.ts';
import { kept, lost, to, type SourceField, type SourceKind } from './reading/source-kind.ts';
import { imported, manifest, nameOf, partsOf, type ImportedDocument, type SourceDocument, type Tool } from './tool.ts';

const poolFields = (at: string): SourceField[] => [
  to(`${at}.pool`, 'IPAddressPool `addresses`'),
  kept(`${at}.subnet`, 'is not needed: a node announces an address that is in a network of one of its interfaces by ARP or NDP'),
  to(`${at}.aggregation`, '`default` or the length of one address: nothing. Any other length is lost.'),
];

/** pkg/apis/purelb/v1/types.go and v2/types.go of PureLB. */
const serviceGroup: SourceKind = {
  tool: 'PureLB',
  kind: 'ServiceGroup',
  root: 'spec.',
  fields: [
    to('local.pool', 'IPAddressPool `addresses`. Only the group `default` assigns on its own: every other pool has `autoAssign: false`.'),
    kept('local.subnet', 'is not needed: a node announces an address that is in a network of one of its interfaces by ARP or NDP'),
    to('local.aggregation', '`default` or the length of one address: nothing. Any other length is lost.'),
    ...['local.v4pool', 'local.v6pool', 'local.v4pools[]', 'local.v6pools[]'].flatMap(poolFields),
    ...['remote.v4pool', 'remote.v6pool', 'remote.v4pools[]', 'remote.v6pools[]'].flatMap(poolFields),
    to('namespaces', 'IPAddressPool `serviceAllocation.namespaces`'),
    lost('namespaceDefault', 'chooses among groups of one namespace', 'write serviceAllocation.priority in the pools'),
    kept('enforceNamespaces', 'is always so in Herald: Services of other namespaces get no address of the pool'),
    lost(
      'external',
      'takes addresses from another program, which Herald does not ask',
      'write the range that it has for Services as an IPAddressPool',
    ),
    lost(
      'netbox',
      'takes addresses from Netbox, which Herald does not',
      'write the range that Netbox has for Services as an IPAddressPool',
    ),
    ...['local', 'remote'].flatMap((at) => [
      lost(`${at}.multiPool`, 'gives a Service one address of each range', 'request the addresses: herald.dev/load-balancer-ips'),
      lost(`${at}.balancePools`, 'spreads Services over the ranges: Herald assigns the lowest free address'),
    ]),
    lost('local.skipIPv6DAD', 'turns off the search for another host with the address: Herald always searches before it announces'),
  ],
};

const agentRows = 'is about the addresses that PureLB puts on interfaces, which Herald does not';

const nodeAgent: SourceKind = {
  tool: 'PureLB',
  kind: 'LBNodeAgent',
  root: 'spec.',
  fields: [
    to('local.localint', 'L2Advertisement `interfaces`, unless it is `default`'),
    kept('local.extlbint', 'is where routing software finds addresses: Herald announces them itself, by BGPPeer and BGPAdvertisement'),
    to('local.localInterface', 'The name of `localint` in v2'),
    kept(
      'local.dummyInterface',
      'is where routing software finds addresses: Herald announces them itself, by BGPPeer and BGPAdvertisement',
    ),
    to('local.interfaces', 'L2Advertisement `interfaces`'),
    to('nodeSelector', 'L2Advertisement `nodeSelectors`'),
    kept('local.sendgarp', 'is not needed: Herald always sends gratuitous ARP'),
    kept('local.garpConfig', 'is not needed: see refreshInterval of the L2Advertisement'),
    kept('local.addressConfig', agentRows),
  ],
};

/** The BGP speaker that PureLB's manifests install beside it. */
const bgpConfiguration: SourceKind = {
  tool: 'PureLB',
  kind: 'BGPConfiguration (bgp.purelb.io)',
  root: 'spec.',
  fields: [
    to('global.asn', 'BGPPeer `myASN`'),
    kept('global.routerID', 'is not needed: Herald takes the first IPv4 InternalIP of each node'),
    kept('global.listenPort', 'is not needed: Herald listens only for passive peers'),
    kept('global.families', 'is not needed: a session carries what dualStackAddressFamily says'),
    kept('netlinkImport', 'is not needed: Herald announces addresses without a detour through the kernel'),
    to('neighbors[].config.neighborAddress', 'BGPPeer `peerAddress`'),
    to('neighbors[].config.peerAsn', 'BGPPeer `peerASN`'),
    kept('neighbors[].config.description', 'is a comment'),
    lost('neighbors[].config.authPasswordSecretRef', 'names a Secret with a password', 'write passwordSecret in the BGPPeer'),
    to('neighbors[].afiSafis[].family', 'Both families: BGPPeer `dualStackAddressFamily`'),
    to('neighbors[].afiSafis[].enabled', 'Only families with `true` count.'),
  ],
};

const kinds = [serviceGroup, nodeAgent, bgpConfiguration];

export const purelb: Tool = {
  name: 'PureLB',
  kinds,
  recognises: ({ raw }) => {
    const { group, kind } = partsOf(raw);
    return group === 'purelb.io'
      ? kind === 'ServiceGroup' || kind === 'LBNodeAgent'
      : group === 'bgp.purelb.io' && kind === 'BGPConfiguration';
  },
  translate: (documents) =>
    documents.map((document) => {
      const { kind } = partsOf(document.raw);
      return kind === 'ServiceGroup' ? groupObjects(document) : kind === 'LBNodeAgent' ? agentObjects(document) : bgpObjects(document);
    }),
};

function groupObjects(document: SourceDocument): ImportedDocument {
  const { name, spec } = partsOf(document.raw);
  const fields = Fields.of(serviceGroup, spec);
  const places = [fields.within('local'), fields.within('remote')].flatMap((place) => [
    ...['v4pool', 'v6pool'].map((one) => place.within(one)),
    ...['v4pools', 'v6pools'].flatMap((one) => place.items(one)),
  ]);
  const addresses = [...places, fields.within('local')].flatMap((place) => {
    const pool = place.text('pool');
    const aggregation = place.text('aggregation') ?? 'default';
    if (!['default', '/32', '32', '/128', '128'].includes(aggregation))
      place.lose('aggregation', `is ${aggregation}`, 'write aggregationLength in a BGPAdvertisement');
    return pool === undefined ? [] : [poolRange(pool)];
  });
  if (isRecord(spec['remote']))
    fields.note(
      'remote',
      'is announced by routing software beside PureLB, which Herald replaces',
      'write a BGPPeer for each router, and a BGPAdvertisement',
    );
  const namespaces = fields.texts('namespaces');
  if (addresses.length === 0) return imported(document, fields, []);
  const isAutomatic = name === 'default' || namespaces.length > 0;
  if (!isAutomatic) fields.note('', 'is used only by Services that name it, so the pool has autoAssign: false');
  return imported(document, fields, [
    manifest('IPAddressPool', name, {
      addresses,
      autoAssign: isAutomatic ? undefined : false,
      serviceAllocation: namespaces.length > 0 ? { namespaces } : undefined,
    }),
  ]);
}

function agentObjects(document: SourceDocument): ImportedDocument {
  const { name, spec } = partsOf(document.raw);
  const fields = Fields.of(nodeAgent, spec);
  const local = fields.within('local');
  const written = local.text('localint') ?? local.text('localInterface') ?? 'default';
  const interfaces = [...new Set([...(written === 'default' ? [] : [written]), ...local.texts('interfaces')])];
  const selector = fields.value('nodeSelector');
  fields.note(
    '',
    'announces addresses of networks that no node is in by routing software, which Herald replaces',
    'write a BGPPeer for each router, and a BGPAdvertisement',
  );
  return imported(document, fields, [
    manifest('L2Advertisement', `purelb-${name}`, { interfaces, nodeSelectors: selector === undefined ? [] : [selector] }),
  ]);
}

function bgpObjects(document: SourceDocument): ImportedDocument {
  const { name, spec } = partsOf(document.raw);
  const fields = Fields.of(bgpConfiguration, spec);
  const myASN = fields.within('global').number('asn');
  const peers = fields.items('neighbors').map((neighbor, index) => {
    const config = neighbor.within('config');
    const families = neighbor.items('afiSafis').flatMap((one) => {
      const family = one.text('family');
      return one.flag('enabled') === false || family === undefined ? [] : [family];
    });
    return manifest('BGPPeer', `purelb-${name}-${index + 1}`, {
      myASN,
      peerASN: config.number('peerAsn'),
      peerAddress: config.text('neighborAddress'),
      dualStackAddressFamily: new Set(families).size > 1 ? true : undefined,
    });
  });
  return imported(document, fields, [...peers, manifest('BGPAdvertisement', `purelb-${name}`, { peers: peers.map(nameOf) })]);
}
