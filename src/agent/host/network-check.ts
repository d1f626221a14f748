import { judgePodRanges } from '../../decisions/host/pod-ranges.ts';
import { judgeLocalPools } from '../../decisions/l2/local-pools.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { Host } from '../../system/host.ts';
import { checkBridges, type BridgeCheckComponents } from './bridge-check.ts';
import { checkPodPaths, endpointsToCheck } from './pod-path-check.ts';

interface NetworkCheckComponents extends BridgeCheckComponents {
  readonly host: Pick<Host, 'readSetting' | 'interfaces'>;
}

/** Finds what in the networks of this node keeps packets from pods or from clients. Rejects if the kernel does not answer. */
export async function checkNetworks(components: NetworkCheckComponents, snapshot: Snapshot, node: string): Promise<readonly Reason[]> {
  const { host, hostPaths } = components;
  const { local, remote } = endpointsToCheck(snapshot, node);
  const unknownPods = judgePodRanges(snapshot, node, [...local, ...remote]);
  return [
    ...(unknownPods === undefined ? [] : [unknownPods]),
    ...judgeLocalPools(snapshot, host.interfaces()),
    ...(hostPaths === undefined ? [] : await checkPodPaths(hostPaths, snapshot, node)),
    ...(await checkBridges(components, snapshot, node)),
  ];
}
