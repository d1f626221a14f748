import { judgePodRanges } from '../../decisions/host/pod-ranges.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { checkBridges, type BridgeCheckComponents } from './bridge-check.ts';
import { checkPodPaths, endpointsToCheck } from './pod-path-check.ts';

/** Finds what in the networks of this node keeps packets from pods. Rejects if the kernel does not answer. */
export async function checkNetworks(components: BridgeCheckComponents, snapshot: Snapshot, node: string): Promise<readonly Reason[]> {
  const { hostPaths } = components;
  const unknownPods = judgePodRanges(snapshot, node, endpointsToCheck(snapshot, node).local);
  return [
    ...(unknownPods === undefined ? [] : [unknownPods]),
    ...(hostPaths === undefined ? [] : await checkPodPaths(hostPaths, snapshot, node)),
    ...(await checkBridges(components, snapshot, node)),
  ];
}
