import { advertisementRows, communityRows } from './bgp-advertisement.ts';
import { bfdRows } from './bfd-profile.ts';
import { metallbGroup } from './group.ts';
import { firstPeerRows, peerRows } from './bgp-peer.ts';
import { poolRows } from './ip-address-pool.ts';
import { layer2Rows } from './l2-advertisement.ts';
import type { FieldRow } from './rows.ts';

/** A kind of MetalLB in one of its versions. */
export interface MetalLBKind {
  readonly kind: string;
  readonly version: string;
  readonly rows: readonly FieldRow[];
  /** Why objects of the kind are refused as a whole, and what to do. */
  readonly refused?: { readonly message: string; readonly fix: string };
}

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
      message: 'Herald announces by BGP only: nobody answers ARP or NDP for the addresses of its pools',
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

/** Written by MetalLB's own processes: nothing is configured by them. */
export const reportKinds: readonly string[] = ['ServiceBGPStatus', 'ServiceL2Status', 'ConfigurationState'];

/** What is followed at an API server: each kind in the version that it is stored in. */
export const watchedKinds = [
  { kind: 'IPAddressPool', version: 'v1beta1', plural: 'ipaddresspools' },
  { kind: 'BGPPeer', version: 'v1beta2', plural: 'bgppeers' },
  { kind: 'BGPAdvertisement', version: 'v1beta1', plural: 'bgpadvertisements' },
  { kind: 'Community', version: 'v1beta1', plural: 'communities' },
  { kind: 'BFDProfile', version: 'v1beta1', plural: 'bfdprofiles' },
  { kind: 'L2Advertisement', version: 'v1beta1', plural: 'l2advertisements' },
].map(({ kind, version, plural }) => ({ kind, plural, apiVersion: `${metallbGroup}/${version}`, label: `${kind}.${metallbGroup}` }));
