import type { HeraldConfig } from '../../model/configuration.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/service.ts';

export type AllocationClaim = { readonly mine: true } | { readonly mine: false; readonly reason: Reason };

/** Whether a Service takes an address from our pools: a LoadBalancer of our class, or without a class where that is ours too. */
export function decideAllocationClaim(service: Service, config: HeraldConfig): AllocationClaim {
  const { type, loadBalancerClass } = service;
  const ours = config.loadBalancerClass;
  if (type === 'ExternalName') return { mine: false, reason: reason('ExternalName', undefined) };
  if (type !== 'LoadBalancer') return { mine: false, reason: reason('NotLoadBalancer', { type }) };
  if (service.headless) return { mine: false, reason: reason('Headless', undefined) };
  if (loadBalancerClass === undefined ? config.defaultClass : loadBalancerClass === ours) return { mine: true };
  return { mine: false, reason: reason('OtherLoadBalancerClass', { class: loadBalancerClass ?? '', ours }) };
}
