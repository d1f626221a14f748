import { formatAddress } from '../../../src/net/address.ts';
import { serviceKey } from '../../../src/model/objects/metadata.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import type { Member } from '../desire/stack.ts';
import { instanceOf } from '../desire/targets.ts';
import type { PodHosts } from '../model/stack-targets.ts';

/** Returns the instances of the pods behind these Services. */
export function podHosts(members: readonly Member[], snapshot: Pick<Snapshot, 'nodes' | 'endpointSlices'>): PodHosts {
  const hosts = new Map<string, string>();
  const slices = members.flatMap(({ service }) => snapshot.endpointSlices(serviceKey(service.metadata)));
  for (const { address, nodeName = '' } of slices.flatMap(({ endpoints }) => endpoints)) {
    const node = snapshot.nodes.get(nodeName);
    const instance = node === undefined ? undefined : instanceOf(node);
    if (instance !== undefined) hosts.set(formatAddress(address), instance);
  }
  return hosts;
}
