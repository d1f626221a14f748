import type { Address, Family } from '../../net/address.ts';
import type { Protocol } from '../../net/frontend.ts';
import type { Metadata, ServiceKey } from './metadata.ts';

/** discovery.k8s.io/v1 EndpointSlice. Those of core/v1 Endpoints without a slice of their own are mirrored into this. */
export interface EndpointSlice {
  readonly kind: 'EndpointSlice';
  readonly metadata: Metadata;
  /** From the label kubernetes.io/service-name. Absent: no Service owns it and nothing uses it. */
  readonly service?: ServiceKey;
  readonly family: Family;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
  /** Annotation herald.dev/weight: the share of each endpoint, relative to others, under consistent hashing. Absent: 1. */
  readonly weight?: number;
}

export interface EndpointPort {
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
}

export interface Endpoint {
  /** Only the first address of an endpoint is used, as everywhere in Kubernetes. */
  readonly address: Address;
  /** Absent conditions have been read as the API says: ready and serving unless false; terminating false. */
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly nodeName?: string;
  readonly zone?: string;
  readonly hintZones: readonly string[];
  readonly hintNodes: readonly string[];
}
