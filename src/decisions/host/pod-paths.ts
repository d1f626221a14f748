import { reason, type Reason } from '../../model/reasons.ts';
import type { HostPath } from '../../net/host-path.ts';

/** How the host reaches pods, and the routers from which clients' packets come. */
interface PodPaths {
  /** To pods of this node. */
  readonly local: readonly HostPath[];
  /** To pods of other nodes. */
  readonly remote: readonly HostPath[];
  readonly uplinks: readonly HostPath[];
}

/**
 * Finds interfaces to pods that do not take packets of a size at which clients send. The pod of a TCP connection asks for segments that fit
 * its own interface, so an uplink that takes more than the pods do is no problem, and neither is an overlay whose pods have its MTU. The
 * pods of other nodes count as those of this node, because a network plugin gives all the same MTU. Without a pod here, nothing is known. A
 * smaller MTU in a route, as Cilium sets it, stands in the routes of pods too, so only those of interfaces count.
 */
export function judgePodPaths({ local, remote, uplinks }: PodPaths): Reason[] {
  const [uplink] = uplinks.toSorted((a, b) => b.mtu - a.mtu);
  if (uplink === undefined || local.length === 0) return [];
  const largest = Math.max(...local.map(podMtu));
  const judged = [...local.map((path) => ({ path, pods: podMtu(path) })), ...remote.map((path) => ({ path, pods: largest }))];
  const narrow = judged.filter(({ path, pods }) => path.mtu < Math.min(pods, uplink.mtu));
  const alike = Map.groupBy(narrow, ({ path, pods }) => `${path.mtu} ${pods}`);
  return [...alike.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { path, pods } = first;
    const others = new Set(group.map((one) => one.path.interface)).size - 1;
    const sizes = { mtu: path.mtu, uplinkMtu: uplink.mtu, podMtu: pods, wanted: Math.min(pods, uplink.mtu) };
    return [reason('PodPathNarrow', { interface: path.interface, others, uplink: uplink.interface, ...sizes })];
  });
}

function podMtu({ mtu, farMtu = mtu }: HostPath): number {
  return farMtu;
}
