import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { Address } from '../../net/address.ts';
import { familyOf, formatPrefix, prefixContains, withoutPrefix, type Prefix } from '../../net/prefix.ts';

/**
 * Finds podCIDRs of this Node outside of those in HeraldConfig: its pods count as clients from outside there. `pods`: endpoints on this
 * node and others. One that only HeraldConfig knows shows that the network plugin does not use the ranges of Nodes, unless another is in the
 * range of this Node. Interfaces of pods tell pods by themselves.
 */
export function judgePodRanges(
  { config, nodes }: Pick<Snapshot, 'config' | 'nodes'>,
  node: string,
  pods: readonly Address[],
): Reason | undefined {
  const { podCIDRs, podInterfaces } = config;
  if (podCIDRs.length === 0 || podInterfaces.length > 0) return undefined;
  const isUsed = (own: Prefix): boolean => {
    const ofNodes = [...nodes.values()].flatMap((each) => each.podCIDRs);
    const onlyConfigured = (pod: Address): boolean => isIn(podCIDRs, pod) && !isIn(ofNodes, pod);
    return pods.some((pod) => prefixContains(own, pod)) || !pods.some((pod) => pod.family === familyOf(own) && onlyConfigured(pod));
  };
  const missed = (nodes.get(node)?.podCIDRs ?? []).filter(
    (own) => podCIDRs.reduce((rest, known) => rest.flatMap((one) => withoutPrefix(one, known)), [own]).length > 0 && isUsed(own),
  );
  if (missed.length === 0) return undefined;
  const texts = { missed: missed.map(formatPrefix).join(' and '), configured: podCIDRs.slice(0, namedRanges).map(formatPrefix).join(', ') };
  return reason('PodCIDRsMissed', { node, ...texts });
}

/** HeraldConfig takes a thousand. */
const namedRanges = 8;

const isIn = (prefixes: readonly Prefix[], address: Address): boolean => prefixes.some((prefix) => prefixContains(prefix, address));
