import { peersOfNode } from '../../decisions/announcement/peers.ts';
import { judgePodPaths } from '../../decisions/host/pod-paths.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress, type Address } from '../../net/address.ts';
import type { HostPath, HostTarget } from '../../net/host-path.ts';
import type { FindHostPaths } from '../host-readings.ts';
import { limits } from '../limits.ts';

/** Finds interfaces of this node that are too narrow for packets to pods. */
export async function checkPodPaths(findPaths: FindHostPaths, snapshot: Snapshot, node: string): Promise<Reason[]> {
  const { local, remote } = endpointsToCheck(snapshot, node);
  const routers = routersOf(snapshot, node);
  if (local.length === 0 || routers.length === 0) return [];
  const targets = [...local, ...remote, ...routers.slice(0, limits.checkedPods)];
  const paths = await findPaths(targets);
  const found = (from: number, to: number): HostPath[] => paths.slice(from, to).flatMap((path) => path ?? []);
  const pods = local.length + remote.length;
  return judgePodPaths({ local: found(0, local.length), remote: found(local.length, pods), uplinks: found(pods, targets.length) });
}

/** Returns the routers with which this node has sessions. */
export function routersOf(snapshot: Snapshot, node: string): HostTarget[] {
  return peersOfNode(snapshot, node).flatMap(({ result }): HostTarget[] => {
    if (!('session' in result)) return [];
    const { peerAddress, interface: name, vrf } = result.session;
    // The path to a router in a VRF is in another table than the one that is queried.
    if (vrf !== undefined) return [];
    return peerAddress === undefined ? (name === undefined ? [] : [{ interface: name }]) : [peerAddress];
  });
}

/**
 * Returns the interfaces by which packets of clients come: those to the routers, and `announcing`, on which the node announces addresses by ARP
 * and NDP. Rejects if the kernel does not answer.
 */
export async function entryInterfaces(
  findPaths: FindHostPaths | undefined,
  snapshot: Snapshot,
  node: string,
  announcing: Iterable<string>,
): Promise<ReadonlySet<string>> {
  const paths = (await findPaths?.(routersOf(snapshot, node).slice(0, limits.checkedPods))) ?? [];
  return new Set([...announcing, ...paths.flatMap((path) => path?.interface ?? [])]);
}

interface EndpointSample {
  /** The pods of this node. */
  readonly local: readonly Address[];
  /** One pod of each family of every other node. */
  readonly remote: readonly Address[];
  /** Other nodes with an endpoint in the network of the host: one address of each family. */
  readonly hosts: readonly Address[];
}

/** Returns endpoints to which this node sends packets. */
export function endpointsToCheck(snapshot: Snapshot, node: string): EndpointSample {
  const local = new Map<string, Address>();
  const remote = new Map<string, Address>();
  const hosts = new Map<string, Address>();
  let seen = 0;
  for (const service of snapshot.services.keys()) {
    if (seen > limits.checkedEndpoints) break;
    for (const { family, endpoints } of snapshot.endpointSlices(service)) {
      seen += endpoints.length;
      for (const { address, nodeName, serving } of endpoints) {
        if (!serving || nodeName === undefined) continue;
        const isHost = isOfNode(snapshot, nodeName, address);
        if (isHost && nodeName === node) continue;
        const [group, key] = nodeName === node ? [local, formatAddress(address)] : [isHost ? hosts : remote, `${nodeName} ${family}`];
        if (!group.has(key) && group.size < limits.checkedPods) group.set(key, address);
      }
    }
  }
  return { local: [...local.values()], remote: [...remote.values()], hosts: [...hosts.values()] };
}

function isOfNode({ nodes }: Snapshot, name: string, { value }: Address): boolean {
  return nodes.get(name)?.internalIPs.some((own) => own.value === value) === true;
}
