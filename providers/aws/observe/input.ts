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
  readonly now: number;
}
