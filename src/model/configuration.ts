/** Herald's own kinds as decisions read them, herald.dev/v1alpha1, validated and with defaults: what their definitions in kinds/ read as. */
export type { BFDProfile } from './kinds/bfd-profile.ts';
export type { AddressType, BGPAdvertisement } from './kinds/bgp-advertisement.ts';
export type { BGPPeer } from './kinds/bgp-peer.ts';
export type { Community } from './kinds/community.ts';
export type { ExternalIPPolicy } from './kinds/external-ip-policy.ts';
export type { Compat, ConntrackConfig, DirectReturnMode, HeraldConfig, ServicesScope } from './kinds/herald-config.ts';
export type { IPAddressPool, Quota, Reservation, ServiceAllocation } from './kinds/ip-address-pool.ts';
