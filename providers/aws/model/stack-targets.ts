import type { TargetPort } from './desired.ts';

/** The targets of one stack's load balancer, and the ports on which it must reach them. */
export interface StackTargets {
  readonly ports: readonly TargetPort[];
  /** Instance ids. */
  readonly instances: readonly string[];
  /** Pod addresses. */
  readonly addresses: readonly string[];
}

/** The hosts of addresses that are targets, as far as they are known. */
export interface PodHosts {
  /** The instance that each pod runs on, by address. A pod may have no network interface of its own, and no interface may show its address. */
  readonly instances: ReadonlyMap<string, string>;
  /** True for the address of a pod that is known. In a directory of manifests there is none: any author of an EndpointSlice may write any address. */
  readonly isPod: (address: string) => boolean;
  /** True for an address that may be a target although it is no known pod: HeraldConfig allows it, or there are no Pods to compare with. */
  readonly isAllowed: (address: string) => boolean;
}
