import { nodeForwarding } from '../../decisions/forwarding/node.ts';
import type { NodePorts } from '../../decisions/host/node-port-listeners.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { ServicePlan } from '../reconcile/service-plan.ts';

/** Who has which NodePort of a node, and on which addresses. */
export function nodePortsOf(plans: ReadonlyMap<ServiceKey, ServicePlan>, snapshot: Snapshot, node: string): NodePorts {
  const owners = new Map<string, string>();
  for (const [service, { forwarding }] of plans) {
    for (const { match } of forwarding.frontends) if (match.kind === 'nodePort') owners.set(`${match.protocol} ${match.port}`, service);
  }
  return { owners, addresses: nodeForwarding(snapshot, node).nodePortAddresses };
}
