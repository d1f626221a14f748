import type { HeraldConfig } from '../../model/kinds/types.ts';
import { findEntry, reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';

type AllocationClaim = { readonly mine: true } | { readonly mine: false; readonly reason: Reason };

/**
 * Returns whether a Service keeps its address although Herald no longer claims it. It does when its owner changed nothing about the claim:
 * then HeraldConfig changed, perhaps for a moment, and a lost address does not come back.
 */
export function keepsAddress(
  before: Service,
  now: Service,
  { mine, reason }: { readonly mine: boolean; readonly reason?: Reason },
): boolean {
  if (mine || reason === undefined || !isOtherClass(reason)) return false;
  return before.type === now.type && before.loadBalancerClass === now.loadBalancerClass && before.headless === now.headless;
}

/** True when only the class, or its absence, gives the Service to another controller. */
export function isOtherClass(because: Reason): boolean {
  return because.code === 'ClassNotSet' || findEntry(because.code)?.givesAway === true;
}

/** Decides whether our pools serve the Service: a LoadBalancer of our class, or of none if HeraldConfig gives those to us. */
export function decideAllocationClaim(service: Service, config: HeraldConfig): AllocationClaim {
  const { type, loadBalancerClass } = service;
  const ours = config.loadBalancerClass;
  if (type === 'ExternalName') return { mine: false, reason: reason('ExternalName', undefined) };
  if (type !== 'LoadBalancer') return { mine: false, reason: reason('NotLoadBalancer', { type }) };
  if (service.headless) return { mine: false, reason: reason('Headless', undefined) };
  if (loadBalancerClass === undefined ? config.defaultClass : loadBalancerClass === ours) return { mine: true };
  const why =
    loadBalancerClass === undefined
      ? reason('ClassNotSet', { ours })
      : reason('OtherLoadBalancerClass', { class: loadBalancerClass, ours });
  return { mine: false, reason: why };
}
