import { defined } from '../../lang/defined.ts';
import type { FrontendScope, NodeForwarding } from '../../net/frontend.ts';
import { comparePrefixes, formatPrefix, hostPrefix, type Prefix } from '../../net/prefix.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { BasisMemo, basisOf } from '../../model/store/versioned-map.ts';
import { addressesOf, directReturnNode } from '../direct-return/forwarding-path.ts';
import { isInScope } from './scope.ts';

const frontendScopes: readonly FrontendScope[] = ['internal', 'external'];

/** Returns a node's forwarding settings. Without a Node object and without nodePortAddresses the node takes no NodePort traffic. */
export function nodeForwarding(snapshot: Snapshot, nodeName: string): NodeForwarding {
  const { services, podCIDRs, podInterfaces, masqueradeAll, localhostNodePorts, nodePortAddresses, masqueradeBit, checks } =
    snapshot.config;
  const configured = podCIDRs.length > 0 || podInterfaces.length > 0;
  const direct = directReturnNode(snapshot, nodeName);
  const elsewhere = frontendScopes.filter((scope) => !isInScope(services, { scope }));
  return {
    // As kube-proxy's --nodeport-addresses=primary, the default of its nftables mode.
    nodePortAddresses: sortedSet(nodePortAddresses.length > 0 ? nodePortAddresses : addressesOf(snapshot, nodeName).map(hostPrefix)),
    podPrefixes: configured ? sortedSet(podCIDRs) : podPrefixesOfNodes(snapshot),
    ...(podInterfaces.length === 0 ? {} : { podInterfaces: [...new Set(podInterfaces)].toSorted() }),
    ...(masqueradeAll ? { masqueradeAll } : {}),
    ...(localhostNodePorts ? { localhostNodePorts } : {}),
    // The program that forwards ClusterIPs also refuses those that no Service has.
    servicePrefixes: services === 'all' ? serviceRanges(snapshot) : [],
    masqueradeBit,
    ...(elsewhere.length === 0 ? {} : { foreignScopes: elsewhere }),
    ...(checks === 'off' ? {} : { notesBegun: true }),
    ...defined({ directReturn: direct }),
  };
}

const podPrefixes = new BasisMemo<readonly Prefix[]>();

/** Costs nothing while no Node changes, if the snapshot is a `Store`: the checks of the host ask every few seconds. */
function podPrefixesOfNodes({ nodes }: Snapshot): readonly Prefix[] {
  return podPrefixes.get(nodes, basisOf(nodes), () => sortedSet([...nodes.values()].flatMap((node) => node.podCIDRs)));
}

/** Returns the ranges of ClusterIPs from HeraldConfig and the API server, sorted. */
export function serviceRanges(snapshot: Snapshot): Prefix[] {
  return sortedSet([...snapshot.config.serviceCIDRs, ...[...snapshot.serviceCIDRs.values()].flatMap(({ cidrs }) => cidrs)]);
}

function sortedSet(prefixes: readonly Prefix[]): Prefix[] {
  const unique = new Map(prefixes.map((prefix) => [formatPrefix(prefix), prefix]));
  return [...unique.values()].sort(comparePrefixes);
}
