import { nodeForwarding } from '../../decisions/forwarding/node.ts';
import type { HostFacts } from '../../decisions/host/required-settings.ts';
import type { NodePorts } from '../../decisions/host/node-port-listeners.ts';
import { defined } from '../../lang/defined.ts';
import { defaultConntrack } from '../../model/kinds/default-config.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { ServicePlan } from '../reconcile/service-plan.ts';

/** The facts about a host that Kubernetes objects define; the kernel provides the others. */
export type ObjectFacts = Pick<
  HostFacts,
  'families' | 'peerInterfaces' | 'linkInterfaces' | 'podPrefixes' | 'podInterfaces' | 'conntrack' | 'kubeProxy'
> & {
  /** Prefixes of this node's pods to which other nodes pass connections. Empty: unknown, or there are no other nodes. */
  readonly passedPods: readonly Prefix[];
  readonly hasOthers: boolean;
  readonly nodePorts: () => NodePorts;
};

/** Returns what the objects say about the node's network. `plans` are the plans of this node, which contain its NodePorts. */
export function hostFacts(snapshot: Snapshot, node: string, plans: ReadonlyMap<ServiceKey, ServicePlan> = new Map()): ObjectFacts {
  const peerInterfaces = [...snapshot.peers.values()].flatMap((peer) => peer.interface ?? []);
  const { podPrefixes, podInterfaces = [] } = nodeForwarding(snapshot, node);
  const addresses = [...(snapshot.nodes.get(node)?.internalIPs ?? []), ...podPrefixes.map(({ address }) => address)];
  const families = new Set(addresses.map(({ family }) => family));
  for (const { ipFamilies } of snapshot.services.values()) {
    if (families.size === 2) break;
    for (const family of ipFamilies) families.add(family);
  }
  const { services, conntrack = services === 'all' ? defaultConntrack : undefined } = snapshot.config;
  const nodePorts = (): NodePorts => nodePortsOf(plans, snapshot, node);
  return {
    ...defined({ conntrack }),
    nodePorts,
    passedPods: passedPods(snapshot, node),
    hasOthers: snapshot.nodes.size > 1,
    peerInterfaces,
    podPrefixes,
    podInterfaces,
    families: [...families],
  };
}

/** The settings name the pods of all nodes, where Nodes do not say which ones are theirs. */
function passedPods({ config, nodes }: Snapshot, node: string): readonly Prefix[] {
  if (nodes.size < 2) return [];
  return config.podCIDRs.length > 0 ? config.podCIDRs : (nodes.get(node)?.podCIDRs ?? []);
}

/** Returns the Service that owns each NodePort of the node, and the addresses that serve them. */
function nodePortsOf(plans: ReadonlyMap<ServiceKey, ServicePlan>, snapshot: Snapshot, node: string): NodePorts {
  const owners = new Map<string, string>();
  for (const [service, { forwarding }] of plans) {
    for (const { match } of forwarding.frontends) if (match.kind === 'nodePort') owners.set(`${match.protocol} ${match.port}`, service);
  }
  return { owners, addresses: nodeForwarding(snapshot, node).nodePortAddresses };
}
