import type { KnownResources } from './known-resources.ts';

export interface ObserveInput {
  readonly stack: string;
  readonly cluster: string;
  readonly vpcId: string;
  readonly known: KnownResources;
  /** Further NLB names to look for, or the ARN of a load balancer to adopt. */
  readonly wanted: readonly string[];
  /** Further names of Classic ELBs to look for. */
  readonly wantedClassic: readonly string[];
  /**
   * The attributes of load balancers and listeners to read: all, or only those of resources whose tags keep previous values. Attributes that
   * nobody has named stay as they are.
   */
  readonly attributes?: 'all' | 'kept';
  /** True if the Service asks for reserved capacity. */
  readonly readsCapacity?: boolean;
  /** True if the Service asks for an endpoint service. */
  readonly wantsEndpointService?: boolean;
  readonly now: number;
}
