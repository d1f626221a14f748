import { parseAddress } from '../../../src/net/address.ts';
import { prefixContains } from '../../../src/net/prefix.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { withBackends } from '../desire/ports/weights.ts';
import { instanceOf } from '../desire/targets/targets.ts';
import type { PodHosts } from '../model/stack-targets.ts';
import type { TargetPods } from '../observe/target-pods.ts';
import { awsConfig } from '../tables/config/config.ts';

/** Returns which addresses behind these Services, and behind those that they send to as well, are pods, as far as they were checked, and the instances that they run on. */
export function podHosts(
  services: Iterable<ServiceKey>,
  snapshot: Pick<Snapshot, 'config' | 'nodes' | 'services' | 'endpointSlices'>,
  pods: TargetPods,
): PodHosts {
  const known = [...services].flatMap((key) => snapshot.services.get(key) ?? []);
  const all = new Set([...services, ...withBackends(known)]);
  const nodeNames = pods.nodesOf([...all].flatMap((service) => snapshot.endpointSlices(service)));
  const instances = new Map<string, string>();
  for (const [address, name] of nodeNames) {
    const node = snapshot.nodes.get(name);
    const instance = node === undefined ? undefined : instanceOf(node);
    if (instance !== undefined) instances.set(address, instance);
  }
  return {
    instances,
    isPod: (address) => pods.comparesPods && nodeNames.has(address),
    isAllowed: (text) => {
      if (!pods.comparesPods) return true;
      const address = parseAddress(text);
      return address.ok && awsConfig.of(snapshot.config).targetCIDRs.some((prefix) => prefixContains(prefix, address.value));
    },
  };
}
