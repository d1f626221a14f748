import type { Address } from '../../net/address.ts';
import type { Namespace, Node, Secret, ServiceCIDR } from '../objects/cluster.ts';
import type { BFDProfile, BGPAdvertisement, BGPPeer, Community, ExternalIPPolicy, HeraldConfig, IPAddressPool } from '../kinds/types.ts';
import type { EndpointSlice } from '../objects/endpoint-slice.ts';
import type { ServiceKey } from '../objects/metadata.ts';
import type { NodeState } from '../objects/node-state.ts';
import type { Service } from '../objects/service.ts';

/** Every object that decisions read, valid and indexed. A view: it changes as the source does, between two changes it does not. */
export interface Snapshot {
  readonly services: ReadonlyMap<ServiceKey, Service>;
  /** Those that have the address on record, nearly always at most one; in no order. */
  holdersOf(address: Address): readonly ServiceKey[];
  /** The slices of one Service, in order of their names. */
  endpointSlices(service: ServiceKey): readonly EndpointSlice[];
  readonly nodes: ReadonlyMap<string, Node>;
  readonly namespaces: ReadonlyMap<string, Namespace>;
  readonly serviceCIDRs: ReadonlyMap<string, ServiceCIDR>;
  /** By "namespace/name". */
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly pools: ReadonlyMap<string, IPAddressPool>;
  readonly peers: ReadonlyMap<string, BGPPeer>;
  readonly advertisements: ReadonlyMap<string, BGPAdvertisement>;
  readonly bfdProfiles: ReadonlyMap<string, BFDProfile>;
  readonly communities: ReadonlyMap<string, Community>;
  readonly externalIPPolicies: ReadonlyMap<string, ExternalIPPolicy>;
  readonly nodeStates: ReadonlyMap<string, NodeState>;
  readonly config: HeraldConfig;
}

export type HeraldObject =
  | Service
  | EndpointSlice
  | Node
  | Namespace
  | Secret
  | ServiceCIDR
  | IPAddressPool
  | BGPPeer
  | BGPAdvertisement
  | BFDProfile
  | Community
  | ExternalIPPolicy
  | HeraldConfig
  | NodeState;

export type KindName = HeraldObject['kind'];

/** One object was added, replaced or removed. Whoever hears it looks at the snapshot: level-based, key-only. */
export interface Change {
  readonly kind: KindName;
  /** "namespace/name", or the name of a cluster-scoped object. */
  readonly key: string;
  /**
   * Services that are concerned as well. For EndpointSlice: those whose endpoints may differ (two when the slice changed its owner); for Service: those that
   * have an address of it on record, too.
   */
  readonly services?: readonly ServiceKey[];
}
