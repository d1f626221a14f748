import type { Address, Family } from '../../net/address.ts';
import type { Protocol } from '../../net/frontend.ts';
import type { Metadata, ServiceKey } from './metadata.ts';

/** discovery.k8s.io/v1 EndpointSlice. core/v1 Endpoints without their own slices are mirrored into this type. */
export interface EndpointSlice {
  readonly kind: 'EndpointSlice';
  readonly metadata: Metadata;
  /** From the label kubernetes.io/service-name. Absent: no Service owns the slice, and it is not used. */
  readonly service?: ServiceKey;
  readonly family: Family;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
  /** Annotation herald.dev/weight: the share of each endpoint relative to others (src/model/annotations.ts). Absent: 1. */
  readonly weight?: number;
}

export interface EndpointPort {
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
}

export interface Endpoint {
  /** The first address of the endpoint. Kubernetes does not use the others either. */
  readonly address: Address;
  /** Missing conditions have their API defaults: ready and serving are true, terminating is false. */
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly nodeName?: string;
  /** The Pod of the slice's namespace that targetRef names. Absent: targetRef names none. */
  readonly pod?: string;
  readonly zone?: string;
  readonly hintZones: readonly string[];
  readonly hintNodes: readonly string[];
}
