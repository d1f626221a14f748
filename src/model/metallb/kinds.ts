import { advertisementRows, communityRows } from './bgp-advertisement.ts';
import { bfdRows } from './bfd-profile.ts';
import { metallbGroup } from '../parse/metallb-group.ts';
import { firstPeerRows, peerRows } from './bgp-peer.ts';
import { poolRows } from './ip-address-pool.ts';
import type { FieldRow } from './rows.ts';

/** One version of a MetalLB kind. */
export interface MetalLBKind {
  readonly kind: string;
  readonly version: string;
  readonly rows: readonly FieldRow[];
  /** Set when all objects of the kind are refused: the reason and the fix. */
  readonly refused?: { readonly message: string; readonly fix: string };
}

const layer2Fields = [
  'ipAddressPools',
  'ipAddressPoolSelectors',
  'nodeSelectors',
  'interfaces',
  'serviceSelectors',
  'preferredNodeSelectors',
];

/** Fields of a metallb.io/v1beta1 L2Advertisement. The kind is refused as a whole. */
const layer2Rows: readonly FieldRow[] = layer2Fields.map((field) => ({ field, does: 'no', text: '' }));

export const metallbKinds: readonly MetalLBKind[] = [
  { kind: 'IPAddressPool', version: 'v1beta1', rows: poolRows },
  { kind: 'BGPPeer', version: 'v1beta2', rows: peerRows },
  { kind: 'BGPPeer', version: 'v1beta1', rows: firstPeerRows },
  { kind: 'BGPAdvertisement', version: 'v1beta1', rows: advertisementRows },
  { kind: 'Community', version: 'v1beta1', rows: communityRows },
  { kind: 'BFDProfile', version: 'v1beta1', rows: bfdRows },
  {
    kind: 'L2Advertisement',
    version: 'v1beta1',
    rows: layer2Rows,
    refused: {
      message: 'Herald announces by BGP only: no node answers ARP or NDP for the addresses of its pools',
      fix: 'leave these pools to MetalLB, or announce them by a BGPAdvertisement',
    },
  },
  {
    kind: 'AddressPool',
    version: 'v1beta1',
    rows: [],
    refused: {
      message: 'AddressPool is the predecessor of IPAddressPool, and is not read',
      fix: 'write an IPAddressPool, and for protocol bgp a BGPAdvertisement',
    },
  },
];

/** Kinds that only MetalLB's own processes write. They configure nothing. */
export const reportKinds: readonly string[] = ['ServiceBGPStatus', 'ServiceL2Status', 'ConfigurationState'];

/** Kinds to watch at an API server, each in its storage version. */
export const watchedKinds = [
  { kind: 'IPAddressPool', version: 'v1beta1', plural: 'ipaddresspools' },
  { kind: 'BGPPeer', version: 'v1beta2', plural: 'bgppeers' },
  { kind: 'BGPAdvertisement', version: 'v1beta1', plural: 'bgpadvertisements' },
  { kind: 'Community', version: 'v1beta1', plural: 'communities' },
  { kind: 'BFDProfile', version: 'v1beta1', plural: 'bfdprofiles' },
  { kind: 'L2Advertisement', version: 'v1beta1', plural: 'l2advertisements' },
].map(({ kind, version, plural }) => ({ kind, plural, apiVersion: `${metallbGroup}/${version}`, label: `${kind}.${metallbGroup}` }));
