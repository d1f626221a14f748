import { parsePrefixLeniently, prefixContains, type Prefix } from '../../../../../net/prefix.ts';
import { hasHostBits, poolRange } from '../reading/blocks.ts';
import { Fields } from '../reading/fields.ts';
import { kept, lost, to, type SourceKind } from '../reading/source-kind.ts';
import { imported, manifest, partsOf, type ImportedDocument, type Manifest, type SourceDocument } from '../tool.ts';

const mesh = "belongs to Calico's mesh between the nodes, which stays with Calico";

/** api/pkg/apis/projectcalico/v3/bgpconfig.go of Calico. */
export const calicoConfiguration: SourceKind = {
  tool: 'Calico',
  kind: 'BGPConfiguration',
  root: 'spec.',
  fields: [
    to('asNumber', 'BGPPeer `myASN` of every BGPPeer; without it 64512'),
    to(
      'serviceLoadBalancerIPs[].cidr',
      'An IPAddressPool, and a BGPAdvertisement with the length of the network as `aggregationLength`. If an IPPool for LoadBalancer gives the addresses, only a BGPAdvertisement of single addresses. Calico announces the network from every node at all times, and /32 routes under policy Local; Herald announces it from nodes that forward a Service of it.',
    ),
    to(
      'serviceClusterIPs[].cidr',
      'A BGPAdvertisement with `addressTypes: [ClusterIP]`. Calico announces the network, Herald each ClusterIP.',
    ),
    to('serviceExternalIPs[].cidr', 'An ExternalIPPolicy for all namespaces, and a BGPAdvertisement with `addressTypes: [ExternalIP]`'),
    to('communities[].name', 'Its value replaces it in `communities` of the BGPAdvertisement.'),
    to('communities[].value', 'BGPAdvertisement `communities`'),
    to('prefixAdvertisements[].cidr', 'The network whose BGPAdvertisement gets the communities. Any other network is lost.'),
    to('prefixAdvertisements[].communities', 'BGPAdvertisement `communities`'),
    lost(
      'serviceLoadBalancerAggregation',
      'has no field of its own',
      'set aggregationLength and aggregationLengthV6 of the BGPAdvertisement to 32 and 128 for single addresses',
    ),
    kept('nodeToNodeMeshEnabled', mesh),
    kept('nodeMeshPassword', mesh),
    kept('nodeMeshMaxRestartTime', mesh),
    kept('logSeverityScreen', "is about Calico's log"),
    kept('listenPort', 'is the port of BIRD: Herald listens only for passive peers'),
    kept('bindMode', 'is about BIRD'),
    kept('ignoredInterfaces', 'is about the routes that BIRD reads'),
    kept('localWorkloadPeeringIPV4', 'is about peers in pods, which stay with Calico'),
    kept('localWorkloadPeeringIPV6', 'is about peers in pods, which stay with Calico'),
    kept('programClusterRoutes', 'is about routes to pods, which stay with Calico'),
    kept('ipv4NormalRoutePriority', 'is about routes to pods, which stay with Calico'),
    kept('ipv6NormalRoutePriority', 'is about routes to pods, which stay with Calico'),
    kept('ipv4ElevatedRoutePriority', 'is about routes to pods, which stay with Calico'),
    kept('ipv6ElevatedRoutePriority', 'is about routes to pods, which stay with Calico'),
  ],
};

/** What other objects of Calico need of the configurations. */
export interface CalicoDefaults {
  readonly asn: number;
}

/** Returns the AS number of the nodes: that of the BGPConfiguration named default, else Calico's own default. */
export function calicoDefaults(documents: readonly SourceDocument[]): CalicoDefaults {
  const main = documents.find(({ raw }) => partsOf(raw).name === 'default');
  const asn = main === undefined ? undefined : asNumber(partsOf(main.raw).spec['asNumber']);
  return { asn: asn ?? 64_512 };
}

/** Reads an AS number, also in the form 65000.1 (RFC 5396). */
export function asNumber(value: unknown): number | undefined {
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
  const [high = '', low] = text.split('.', 2);
  if (!/^[0-9]{1,10}$/.test(high) || (low !== undefined && !/^[0-9]{1,5}$/.test(low))) return undefined;
  return low === undefined ? Number(high) : Number(high) * 65_536 + Number(low);
}

