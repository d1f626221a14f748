import type { TargetPort } from './desired.ts';

/** The targets of one stack's load balancer, and the ports on which it must reach them. */
export interface StackTargets {
  readonly ports: readonly TargetPort[];
  /** Instance ids. */
  readonly instances: readonly string[];
  /** Pod addresses. */
  readonly addresses: readonly string[];
}

/** Facts about addresses that are targets. */
export interface PodHosts {
  /** The instance that each pod runs on, by address. A pod may have no network interface of its own, and no interface may show its address. */
  readonly instances: ReadonlyMap<string, string>;
  /** True for the address of a pod. */
  readonly isPod: (address: string) => boolean;
  /** True for an address that HeraldConfig allows as a target although it is no pod. */
  readonly isAllowed: (address: string) => boolean;
}
