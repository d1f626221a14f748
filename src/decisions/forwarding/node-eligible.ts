import type { Snapshot } from '../../model/store/snapshot.ts';

/**
 * Whether load balancers should send new traffic to the node, as kube-proxy's /healthz has it (KEP-3836): it has a Node object
 * that is neither being deleted nor tainted by the cluster autoscaler for its removal.
 */
export function isNodeEligible(snapshot: Snapshot, nodeName: string): boolean {
  const node = snapshot.nodes.get(nodeName);
  return node !== undefined && !node.metadata.deleting && !node.toBeDeleted;
}
