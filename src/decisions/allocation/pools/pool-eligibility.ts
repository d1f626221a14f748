import type { IPAddressPool, ServiceAllocation } from '../../../model/kinds/types.ts';
import { reason, type Reason } from '../../../model/reasons.ts';
import { anySelects, selects } from '../../../model/objects/label-selector.ts';
import type { AllocationRequest } from '../request.ts';

/** Returns why a pool does not serve a Service even on request. Undefined when it does. */
export function whyPoolRefuses(pool: IPAddressPool, request: AllocationRequest): Reason | undefined {
  const { name } = pool.metadata;
  const allocation = pool.serviceAllocation;
  if (allocation === undefined) return undefined;
  if (!selectsNamespace(allocation, request)) return reason('PoolNamespaceNotSelected', { pool: name, namespace: request.namespace });
  if (!anySelects(allocation.serviceSelectors, request.labels)) return reason('PoolServiceNotSelected', { pool: name });
  return undefined;
}

/** Returns why a pool assigns nothing new while earlier assignments stay. Undefined when it assigns. */
export function whyPoolGivesNoMore({ draining, metadata: { name } }: IPAddressPool): Reason | undefined {
  return draining ? reason('PoolDraining', { pool: name }) : undefined;
}

/**
 * Sorts pools in the order of trial for a Service that names none: first those with serviceAllocation, by priority (lower first, 0 last),
 * then the others; by name within each group.
 */
export function inOrderOfTrial(pools: readonly IPAddressPool[]): IPAddressPool[] {
  const rank = ({ serviceAllocation }: IPAddressPool): number => {
    if (serviceAllocation === undefined) return 2 ** 53;
    return serviceAllocation.priority === 0 ? 2 ** 52 : serviceAllocation.priority;
  };
  return pools.toSorted((a, b) => rank(a) - rank(b) || (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** Names and selectors are alternatives. With neither, the pool serves every namespace. */
function selectsNamespace(allocation: ServiceAllocation, request: AllocationRequest): boolean {
  const { namespaces, namespaceSelectors } = allocation;
  if (namespaces.length === 0 && namespaceSelectors.length === 0) return true;
  return namespaces.includes(request.namespace) || namespaceSelectors.some((selector) => selects(selector, request.namespaceLabels));
}
