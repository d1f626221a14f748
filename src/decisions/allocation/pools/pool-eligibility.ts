import type { IPAddressPool, ServiceAllocation } from '../../../model/kinds/types.ts';
import { reason, type Reason } from '../../../model/reasons.ts';
import { anySelects, selects } from '../../../model/objects/label-selector.ts';
import type { AllocationRequest } from '../request.ts';

/** Why a pool does not serve a Service even on request; undefined where it does. */
export function whyPoolRefuses(pool: IPAddressPool, request: AllocationRequest): Reason | undefined {
  const { name } = pool.metadata;
  const allocation = pool.serviceAllocation;
  if (allocation === undefined) return undefined;
  if (!selectsNamespace(allocation, request)) return reason('PoolNamespaceNotSelected', { pool: name, namespace: request.namespace });
  if (!anySelects(allocation.serviceSelectors, request.labels)) return reason('PoolServiceNotSelected', { pool: name });
  return undefined;
}

/** Why a pool gives nobody anything new, while what was given from it stays; undefined: it gives. */
export function whyPoolGivesNoMore({ draining, metadata: { name } }: IPAddressPool): Reason | undefined {
  return draining ? reason('PoolDraining', { pool: name }) : undefined;
}

/**
 * The pools in the order in which they are tried for a Service that asks for none: first those with serviceAllocation, by
 * priority (lower is better, 0 is worst), then the others; by name within each.
 */
export function inOrderOfTrial(pools: readonly IPAddressPool[]): IPAddressPool[] {
  const rank = ({ serviceAllocation }: IPAddressPool): number => {
    if (serviceAllocation === undefined) return 2 ** 53;
    return serviceAllocation.priority === 0 ? 2 ** 52 : serviceAllocation.priority;
  };
  return pools.toSorted((a, b) => rank(a) - rank(b) || (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** Names and selectors are alternatives; neither: every namespace. */
function selectsNamespace(allocation: ServiceAllocation, request: AllocationRequest): boolean {
  const { namespaces, namespaceSelectors } = allocation;
  if (namespaces.length === 0 && namespaceSelectors.length === 0) return true;
  return namespaces.includes(request.namespace) || namespaceSelectors.some((selector) => selects(selector, request.namespaceLabels));
}
