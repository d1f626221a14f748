import type { Snapshot } from '../../model/store/snapshot.ts';

/**
 * True when load balancers should send new traffic to the node, as in kube-proxy's /healthz (KEP-3836): the Node exists, is not being
 * deleted and is not tainted for removal by the cluster autoscaler.
 */
export function isNodeEligible(snapshot: Snapshot, nodeName: string): boolean {
  const node = snapshot.nodes.get(nodeName);
  return node !== undefined && !node.metadata.deleting && !node.toBeDeleted;
}
