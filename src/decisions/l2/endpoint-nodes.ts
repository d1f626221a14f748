import type { Service } from '../../model/objects/service.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { Family } from '../../net/address.ts';
import { nodesOfEndpoints, reachability, topologyOf } from '../forwarding/endpoints.ts';

/**
 * Returns the nodes at which traffic for the Services of one address reaches an endpoint: every node as soon as one Service with policy
 * Cluster has an endpoint, otherwise those with an endpoint of their own.
 */
export function nodesWithEndpoints(
  snapshot: Snapshot,
  services: readonly Service[],
  family: Family,
): 'all' | ReadonlySet<string> | { readonly reason: Reason } {
  const nodes = new Set<string>();
  let endpoints = 0;
  for (const service of services) {
    const places = service.externalTrafficPolicy === 'Local' ? nodesOfEndpoints(snapshot, service) : [''];
    for (const node of places) {
      const reach = reachability(snapshot, service, family, topologyOf(snapshot, node));
      endpoints = Math.max(endpoints, reach.endpoints);
      if (service.externalTrafficPolicy !== 'Local' && reach.cluster) return 'all';
      if (service.externalTrafficPolicy === 'Local' && reach.local) nodes.add(node);
    }
  }
  return nodes.size > 0 ? nodes : { reason: reason('NoEndpoints', { endpoints }) };
}
