import { isRecord } from '../../../../../lang/is-record.ts';
import type { RawInput, Remark } from '../../../../../model/metallb/import.ts';
import { Fields } from '../reading/fields.ts';
import { lost, to, type SourceKind } from '../reading/source-kind.ts';
import { objectName, partsOf, type SourceDocument } from '../tool.ts';

/** The configuration file of MetalLB before 0.13 (configmaptocrs/types.go of MetalLB 0.13 has its fields). */
export const metallbConfig: SourceKind = {
  tool: 'MetalLB',
  kind: 'configuration before 0.13',
  root: '',
  fields: [
    to('address-pools[].name', 'Name of the IPAddressPool, in lower case, with "-" for other characters.'),
    to('address-pools[].protocol', 'layer2: an L2Advertisement of the pool. bgp: a BGPAdvertisement for each of `bgp-advertisements`.'),
    to('address-pools[].addresses', 'IPAddressPool `addresses`'),
    to('address-pools[].auto-assign', 'IPAddressPool `autoAssign`'),
    to('address-pools[].avoid-buggy-ips', 'IPAddressPool `avoidBuggyIPs`'),
    to('address-pools[].bgp-advertisements[].aggregation-length', 'BGPAdvertisement `aggregationLength`'),
    to('address-pools[].bgp-advertisements[].aggregation-length-v6', 'BGPAdvertisement `aggregationLengthV6`'),
    to('address-pools[].bgp-advertisements[].localpref', 'BGPAdvertisement `localPref`'),
    to('address-pools[].bgp-advertisements[].communities', 'BGPAdvertisement `communities`'),
    to('peers[].my-asn', 'BGPPeer `myASN`. The peers are named peer1, peer2, ... in their order.'),
    to('peers[].peer-asn', 'BGPPeer `peerASN`'),
    to('peers[].peer-address', 'BGPPeer `peerAddress`'),
    to('peers[].source-address', 'BGPPeer `sourceAddress`'),
    to('peers[].peer-port', 'BGPPeer `peerPort`'),
    to('peers[].hold-time', 'BGPPeer `holdTime`'),
    to('peers[].keepalive-time', 'BGPPeer `keepaliveTime`'),
    to('peers[].router-id', 'BGPPeer `routerID`'),
    to('peers[].node-selectors[].match-labels', 'BGPPeer `nodeSelectors`'),
    to('peers[].node-selectors[].match-expressions', 'BGPPeer `nodeSelectors`'),
    to('peers[].password', 'BGPPeer `password`'),
    to('peers[].bfd-profile', 'BGPPeer `bfdProfile`'),
    to('peers[].ebgp-multihop', 'BGPPeer `ebgpMultiHop`'),
    to('bgp-communities', 'A Community named bgp-communities'),
    to('bfd-profiles[].name', 'Name of the BFDProfile'),
    to('bfd-profiles[].receive-interval', 'BFDProfile `receiveInterval`'),
    to('bfd-profiles[].transmit-interval', 'BFDProfile `transmitInterval`'),
    to('bfd-profiles[].detect-multiplier', 'BFDProfile `detectMultiplier`'),
    to('bfd-profiles[].echo-interval', 'BFDProfile `echoInterval`, which is read but not used'),
    to('bfd-profiles[].echo-mode', 'BFDProfile `echoMode`, which is read but not used'),
    to('bfd-profiles[].passive-mode', 'BFDProfile `passiveMode`'),
    to('bfd-profiles[].minimum-ttl', 'BFDProfile `minimumTtl`'),
    lost('peer-autodiscovery', 'is a source of peers of other programs than MetalLB, and is left out', 'write a BGPPeer for each router'),
  ],
};

/** metallb.io/v1beta1 AddressPool, the predecessor of IPAddressPool. */
export const addressPool: SourceKind = {
  tool: 'MetalLB',
  kind: 'AddressPool',
  root: 'spec.',
  fields: [
    to('protocol', 'layer2: an L2Advertisement of the pool. bgp: a BGPAdvertisement for each of `bgpAdvertisements`.'),
    to('addresses', 'IPAddressPool `addresses`'),
    to('autoAssign', 'IPAddressPool `autoAssign`'),
    to('avoidBuggyIPs', 'IPAddressPool `avoidBuggyIPs`'),
    to('bgpAdvertisements[].aggregationLength', 'BGPAdvertisement `aggregationLength`'),
    to('bgpAdvertisements[].aggregationLengthV6', 'BGPAdvertisement `aggregationLengthV6`'),
    to('bgpAdvertisements[].localPref', 'BGPAdvertisement `localPref`'),
    to('bgpAdvertisements[].communities', 'BGPAdvertisement `communities`'),
  ],
};

/** Objects of metallb.io that mean the same as an older configuration, and what is lost of it. */
export interface NewerObjects {
  readonly inputs: readonly RawInput[];
  readonly remarks: readonly Remark[];
}

