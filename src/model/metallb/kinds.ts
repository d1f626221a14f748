import { advertisementRows, communityRows } from './bgp-advertisement.ts';
import { bfdRows } from './bfd-profile.ts';
import { metallbGroup } from '../parse/metallb-group.ts';
import { l2AdvertisementRows } from './l2-advertisement.ts';
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

export const metallbKinds: readonly MetalLBKind[] = [
  { kind: 'IPAddressPool', version: 'v1beta1', rows: poolRows },
  { kind: 'BGPPeer', version: 'v1beta2', rows: peerRows },
  { kind: 'BGPPeer', version: 'v1beta1', rows: firstPeerRows },
  { kind: 'BGPAdvertisement', version: 'v1beta1', rows: advertisementRows },
  { kind: 'Community', version: 'v1beta1', rows: communityRows },
  { kind: 'BFDProfile', version: 'v1beta1', rows: bfdRows },
  { kind: 'L2Advertisement', version: 'v1beta1', rows: l2AdvertisementRows },
  {
    kind: 'AddressPool',
    version: 'v1beta1',
    rows: [],
    refused: {
      message: 'AddressPool is the predecessor of IPAddressPool, and is not read',
      fix: 'translate it with: herald import FILE',
    },
  },
];

/** Kinds that only MetalLB's own processes write. They configure nothing. */
export const reportKinds: readonly string[] = ['ServiceBGPStatus', 'ServiceL2Status', 'ConfigurationState'];

/** Kinds of the operator that installs MetalLB. They configure no addresses, and stay as long as MetalLB runs. */
export const operatorKinds: readonly string[] = ['MetalLB'];

/** Kinds to watch at an API server, each in its storage version. */
export const watchedKinds = [
  { kind: 'IPAddressPool', version: 'v1beta1', plural: 'ipaddresspools' },
  { kind: 'BGPPeer', version: 'v1beta2', plural: 'bgppeers' },
  { kind: 'BGPAdvertisement', version: 'v1beta1', plural: 'bgpadvertisements' },
  { kind: 'Community', version: 'v1beta1', plural: 'communities' },
  { kind: 'BFDProfile', version: 'v1beta1', plural: 'bfdprofiles' },
  { kind: 'L2Advertisement', version: 'v1beta1', plural: 'l2advertisements' },
].map(({ kind, version, plural }) => ({ kind, plural, apiVersion: `${metallbGroup}/${version}`, label: `${kind}.${metallbGroup}` }));
