import type { KnownResources } from './known-resources.ts';

export interface ObserveInput {
  readonly stack: string;
  readonly cluster: string;
  readonly vpcId: string;
  readonly known: KnownResources;
  /** Names of load balancers of version 2 to look for as well, or the ARN of one to adopt. */
  readonly wanted: readonly string[];
  /** Names of Classic ELBs to look for as well. */
  readonly wantedClassic: readonly string[];
  readonly now: number;
}
