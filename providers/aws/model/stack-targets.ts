import type { TargetPort } from './desired.ts';

/** The targets of one stack's load balancer, and the ports on which it must reach them. */
export interface StackTargets {
  readonly ports: readonly TargetPort[];
  /** Instance ids. */
  readonly instances: readonly string[];
  /** Pod addresses. */
  readonly addresses: readonly string[];
}

/** The instance that each pod runs on, by pod address. A pod may have no network interface of its own, and no interface may show its address. */
export type PodHosts = ReadonlyMap<string, string>;
