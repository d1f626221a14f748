import type { Address } from '../../net/address.ts';
import type { Namespace, Node, Secret, ServiceCIDR } from '../objects/cluster.ts';
import type {
  BFDProfile,
  BGPAdvertisement,
  BGPPeer,
  Community,
  ExternalIPPolicy,
  HeraldConfig,
  IPAddressPool,
  L2Advertisement,
} from '../kinds/types.ts';
import type { EndpointSlice } from '../objects/endpoint-slice.ts';
import type { ServiceKey } from '../objects/metadata.ts';
import type { NodeState } from '../objects/node-state.ts';
import type { Service } from '../objects/service.ts';

/** All objects that decisions read, valid and indexed. It is a live view: it changes only when its source changes. */
export interface Snapshot {
  readonly services: ReadonlyMap<ServiceKey, Service>;
  /** Returns the Services that have the address on record, usually at most one, in no particular order. */
  holdersOf(address: Address): readonly ServiceKey[];
  /** Returns the Services that have the address as ClusterIP or external IP, in no particular order. */
  declaredBy(address: Address): readonly ServiceKey[];
  /** Returns the slices of a Service, sorted by name. */
  endpointSlices(service: ServiceKey): readonly EndpointSlice[];
  readonly nodes: ReadonlyMap<string, Node>;
  readonly namespaces: ReadonlyMap<string, Namespace>;
  readonly serviceCIDRs: ReadonlyMap<string, ServiceCIDR>;
  /** Key: "namespace/name". */
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly pools: ReadonlyMap<string, IPAddressPool>;
  readonly peers: ReadonlyMap<string, BGPPeer>;
  readonly advertisements: ReadonlyMap<string, BGPAdvertisement>;
  readonly l2Advertisements: ReadonlyMap<string, L2Advertisement>;
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
  | L2Advertisement
  | BFDProfile
  | Community
  | ExternalIPPolicy
  | HeraldConfig
  | NodeState;

export type KindName = HeraldObject['kind'];

/** Reports that an object was added, replaced or removed. Listeners read the new state from the snapshot: level-based, key only. */
export interface Change {
  readonly kind: KindName;
  /** "namespace/name", or the name of a cluster-scoped object. */
  readonly key: string;
  /**
   * Other Services that are affected. For an EndpointSlice: those whose endpoints may have changed (two when the slice changed its owner).
   * For a Service: those that have one of its addresses on record.
   */
  readonly services?: readonly ServiceKey[];
}
