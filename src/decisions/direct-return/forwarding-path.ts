import type { DirectReturnMode } from '../../model/kinds/types.ts';
import { notReportedBy, type DirectReturnReport } from '../../model/objects/node-state.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { compareAddresses, type Address, type Family } from '../../net/address.ts';
import { tunnelOverhead, type DirectReturnNode, type ForwardingPath, type PathTarget } from '../../net/direct-return.ts';
import { prefixContains } from '../../net/prefix.ts';

/**
 * Decides how a node passes packets to another node, from what both reported, so that every node agrees and no node receives packets that
 * it cannot handle. A report counts however old it is, because rules outlive the agent that made them.
 */
export function forwardingPathTo(
  snapshot: Snapshot,
  from: string,
  to: string,
  address: Address,
): { passing: ForwardingPath } | { reason: Reason } {
  const [own, other] = [snapshot.nodeStates.get(from)?.directReturn, snapshot.nodeStates.get(to)?.directReturn];
  if (own === undefined) return { reason: directReturnNotReported(snapshot, from) };
  if (other === undefined) return { reason: directReturnNotReported(snapshot, to) };
  const mode = snapshot.config.directReturnMode;
  const passing = pathBetween(own, other, address, mode);
  if (passing !== undefined) return { passing };
  const onLink = own.networks.some((network) => prefixContains(network, address));
  const why = onLink ? 'neither can do what the other needs' : 'it is not on the same link';
  const [passes, receives] = [own.passes.join(', '), other.receives.join(', ')];
  return { reason: reason('DirectReturnNoWay', { node: to, mode, passes, receives, why }) };
}

/** Returns why a node has not reported whether it takes part. */
export function directReturnNotReported({ nodeStates }: Pick<Snapshot, 'nodeStates'>, node: string): Reason {
  const report = nodeStates.get(node);
  const older = report && notReportedBy(report, 'whether it takes part in direct server return');
  return older ?? reason('DirectReturnNotReported', { node });
}

function pathBetween(
  { passes, networks }: DirectReturnReport,
  { receives }: DirectReturnReport,
  address: Address,
  mode: DirectReturnMode,
): ForwardingPath | undefined {
  const onLink = mode !== 'vxlan' && receives.includes('link') && networks.some((network) => prefixContains(network, address));
  const ingress = onLink && mode !== 'route' && passes.includes('l2');
  const routed = onLink && passes.includes('route');
  if (ingress || (routed && mode !== 'l2')) return { ingress, ...(routed ? { routed: 'link' as const } : {}) };
  const tunnel = (mode === 'auto' || mode === 'vxlan') && passes.includes('vxlan') && receives.includes('vxlan');
  return tunnel ? { ingress: false, routed: 'vxlan' } : undefined;
}

/** Returns what a node's data plane needs besides the frontends. Undefined when this node has not reported. */
export function directReturnNode(snapshot: Snapshot, name: string): DirectReturnNode | undefined {
  const own = snapshot.nodeStates.get(name)?.directReturn;
  if (own === undefined) return undefined;
  const targets: PathTarget[] = [];
  const linkAddresses = new Set<string>();
  for (const [other, { directReturn }] of snapshot.nodeStates) {
    if (other === name || directReturn === undefined) continue;
    for (const linkAddress of directReturn.linkAddresses) linkAddresses.add(linkAddress);
    for (const node of addressesOf(snapshot, other)) {
      const way = forwardingPathTo(snapshot, name, other, node);
      if ('passing' in way) targets.push({ node, ...way.passing });
    }
  }
  // A copied virtual machine has another node's link address; the node's own packets must not look like that node's.
  for (const linkAddress of own.linkAddresses) linkAddresses.delete(linkAddress);
  return {
    addresses: addressesOf(snapshot, name),
    interfaces: own.interfaces,
    targets: targets.toSorted((a, b) => compareAddresses(a.node, b.node)),
    linkAddresses: [...linkAddresses].toSorted(),
    tunnels: own.receives.includes('vxlan') || own.passes.includes('vxlan'),
  };
}

/** Returns the addresses by which other nodes reach a node: its first InternalIP of each family. */
export function addressesOf(snapshot: Snapshot, name: string): Address[] {
  const internalIPs = snapshot.nodes.get(name)?.internalIPs ?? [];
  const families: readonly Family[] = [4, 6];
  return families.flatMap((family) => internalIPs.find((address) => address.family === family) ?? []);
}

/** Sizes of IP and TCP headers without options, in octets. */
const headers = { 4: 40, 6: 60 } as const;

/** Returns the largest TCP segment that the tunnels to this node carry. Undefined when no node passes packets to it through a tunnel. */
export function segmentThroughTunnels(snapshot: Snapshot, name: string, family: Family): number | undefined {
  const own = addressesOf(snapshot, name).find((address) => address.family === family);
  if (own === undefined || snapshot.nodeStates.get(name)?.directReturn?.receives.includes('vxlan') !== true) return undefined;
  let least: number | undefined;
  for (const [other, { directReturn }] of snapshot.nodeStates) {
    if (other === name || directReturn === undefined) continue;
    const way = forwardingPathTo(snapshot, other, name, own);
    if (!('passing' in way) || way.passing.routed !== 'vxlan') continue;
    least = Math.min(least ?? Number.POSITIVE_INFINITY, (directReturn.mtu ?? 1500) - tunnelOverhead[family] - headers[family]);
  }
  return least;
}