/** `hasPools`: IPPools for LoadBalancer give the addresses, so no pool is made of the announced networks. */
export function calicoConfigurationObjects(document: SourceDocument, hasPools: boolean): ImportedDocument {
  const { name, spec } = partsOf(document.raw);
  const fields = Fields.of(calicoConfiguration, spec);
  fields.value('asNumber');
  if (name !== 'default' && name.startsWith('node.'))
    fields.lose('', 'is for one node: Herald has no settings of a node', 'write a BGPPeer with nodeSelectors for that node');
  const tags = communitiesByNetwork(fields);
  const manifests = [...loadBalancers(fields, name, { hasPools, tags }), ...clusterIPs(fields, name), ...externalIPs(fields, name)];
  for (const { network, at } of tags)
    if (!at.used)
      at.fields.lose(
        'cidr',
        `is ${network}, which is no network of serviceLoadBalancerIPs: its communities are lost`,
        'write a BGPAdvertisement with these communities',
      );
  return imported(document, fields, manifests);
}

interface Tag {
  readonly network: string;
  readonly prefix: Prefix | undefined;
  readonly communities: readonly string[];
  readonly at: { readonly fields: Fields; used: boolean };
}

function communitiesByNetwork(fields: Fields): Tag[] {
  const values = new Map(fields.items('communities').map((one) => [one.text('name') ?? '', one.text('value') ?? '']));
  return fields.items('prefixAdvertisements').map((one) => {
    const network = one.text('cidr') ?? '';
    const parsed = parsePrefixLeniently(network);
    const communities = one.texts('communities').map((text) => values.get(text) ?? text);
    return {
      network,
      prefix: parsed.ok ? parsed.value : undefined,
      communities: communities.map(notation),
      at: { fields: one, used: false },
    };
  });
}

const notation = (value: string): string => (value.split(':').length === 3 ? `large:${value}` : value);

interface Surroundings {
  readonly hasPools: boolean;
  readonly tags: readonly Tag[];
}

function loadBalancers(fields: Fields, config: string, { hasPools, tags }: Surroundings): Manifest[] {
  const blocks = fields.items('serviceLoadBalancerIPs');
  const communities = new Set<string>();
  const made = blocks.flatMap((block, index) => {
    const cidr = block.text('cidr');
    if (cidr === undefined) return [];
    if (hasHostBits(cidr)) block.note('cidr', `has host bits, which do not count: it is ${poolRange(cidr)}`);
    const network = parsePrefixLeniently(poolRange(cidr));
    const own = network.ok ? communitiesOf(network.value, tags) : [];
    for (const one of own) communities.add(one);
    if (hasPools) {
      block.lose(
        'cidr',
        'is announced as a network by Calico: Herald announces single addresses of the imported pools',
        'set aggregationLength of the BGPAdvertisement if the network is one block of a pool',
      );
      return [];
    }
    block.note('cidr', 'becomes a pool: if another program assigns addresses of this network today, import its pools instead');
    const name = blocks.length === 1 ? `${config}-load-balancers` : `${config}-load-balancers-${index + 1}`;
    const length = network.ok
      ? { [network.value.address.family === 4 ? 'aggregationLength' : 'aggregationLengthV6']: network.value.length }
      : {};
    return [
      manifest('IPAddressPool', name, { addresses: [poolRange(cidr)] }),
      manifest('BGPAdvertisement', name, { ...length, communities: own, ipAddressPools: [name] }),
    ];
  });
  if (!hasPools || blocks.length === 0) return made;
  return [manifest('BGPAdvertisement', `${config}-load-balancers`, { communities: [...communities] })];
}

/** Returns the communities of the networks that contain the network, and notes that they were used. */
function communitiesOf(network: Prefix, tags: readonly Tag[]): string[] {
  const fitting = tags.filter(
    ({ prefix }) => prefix !== undefined && prefix.length <= network.length && prefixContains(prefix, network.address),
  );
  for (const { at } of fitting) at.used = true;
  return [...new Set(fitting.flatMap(({ communities }) => communities))];
}

function clusterIPs(fields: Fields, config: string): Manifest[] {
  const blocks = fields.items('serviceClusterIPs');
  for (const block of blocks)
    if (block.text('cidr') !== undefined)
      block.note('cidr', 'is announced as a network by Calico, and by Herald as single ClusterIPs of Services');
  return blocks.length === 0 ? [] : [manifest('BGPAdvertisement', `${config}-cluster-ips`, { addressTypes: ['ClusterIP'] })];
}

function externalIPs(fields: Fields, config: string): Manifest[] {
  const cidrs = fields.items('serviceExternalIPs').flatMap((block) => block.text('cidr') ?? []);
  if (cidrs.length === 0) return [];
  const masked = cidrs.map((cidr) => poolRange(cidr));
  return [
    manifest('ExternalIPPolicy', `${config}-external-ips`, { namespaceSelector: {}, cidrs: masked }),
    manifest('BGPAdvertisement', `${config}-external-ips`, { addressTypes: ['ExternalIP'] }),
  ];
}
