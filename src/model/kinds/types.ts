/** The types of Herald's own kinds as decisions read them (herald.dev/v1alpha1): validated and with defaults. */
export type { BFDProfile } from './bfd-profile.ts';
export type { AddressType, BGPAdvertisement } from './bgp-advertisement.ts';
export type { BGPPeer } from './bgp-peer.ts';
export type { Community } from './community.ts';
export type { ExternalIPPolicy } from './external-ip-policy.ts';
export type { ConntrackConfig, DirectReturnMode, HeraldConfig, ServicesScope } from './herald-config.ts';
export type { ConflictPolicy, FailbackPolicy, L2Advertisement, NodePreference } from './l2-advertisement.ts';
export type { IPAddressPool, Quota, Reservation, ServiceAllocation } from './ip-address-pool.ts';