/** True for the content of a configuration file of MetalLB before 0.13. */
export function isMetalLBConfig(raw: unknown): boolean {
  if (!isRecord(raw) || raw['kind'] !== undefined) return false;
  const isPeer = (one: unknown): boolean => isRecord(one) && ('peer-address' in one || 'my-asn' in one);
  const peers = raw['peers'];
  return Array.isArray(raw['address-pools']) || (Array.isArray(peers) && peers.some(isPeer));
}

export const isAddressPool = (raw: Readonly<Record<string, unknown>>): boolean => {
  const { kind, group } = partsOf(raw);
  return group === 'metallb.io' && kind === 'AddressPool';
};

/** Turns a configuration of MetalLB before 0.13, or an AddressPool, into the objects of MetalLB that replaced them. */
export function newerObjects(document: SourceDocument): NewerObjects {
  const { raw } = document;
  const fields = isAddressPool(raw) ? Fields.of(addressPool, raw['spec']) : Fields.of(metallbConfig, raw);
  const made = isAddressPool(raw)
    ? poolObjects(fields, partsOf(raw).name, camelCase)
    : [
        ...communities(fields),
        ...fields.items('bfd-profiles').map(bfdProfile),
        ...fields.items('address-pools').flatMap((pool, index) => poolObjects(pool, pool.text('name') ?? `pool${index + 1}`, kebabCase)),
        ...fields.items('peers').map(peer),
      ];
  const { where } = document;
  return { remarks: fields.remarks(), inputs: made.map((one) => (where === undefined ? { raw: one } : { raw: one, where })) };
}

type Spelling = (camel: string) => string;
const camelCase: Spelling = (name) => name;
const kebabCase: Spelling = (name) =>
  name === 'localPref' ? 'localpref' : name.replaceAll(/IPs$|[A-Z]/g, (part) => `-${part.toLowerCase()}`);

const metallb = (kind: string, version: string, name: string, spec: Readonly<Record<string, unknown>>): object => ({
  apiVersion: `metallb.io/${version}`,
  kind,
  metadata: { name: objectName(name) },
  spec: Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined)),
});

function poolObjects(fields: Fields, name: string, spelled: Spelling): object[] {
  const protocol = fields.text('protocol');
  const values = Object.fromEntries(['addresses', 'autoAssign', 'avoidBuggyIPs'].map((one) => [one, fields.value(spelled(one))]));
  const pool = metallb('IPAddressPool', 'v1beta1', name, values);
  const ipAddressPools = [objectName(name)];
  const names = ['aggregationLength', 'aggregationLengthV6', 'localPref', 'communities'];
  const written = fields.items(spelled('bgpAdvertisements'));
  const routes = written.map((one) => Object.fromEntries(names.map((field) => [field, one.value(spelled(field))])));
  if (protocol === 'layer2') return [pool, metallb('L2Advertisement', 'v1beta1', name, { ipAddressPools })];
  if (protocol !== 'bgp') {
    fields.refuse('protocol', 'is neither layer2 nor bgp: nothing announces the pool', 'write layer2 or bgp');
    return [pool];
  }
  const all = routes.length === 0 ? [{}] : routes;
  return [
    pool,
    ...all.map((spec, index) =>
      metallb('BGPAdvertisement', 'v1beta1', index === 0 ? name : `${name}-${index + 1}`, { ipAddressPools, ...spec }),
    ),
  ];
}

function peer(fields: Fields, index: number): object {
  const names = ['peerASN', 'peerAddress', 'sourceAddress', 'peerPort', 'holdTime', 'keepaliveTime', 'password', 'bfdProfile'];
  const written: Record<string, unknown> = { myASN: fields.value('my-asn'), routerID: fields.value('router-id') };
  for (const name of names) written[name] = fields.value(name === 'peerASN' ? 'peer-asn' : kebabCase(name));
  const profile = written['bfdProfile'];
  const nodeSelectors = fields.items('node-selectors').map((one) => ({
    ...(one.value('match-labels') === undefined ? {} : { matchLabels: one.value('match-labels') }),
    ...(one.value('match-expressions') === undefined ? {} : { matchExpressions: one.value('match-expressions') }),
  }));
  return metallb('BGPPeer', 'v1beta2', `peer${index + 1}`, {
    ...written,
    ...(typeof profile === 'string' ? { bfdProfile: objectName(profile) } : {}),
    ebgpMultiHop: fields.value('ebgp-multihop'),
    nodeSelectors: nodeSelectors.length === 0 ? undefined : nodeSelectors,
  });
}

function bfdProfile(fields: Fields): object {
  const names = ['receiveInterval', 'transmitInterval', 'detectMultiplier', 'echoInterval', 'echoMode', 'passiveMode', 'minimumTtl'];
  const spec = Object.fromEntries(names.map((name) => [name, fields.value(kebabCase(name))]));
  return metallb('BFDProfile', 'v1beta1', fields.text('name') ?? '', spec);
}

function communities(fields: Fields): object[] {
  const written = fields.value('bgp-communities');
  if (!isRecord(written) || Object.keys(written).length === 0) return [];
  const list = Object.entries(written).map(([name, value]) => ({ name, value: String(value) }));
  return [metallb('Community', 'v1beta1', 'bgp-communities', { communities: list })];
}
