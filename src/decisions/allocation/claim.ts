import type { HeraldConfig } from '../../model/kinds/types.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';

type AllocationClaim = { readonly mine: true } | { readonly mine: false; readonly reason: Reason };

/**
 * Whether a Service that held an address as `before` keeps it although it is not ours any more: its owner changed nothing
 * about whose it is, so it is HeraldConfig that changed, perhaps for a moment, and an address once lost does not come back.
 */
export function keepsHolding(
  before: Service,
  now: Service,
  { mine, reason }: { readonly mine: boolean; readonly reason?: Reason },
): boolean {
  if (mine || reason?.code !== 'OtherLoadBalancerClass') return false;
  return before.type === now.type && before.loadBalancerClass === now.loadBalancerClass && before.headless === now.headless;
}

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
